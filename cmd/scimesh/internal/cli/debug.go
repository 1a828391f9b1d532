package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/artifacts/inrow"
	"scimesh.dev/scimesh/cmd/scimesh/internal/settings"
	"scimesh.dev/scimesh/store"
)

func newDebug(streams Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "debug", Short: "Look into a database and its artifacts", GroupID: groupServe}
	cmd.AddCommand(newDebugVerify(streams))
	return cmd
}

// verifyOptions are what `debug verify` is told.
type verifyOptions struct {
	databaseURL string
	storageDir  string
	bytes       bool
	streams     Streams
}

func newDebugVerify(streams Streams) *cobra.Command {
	o := &verifyOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check what must always hold of a database and its artifacts",
		Args:  exactArgs(0),
		Long: `Check what must always hold of a database and its artifacts: states and their
leases, counters against what they count, results of completed tasks and jobs,
and that every artifact's bytes are there. Changes nothing, and may run beside
live coordinators. Prints one line for each broken invariant, and then exits 1.`,
		Example: `  DATABASE_URL=postgres://... scimesh debug verify --storage-dir /var/lib/scimesh`,
	}
	cmd.Flags().StringVar(&o.storageDir, "storage-dir", "", "folder of the artifact store (without it, artifacts are not looked at)")
	cmd.Flags().BoolVar(&o.bytes, "bytes", false, "also read every artifact and compare its checksum")
	set := settings.New(cmd.Flags())
	set.Secret(&o.databaseURL, "database-url-file", "DATABASE_URL")
	set.Flag("storage-dir", "COORDINATOR_STORAGE_DIR")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(set.Load("", os.LookupEnv), requireSecret("DATABASE_URL", o.databaseURL, 1)); err != nil {
			return usageErrorf("%w", err)
		}
		return o.run(cmd.Context())
	}
	return cmd
}

func (o *verifyOptions) run(ctx context.Context) error {
	s, err := store.Open(ctx, store.Config{URL: o.databaseURL, MaxConns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	violations, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if o.storageDir != "" {
		missing, err := o.verifyArtifacts(ctx, s)
		if err != nil {
			return err
		}
		violations = append(violations, missing...)
	}
	for _, v := range violations {
		fmt.Fprintf(o.streams.Out, "%s\t%s\t%s\n", v.Invariant, v.Object, v.Detail)
	}
	if len(violations) > 0 {
		return fmt.Errorf("%d invariants are broken", len(violations))
	}
	fmt.Fprintln(o.streams.Out, "all invariants hold")
	return nil
}

// verifyArtifacts checks that every artifact's bytes are there.
func (o *verifyOptions) verifyArtifacts(ctx context.Context, s *store.Store) ([]store.Violation, error) {
	files, err := filesystem.New(o.storageDir, filesystem.Options{})
	if err != nil {
		return nil, err
	}
	blobs := inrow.Store{Store: files, Rows: s}
	var violations []store.Violation
	for page := (store.Page{Limit: 1000}); ; {
		list, err := s.ListArtifacts(ctx, store.ArtifactFilter{}, page)
		if err != nil {
			return nil, err
		}
		for _, a := range list.Items {
			detail := o.damage(ctx, blobs, a)
			if _, err := s.GetArtifact(ctx, a.ID); errors.Is(err, store.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if detail != "" {
				violations = append(violations, store.Violation{Invariant: "artifact-bytes", Object: "artifact/" + a.ID.String(), Detail: detail})
			}
		}
		if list.Continue == "" {
			return violations, nil
		}
		page.Continue = list.Continue
	}
}

// damage says what is wrong with the bytes of an artifact; empty if nothing is.
func (o *verifyOptions) damage(ctx context.Context, blobs artifacts.Store, a store.Artifact) string {
	info, err := blobs.Stat(ctx, a.SHA256)
	switch {
	case errors.Is(err, artifacts.ErrNotFound):
		return "its bytes are gone"
	case err != nil:
		return err.Error()
	case info.SizeBytes != a.SizeBytes:
		return fmt.Sprintf("%d bytes are stored, %d recorded", info.SizeBytes, a.SizeBytes)
	case !o.bytes:
		return ""
	}
	f, err := artifacts.OpenVerified(ctx, blobs, info.Blob)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, f); err != nil {
		return err.Error()
	}
	return ""
}
