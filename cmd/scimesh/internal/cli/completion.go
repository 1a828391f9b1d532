package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// Bounds on what a completion may cost: a shell waits for it.
const (
	completionTimeout = 2 * time.Second
	completionNames   = 200
)

func newCompletion(s *session) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion script of a shell",
		Long: `Print a script that makes a shell complete the commands, flags, kinds and the
names of jobs, tasks and workers that the coordinator knows.`,
		Example: `  source <(scimesh completion bash)
  scimesh completion zsh > "${fpath[1]}/_scimesh"
  scimesh completion fish > ~/.config/fish/completions/scimesh.fish`,
		DisableFlagsInUseLine: true,
		ValidArgs:             shells,
		Args:                  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.Out, true)
			case "zsh":
				return root.GenZshCompletion(s.Out)
			case "fish":
				return root.GenFishCompletion(s.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.Out)
			}
			return usageErrorf("%q: want %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// completeFunc offers values of an argument.
type completeFunc func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeRefs offers KIND/NAME for the objects of some kinds.
func (s *session) completeRefs(offered ...*kind) completeFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, k := range offered {
			prefix := k.singular + "/"
			if !strings.HasPrefix(toComplete, prefix) && !strings.HasPrefix(prefix, toComplete) {
				continue
			}
			for _, name := range s.namesOf(cmd.Context(), k) {
				out = append(out, prefix+name)
			}
		}
		return without(out, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames offers kinds, and then names of the kind chosen.
func (o *getOptions) completeNames(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		k, err := findKind(args[0])
		if err != nil || k.get == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return without(o.namesOf(cmd.Context(), k), args[1:]), cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) > 0 || strings.Contains(toComplete, "/") {
		return o.completeRefs(kinds...)(cmd, args, toComplete)
	}
	var out []string
	for _, k := range kinds {
		out = append(out, k.plural)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeJobFlag offers the names of jobs for a flag.
func (s *session) completeJobFlag(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.namesOf(cmd.Context(), jobKind), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags adds the values that the flags of a command can have.
func (s *session) completeFlags(cmd *cobra.Command) {
	values := map[string]cobra.CompletionFunc{
		filterJob: s.completeJobFlag,
		filterWorker: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return s.namesOf(cmd.Context(), workerKind), cobra.ShellCompDirectiveNoFileComp
		},
		filterPhase: cobra.FixedCompletions([]string{"created", "planning", "running", "reducing", "completed", "failed", "cancelled"}, cobra.ShellCompDirectiveNoFileComp),
		filterKind:  cobra.FixedCompletions([]string{"input", "shard", "partial_result", "final_result", "rejects"}, cobra.ShellCompDirectiveNoFileComp),
		"dry-run":   cobra.FixedCompletions([]string{"none", "server"}, cobra.ShellCompDirectiveNoFileComp),
		"for":       cobra.FixedCompletions([]string{"end", "delete", "phase=", "condition="}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"context":   s.completeContexts,
	}
	if flag := cmd.Flags().Lookup("output"); flag != nil && flag.Usage == printer.Formats {
		values["output"] = cobra.FixedCompletions([]string{"wide", "name", "json", "yaml", "jsonpath="}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	}
	for name, f := range values {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, f) // fails only for flags that do not exist
		}
	}
}

// namesOf are the names of the objects of a kind, none if they cannot be had quickly.
func (s *session) namesOf(ctx context.Context, k *kind) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	quick := *s
	quick.retry = client.NoRetry
	c, err := quick.connect()
	if err != nil {
		return nil
	}
	var out []string
	for x, err := range k.list(ctx, c, filter{limit: completionNames}) {
		if err != nil {
			break
		}
		if !slices.Contains(out, x.name) {
			out = append(out, x.name)
		}
	}
	return out
}

// without leaves out what was given already.
func without(offered, given []string) []string {
	return slices.DeleteFunc(offered, func(s string) bool { return slices.Contains(given, s) })
}
