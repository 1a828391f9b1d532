package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// downloadOptions are what `download` is told.
type downloadOptions struct {
	*session
	output  string
	rejects bool
	format  string
	force   bool

	ref ref
}

func newDownload(s *session) *cobra.Command {
	o := &downloadOptions{session: s}
	cmd := &cobra.Command{
		Use:   "download job/NAME | task/NAME | artifact/ID",
		Short: "Download the result of a job, its rejects, or any artifact",
		Long: `Download the final file of a job, with --rejects the rows that it rejected, with
--format a file that it made beside its result, the partial result of a task, or any
artifact.

A download that broke off goes on where it stopped. The file appears under its
name once it is whole and its SHA-256 is right; until then it is FILE.part. A file
of other bytes that lies there already is kept, unless --force is given; one of
the same bytes is left as it is. Without -o the file is NAME.csv, NAME.rejects.csv, or
what the artifact is called, in this folder.`,
		Example: `  scimesh download job/gefitinib-neighbours -o neighbours.csv
  scimesh download job/gefitinib-neighbours -o - | head
  scimesh download job/gefitinib-neighbours --rejects
  scimesh download task/gefitinib-neighbours-3`,
		ValidArgsFunction: s.completeRefs(jobKind, taskKind, artifactKind),
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "file to write, or - for standard output")
	flags.BoolVar(&o.rejects, "rejects", false, "the rows that the job rejected")
	flags.StringVar(&o.format, "format", "", "a file beside the result, of those that spec.output.formats asked for")
	flags.BoolVarP(&o.force, "force", "f", false, "replace a file of other bytes")
	return cmd
}

// Complete reads what is wanted.
func (o *downloadOptions) Complete(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one file at a time, not %d", len(args))
	}
	refs, err := parseRefs(args, jobKind, taskKind, artifactKind)
	if err == nil {
		o.ref = refs[0]
	}
	return err
}

// Validate checks that the flags go with it.
func (o *downloadOptions) Validate() error {
	switch {
	case o.rejects && o.ref.kind != jobKind:
		return errors.New("--rejects: goes with a job")
	case o.format != "" && o.ref.kind != jobKind:
		return errors.New("--format: goes with a job")
	case o.format != "" && o.rejects:
		return errors.New("--format: one file at a time, and --rejects names another")
	}
	return nil
}

// source is a file at the coordinator.
type source struct {
	v1.ArtifactRef
	filename string
}

// Run downloads.
func (o *downloadOptions) Run(ctx context.Context) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	src, err := o.find(ctx, c)
	if err != nil {
		return err
	}
	path := o.output
	if path == "" {
		path = src.filename
	}
	d := client.Download{URI: "artifacts/" + src.Artifact.String() + "/download", SHA256: src.SHA256}
	if path == "-" {
		_, err := c.DownloadTo(ctx, d, o.Out)
		return err
	}
	return o.toFile(ctx, c, d, path, src.SizeBytes)
}

func (o *downloadOptions) toFile(ctx context.Context, c *client.Client, d client.Download, path string, size int64) error {
	same, err := o.compare(ctx, path, d.SHA256)
	if err != nil {
		return err
	}
	if same {
		fmt.Fprintf(o.Out, "%s unchanged (%s)\n", printer.Safe(path), printer.Bytes(size))
		return nil
	}
	if err := createPart(path); err != nil {
		return err
	}
	bar := o.transferBar("downloading " + printer.Safe(filepath.Base(path)))
	d.Progress = bar.show
	_, err = c.DownloadFile(ctx, d, path)
	bar.Close()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s downloaded (%s)\n", printer.Safe(path), printer.Bytes(size))
	return nil
}

// compare reports whether the file is there already. A file of other bytes is an error without --force.
func (o *downloadOptions) compare(ctx context.Context, path, sha256 string) (same bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s: not a regular file; use -o - and redirect", path)
	}
	there, err := hashInput(ctx, path)
	switch {
	case err != nil:
		return false, err
	case there.sha256 == sha256:
		return true, nil
	case !o.force:
		return false, fmt.Errorf("%s exists and holds other bytes; --force replaces it", path)
	}
	return false, nil
}

// createPart makes the file that the download fills, so that it has the
// permissions of any new file.
func createPart(path string) error {
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // as the user's umask wants it
	if err != nil {
		return err
	}
	return f.Close()
}

// find tells where the file wanted is.
func (o *downloadOptions) find(ctx context.Context, c *client.Client) (source, error) {
	switch o.ref.kind {
	case jobKind:
		job, err := c.GetJob(ctx, o.ref.name)
		if err != nil {
			return source{}, err
		}
		if o.rejects {
			return rejectsOf(job)
		}
		if o.format != "" {
			return outputOf(ctx, c, job, o.format)
		}
		return resultOf(job)
	case taskKind:
		return partialOf(ctx, c, o.ref.name)
	}
	id, err := uuid.Parse(o.ref.name)
	if err != nil {
		return source{}, fmt.Errorf("%s: not the id of an artifact", o.ref)
	}
	a, err := c.GetArtifact(ctx, id)
	if err != nil {
		return source{}, err
	}
	return source{v1.ArtifactRef{Artifact: id, SHA256: a.Spec.SHA256, SizeBytes: a.Spec.SizeBytes}, localName(a.Spec.Filename)}, nil
}

// localName is a name from elsewhere, without any path.
func localName(name string) string {
	name = filepath.Base(filepath.Clean("/" + filepath.ToSlash(name)))
	if name == "/" || name == "." || name == ".." {
		return "artifact"
	}
	return name
}

func resultOf(j v1.Job) (source, error) {
	if j.Status.Result == nil {
		return source{}, unfinished(j, "result")
	}
	return source{j.Status.Result.ArtifactRef, j.Metadata.Name + ".csv"}, nil
}

func rejectsOf(j v1.Job) (source, error) {
	switch {
	case j.Status.Rejects != nil:
		return source{j.Status.Rejects.ArtifactRef, j.Metadata.Name + ".rejects.csv"}, nil
	case j.Status.Phase == v1.JobCompleted:
		return source{}, fmt.Errorf("job %s rejected no row", j.Metadata.Name)
	}
	return source{}, unfinished(j, "rejects")
}

// unfinished says why a job has no such file.
func unfinished(j v1.Job, what string) error {
	name := j.Metadata.Name
	if j.Status.Phase.Final() {
		return fmt.Errorf("job %s has no %s: it %s", name, what, endOf(j).text)
	}
	return fmt.Errorf("job %s has no %s yet: it is %s, with %d of %d tasks completed; scimesh wait job/%s waits for it",
		name, what, j.Status.Phase, j.Status.Tasks.Completed, j.Status.Tasks.Total, name)
}

func partialOf(ctx context.Context, c *client.Client, name string) (source, error) {
	task, err := c.GetTask(ctx, name)
	if err != nil {
		return source{}, err
	}
	if task.Status.Result == nil {
		return source{}, fmt.Errorf("task %s has no result: it is %s", task.Metadata.Name, task.Status.Phase)
	}
	src := source{*task.Status.Result, task.Metadata.Name + ".partial"}
	if a, err := c.GetArtifact(ctx, src.Artifact); err == nil && a.Spec.Filename != "" {
		src.filename = task.Metadata.Name + filepath.Ext(localName(a.Spec.Filename))
	}
	return src, nil
}
