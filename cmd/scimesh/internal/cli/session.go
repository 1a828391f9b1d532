package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/cmd/scimesh/internal/clientconfig"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// host is what the client commands take from the process around them.
type host struct {
	getenv func(string) string
	now    func() time.Time
	// columns is the width of the terminal behind a stream, 0 if there is none.
	columns func(io.Writer) int
	// poll is the time between two looks at what cannot be watched.
	poll  time.Duration
	retry client.RetryPolicy
	// patience is how long those who wait for a job try to find it while no
	// coordinator answers: one that restarts is back by then.
	patience time.Duration
}

func thisHost() host {
	return host{getenv: os.Getenv, now: time.Now, columns: terminalColumns, poll: 2 * time.Second, patience: 30 * time.Second}
}

func terminalColumns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}

// session is what the client commands share: streams, the flags that say which
// coordinator, and the way to it.
type session struct {
	Streams
	host
	server      string
	contextName string
	target      clientconfig.Target // once connected
}

// addClientCommands adds the commands that speak to a coordinator, and their flags.
func addClientCommands(root *cobra.Command, s *session) {
	flags := root.PersistentFlags()
	flags.StringVar(&s.server, "server", "", "URL of the coordinator (default: SCIMESH_COORDINATOR_URL, or the context's)")
	flags.StringVar(&s.contextName, "context", "", "client context to use (default: the current one)")
	root.SetHelpCommandGroupID(groupUse)
	_ = root.RegisterFlagCompletionFunc("context", s.completeContexts) // fails only for flags that do not exist
	for _, command := range []*cobra.Command{
		newApply(s),
		newDescribe(s),
		newGet(s),
		newWait(s),
		newCancel(s),
		newDelete(s),
		newLogs(s),
		newEvents(s),
		newDownload(s),
		newWhy(s),
		newRun(s),
		newFingerprint(s),
		newExplain(s),
		newConfig(s),
		newCompletion(s),
	} {
		command.GroupID = groupUse
		s.completeFlags(command)
		root.AddCommand(command)
	}
}

// options are the options of a client command: completed from the arguments,
// checked, then run.
type options interface {
	Complete(args []string) error
	Validate() error
	Run(ctx context.Context) error
}

// run takes options through their life. What Complete and Validate refuse is a wrong call.
func (s *session) run(o options) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.Complete(args); err != nil {
			return usageErrorf("%w\nusage: %s", err, cmd.UseLine())
		}
		if err := o.Validate(); err != nil {
			return usageErrorf("%w", err)
		}
		return s.explain(o.Run(cmd.Context()))
	}
}

// connect returns a client of the coordinator that the flags, the environment
// and the client configuration name.
func (s *session) connect() (*client.Client, error) {
	config, _, err := s.config()
	if err != nil {
		return nil, err
	}
	if s.target, err = config.Resolve(s.server, s.contextName, s.getenv); err != nil {
		return nil, err
	}
	return client.New(s.target.Server, s.target.Token, client.Options{UserAgent: "scimesh/" + buildVersion(), Retry: s.retry})
}

// config reads the client configuration and tells its place. Where a process
// has no place for one, it is empty.
func (s *session) config() (clientconfig.Config, string, error) {
	path, err := clientconfig.Path(s.getenv)
	if err != nil {
		if s.contextName != "" {
			return clientconfig.Config{}, "", err
		}
		return clientconfig.Config{}, "", nil
	}
	config, err := clientconfig.Load(path)
	return config, path, err
}

// note writes a remark for people, apart from the output.
func (s *session) note(format string, args ...any) {
	fmt.Fprintf(s.Err, format+"\n", args...)
}

// printData prints an object or a list as data: byte for byte into a file or a
// pipe, harmless on a terminal.
func (s *session) printData(format printer.Format, v any) error {
	if s.columns(s.Out) == 0 {
		return format.Object(s.Out, v)
	}
	var b strings.Builder
	if err := format.Object(&b, v); err != nil {
		return err
	}
	_, err := io.WriteString(s.Out, printer.SafeLines(b.String()))
	return err
}
