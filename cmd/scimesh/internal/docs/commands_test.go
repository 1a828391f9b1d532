package docs

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scimesh.dev/scimesh/cmd/scimesh/internal/cli"
)

func newRoot() *cobra.Command {
	return cli.NewRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
}

// shells are the languages of code blocks that hold command lines.
var shells = []string{"sh", "bash", "console"}

func TestCommandLinesWouldBeAccepted(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, c := range commandLines(p) {
			checked++
			if problem := checkCommandLine(c.words); problem != "" {
				t.Errorf("%s:%d: %s: %s", p.path, c.number, strings.Join(c.words, " "), problem)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d command lines were found", checked)
	}
}

type commandLine struct {
	number int
	words  []string // from scimesh on
}

// commandLines are the calls of scimesh in the shell blocks of a page, and
// those between back quotes in its text.
func commandLines(p page) []commandLine {
	var out []commandLine
	joined := ""
	for _, l := range p.parsed() {
		if !l.code {
			joined = ""
			for _, span := range codeSpan.FindAllStringSubmatch(l.text, -1) {
				out = appendCalls(out, l.number, span[1])
			}
			continue
		}
		if !slices.Contains(shells, l.lang) {
			continue
		}
		if text, more := strings.CutSuffix(l.text, `\`); more {
			joined += text
			continue
		}
		out = appendCalls(out, l.number, joined+l.text)
		joined = ""
	}
	return out
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	quotedWord = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// appendCalls cuts a line of shell at what ends a command and keeps the calls of scimesh.
func appendCalls(out []commandLine, number int, text string) []commandLine {
	text = quotedWord.ReplaceAllStringFunc(text, func(s string) string {
		return strings.NewReplacer(" ", "_", "|", "_", ";", "_", "#", "_", "&", "_", `"`, "", `'`, "").Replace(s)
	})
	text, _, _ = strings.Cut(text, " #")
	for _, sep := range []string{"&&", "||", "|", ";", "<(", ")", "&"} {
		text = strings.ReplaceAll(text, sep, "\n")
	}
	for part := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(part)
		if len(words) > 0 && words[0] == "$" {
			words = words[1:]
		}
		for len(words) > 0 && (assignment.MatchString(words[0]) || slices.Contains([]string{"sudo", "exec", "nohup"}, words[0])) {
			words = words[1:]
		}
		if i := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == "2>" || w == "<" }); i >= 0 {
			words = words[:i]
		}
		if len(words) > 0 && (words[0] == "scimesh" || words[0] == "bin/scimesh") {
			out = append(out, commandLine{number, words})
		}
	}
	return out
}

// checkCommandLine says what is wrong with a call, as far as the command tree can tell.
func checkCommandLine(words []string) string {
	args := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "…" || w == "..." })
	cmd, rest, err := newRoot().Find(args)
	if err != nil {
		return err.Error()
	}
	if !cmd.HasParent() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return "there is no such command"
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return "there is no such subcommand"
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if len(rest) == 0 || cmd.Flags().NArg() == 0 {
		return "" // named in passing, without its arguments
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

// TestTheCheckOfCommandLinesFindsFaults keeps the test above honest.
func TestTheCheckOfCommandLinesFindsFaults(t *testing.T) {
	for line, ok := range map[string]bool{
		"scimesh coordinator --addr :8080":             true,
		"DATABASE_URL=postgres://x scimesh migrate up": true,
		"$ sudo scimesh worker --once && echo done":    true,
		"scimesh":                                           true,
		"scimesh coordinators":                              false,
		"scimesh migrate sideways":                          false,
		"scimesh coordinator --adr :8080":                   false,
		"scimesh worker --concurrency many":                 false,
		"scimesh version now":                               false,
		"echo 1; scimesh up --data-dir d --wrokers 2 | cat": false,
	} {
		calls := appendCalls(nil, 1, line)
		if len(calls) != 1 {
			t.Errorf("%q: %d calls found, want 1", line, len(calls))
			continue
		}
		if problem := checkCommandLine(calls[0].words); (problem == "") != ok {
			t.Errorf("%q: %q", line, problem)
		}
	}
}

// eachCommand visits the commands that a user can call, parents first.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			eachCommand(sub, visit)
		}
	}
}

// flagEnv is the variable that sets a flag too, as its help ends with.
var flagEnv = regexp.MustCompile(`^(.*) \[([A-Z_]+)\]$`)

// flagsOf are the flags of a command itself, by name.
func flagsOf(c *cobra.Command) []*pflag.Flag {
	var out []*pflag.Flag
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			out = append(out, f)
		}
	})
	return out
}
