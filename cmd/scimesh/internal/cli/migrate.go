package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/cmd/scimesh/internal/settings"
	"scimesh.dev/scimesh/store/migrate"
)

func newMigrate(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Move the database to a version of the schema",
		GroupID: groupServe,
		Long: `Move the database that DATABASE_URL names to a version of the schema.

Nothing else changes the schema: a coordinator that finds another version than
its own refuses to start.`,
		Example: `  DATABASE_URL=postgres://... scimesh migrate up
  scimesh migrate version`,
	}
	cmd.AddCommand(newMigrateUp(streams), newMigrateDown(streams), newMigrateVersion(streams))
	return cmd
}

func newMigrateUp(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Apply all migrations that are missing",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := databaseURL(cmd)
			if err != nil {
				return err
			}
			state, err := migrate.Up(cmd.Context(), url)
			return printState(streams, state, err)
		},
	}
}

func newMigrateDown(streams Streams) *cobra.Command {
	var steps int
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take migrations back; what their tables hold is lost",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if steps < 1 {
				return usageErrorf("--steps %d: want 1 or more", steps)
			}
			if all {
				steps = 0
			}
			url, err := databaseURL(cmd)
			if err != nil {
				return err
			}
			state, err := migrate.Down(cmd.Context(), url, steps)
			return printState(streams, state, err)
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 1, "how many migrations to take back")
	cmd.Flags().BoolVar(&all, "all", false, "take all migrations back")
	cmd.MarkFlagsMutuallyExclusive("steps", "all")
	return cmd
}

func newMigrateVersion(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the schema",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := databaseURL(cmd)
			if err != nil {
				return err
			}
			state, err := migrate.Version(cmd.Context(), url)
			return printState(streams, state, err)
		},
	}
}

// databaseURL reads DATABASE_URL or the file that DATABASE_URL_FILE names.
func databaseURL(cmd *cobra.Command) (string, error) {
	var url string
	set := settings.New(cmd.Flags())
	set.Secret(&url, "database-url-file", "DATABASE_URL")
	if err := set.Load("", os.LookupEnv); err != nil {
		return "", usageErrorf("%w", err)
	}
	if err := requireSecret("DATABASE_URL", url, 1); err != nil {
		return "", usageErrorf("%w", err)
	}
	return url, nil
}

func printState(streams Streams, s migrate.State, err error) error {
	if err != nil {
		return err
	}
	note := ""
	switch {
	case s.Dirty:
		note = ", broken off half way: mend the tables by hand"
	case s.Version < s.Latest:
		note = fmt.Sprintf(", newest is %d: run scimesh migrate up", s.Latest)
	}
	_, err = fmt.Fprintf(streams.Out, "schema version %d%s\n", s.Version, note)
	return err
}
