package pgcluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dataVersion returns the major version that made dataDir, or 0 if there is none.
func dataVersion(dataDir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s holds no version: %q", filepath.Join(dataDir, "PG_VERSION"), text)
	}
	return version, nil
}

// ensurePassword returns the superuser's password, which it makes on first use.
func ensurePassword(dir string, id identity) (string, error) {
	path := filepath.Join(dir, "password")
	text, err := os.ReadFile(path)
	if err == nil {
		password := strings.TrimSpace(string(text))
		if password == "" {
			return "", fmt.Errorf("%s is empty", path)
		}
		return password, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		return "", fmt.Errorf("%s is missing, and only it opens the data", path)
	}
	password := rand.Text()
	return password, writeFile(path, password+"\n", id)
}

// writeFile replaces path in one step by a file that only the server's user can read.
func writeFile(path, text string, id identity) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close(), id.own(f.Name())); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

// initialize makes the data folder. The folder appears under its name when it
// is complete, so that an initialization that broke off is begun anew.
func initialize(ctx context.Context, inst Installation, id identity, dir string, unsafe bool) error {
	unfinished := filepath.Join(dir, "data.new")
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	args := []string{
		"--pgdata", unfinished,
		"--username", Superuser,
		"--pwfile", filepath.Join(dir, "password"),
		"--auth", "scram-sha-256",
		"--encoding", "UTF8",
		// Text compares byte by byte, in every place and under every version
		// of the system's libraries: an index never changes its order.
		"--locale", "C",
		"--data-checksums",
		"--no-instructions",
	}
	if unsafe {
		args = append(args, "--no-sync")
	}
	cmd := id.command(ctx, inst.path("initdb"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, tail(out))
	}
	if err := os.Rename(unfinished, filepath.Join(dir, "data")); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// tail returns the last lines of a program's output.
func tail(out []byte) string {
	const most = 2000
	text := strings.TrimSpace(string(out))
	if len(text) > most {
		text = text[len(text)-most:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
	}
	return text
}
