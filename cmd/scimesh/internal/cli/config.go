package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and choose client contexts",
		Long: `Show and choose client contexts: which coordinator the commands speak to, and which
file holds the token. The configuration lies at $SCIMESH_CONFIG, or else
scimesh/config.yaml below the user's configuration folder. scimesh up writes a
context of its own.`,
		Example: `  scimesh config get-contexts
  scimesh config use-context local`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageErrorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "get-contexts", Short: "List the contexts", Args: exactArgs(0), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(*cobra.Command, []string) error { return s.printContexts() },
		},
		&cobra.Command{
			Use: "current-context", Short: "Print the name of the current context", Args: exactArgs(0), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(*cobra.Command, []string) error { return s.printCurrentContext() },
		},
		&cobra.Command{
			Use: "use-context NAME", Short: "Make a context the current one", Args: exactArgs(1), ValidArgsFunction: s.completeContexts,
			RunE: func(_ *cobra.Command, args []string) error { return s.useContext(args[0]) },
		},
	)
	return cmd
}

func (s *session) printContexts() error {
	config, path, err := s.config()
	if err != nil {
		return err
	}
	if len(config.Contexts) == 0 {
		s.note("No contexts in %s.", path)
		return nil
	}
	t := printer.Table{Columns: []printer.Column{{Name: "CURRENT"}, {Name: "NAME"}, {Name: "SERVER"}, {Name: "TOKEN-FILE"}}}
	for _, c := range config.Contexts {
		mark := " "
		if c.Name == config.CurrentContext {
			mark = "*"
		}
		t.Rows = append(t.Rows, []string{mark, c.Name, c.Server, c.TokenFile})
	}
	return t.Print(s.Out, false, true)
}

func (s *session) printCurrentContext() error {
	config, _, err := s.config()
	if err != nil {
		return err
	}
	if config.CurrentContext == "" {
		return errors.New("there is no current context")
	}
	_, err = fmt.Fprintln(s.Out, printer.Safe(config.CurrentContext))
	return err
}

func (s *session) useContext(name string) error {
	config, path, err := s.config()
	if err != nil {
		return err
	}
	names := make([]string, len(config.Contexts))
	for i, c := range config.Contexts {
		names[i] = c.Name
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("no context %q in %s; there are %q", name, path, names)
	}
	config.CurrentContext = name
	if err := config.Save(path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "switched to context %q\n", name)
	return err
}

func (s *session) completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	config, _, err := s.config()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range config.Contexts {
		names = append(names, c.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
