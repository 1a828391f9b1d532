package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"scimesh.dev/scimesh/api"
	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/cmd/scimesh/internal/schema"
)

// explainOptions are what `explain` is told.
type explainOptions struct {
	*session
	topic string
	path  []string
}

func newExplain(s *session) *cobra.Command {
	o := &explainOptions{session: s}
	cmd := &cobra.Command{
		Use:   "explain WORKLOAD[.PARAMETER] | job[.FIELD...]",
		Short: "Explain the parameters of a workload, or the fields of a job",
		Long: `Explain what a workload computes and its parameters, with types, bounds and
defaults, or the fields of a job.

Workloads are those of the coordinator. If none answers, those that this program
brings along are explained.`,
		Example: `  scimesh explain similarity-search
  scimesh explain similarity-search.threshold
  scimesh explain job.spec.sharding`,
		ValidArgsFunction: o.complete,
	}
	cmd.RunE = s.run(o)
	return cmd
}

// Complete reads the topic.
func (o *explainOptions) Complete(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one workload or field is wanted, not %d", len(args))
	}
	parts := strings.Split(strings.TrimPrefix(args[0], "workload/"), ".")
	o.topic, o.path = parts[0], parts[1:]
	return nil
}

// Validate has nothing to check.
func (o *explainOptions) Validate() error { return nil }

// Run explains.
func (o *explainOptions) Run(ctx context.Context) error {
	if k, err := findKind(o.topic); err == nil && k == jobKind {
		return o.explainJob()
	}
	w, err := o.workload(ctx)
	if err != nil {
		return err
	}
	root, err := schema.Parse(w.Spec.ParametersSchema)
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.Metadata.Name, err)
	}
	node, err := o.descend(root)
	if err != nil {
		return err
	}
	o.printWorkload(w)
	return node.Print(o.Out, o.textWidth())
}

// workload asks the coordinator, and this program itself if that does not answer.
func (o *explainOptions) workload(ctx context.Context) (v1.Workload, error) {
	own, ok := builtin().Get(o.topic)
	quick := *o.session
	if ok {
		quick.retry = client.NoRetry
	}
	c, err := quick.connect()
	if err != nil {
		return v1.Workload{}, err
	}
	o.target = quick.target
	w, err := c.GetWorkload(ctx, o.topic)
	var answer *client.Error
	if err == nil || !ok || errors.As(err, &answer) {
		return w, err
	}
	o.note("No coordinator answers; this is the workload that comes with this program.")
	w = v1.Workload{Spec: own.Describe()}
	w.Metadata.Name = own.Name()
	return w, nil
}

// explained is a part of an explanation.
type explained struct {
	title string
	items []string
}

func (o *explainOptions) printWorkload(w v1.Workload) {
	if len(o.path) > 0 {
		fmt.Fprintf(o.Out, "WORKLOAD:   %s\nPARAMETER:  %s\n\n", printer.Safe(w.Metadata.Name), printer.Safe(strings.Join(o.path, ".")))
		return
	}
	fmt.Fprintf(o.Out, "WORKLOAD:  %s, version %s\n\n%s\n", printer.Safe(w.Metadata.Name), printer.Safe(w.Spec.Version),
		printer.SafeLines(schema.Wrap(w.Spec.Description, "", o.textWidth())))
	outputs := slices.Clone(w.Spec.Outputs)
	for _, f := range w.Spec.Formats {
		outputs = append(outputs, fmt.Sprintf("%s, if spec.output.formats names %s: %s", f.Filename, f.Name, f.Description))
	}
	parts := []explained{{"INPUTS", w.Spec.Inputs}, {"OUTPUTS", outputs}}
	if w.Spec.Memory != "" {
		parts = append(parts, explained{"MEMORY OF A TASK", []string{w.Spec.Memory}})
	}
	for _, part := range parts {
		fmt.Fprintf(o.Out, "%s:\n", part.title)
		for _, item := range part.items {
			fmt.Fprint(o.Out, printer.SafeLines(schema.Wrap(item, "  ", o.textWidth())))
		}
		fmt.Fprintln(o.Out)
	}
}

// explainJob explains the Job as the API document describes it.
func (o *explainOptions) explainJob() error {
	document, err := yaml.YAMLToJSON(api.OpenAPI)
	if err != nil {
		return err
	}
	root, err := schema.Parse(document)
	if err != nil {
		return err
	}
	job, err := root.At("#/components/schemas/Job")
	if err != nil {
		return err
	}
	node, err := o.descend(job)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "KIND:   Job (%s)\n", v1.APIVersion)
	if len(o.path) > 0 {
		fmt.Fprintf(o.Out, "FIELD:  %s\n", printer.Safe(strings.Join(o.path, ".")))
	}
	fmt.Fprintln(o.Out)
	return node.Print(o.Out, o.textWidth())
}

func (o *explainOptions) descend(node *schema.Node) (*schema.Node, error) {
	for _, name := range o.path {
		next, err := node.Field(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.topic, err)
		}
		node = next
	}
	return node, nil
}

// textWidth is where text is broken into lines.
func (s *session) textWidth() int {
	if columns := s.columns(s.Out); columns > 0 {
		return min(columns, 100)
	}
	return 80
}

func (o *explainOptions) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := o.namesOf(cmd.Context(), workloadKind)
	if len(names) == 0 {
		names = builtin().Names()
	}
	return append([]string{"job"}, names...), cobra.ShellCompDirectiveNoFileComp
}
