package pgcluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// postmasterFile is what a server writes about itself into the lock file
// postmaster.pid: line by line its process number, data folder, start time,
// port, socket folder, listen address, shared memory key, and state. The lines
// appear one after the other while it starts.
type postmasterFile struct {
	path  string
	lines []string
	pid   int
	port  int  // 0 until it is known
	ready bool // it accepts connections
}

// readPostmasterFile returns nil if there is no such file, or an empty one.
func readPostmasterFile(dataDir string) (*postmasterFile, error) {
	pm := &postmasterFile{path: filepath.Join(dataDir, "postmaster.pid")}
	text, err := os.ReadFile(pm.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pm.lines = strings.Split(string(text), "\n")
	if pm.pid, err = strconv.Atoi(strings.TrimSpace(pm.lines[0])); err != nil {
		return nil, fmt.Errorf("%s names no process: %q", pm.path, pm.lines[0])
	}
	if pm.pid <= 0 {
		return nil, fmt.Errorf("process %d works on the data in single-user mode, as %s says", -pm.pid, pm.path)
	}
	if len(pm.lines) > 3 {
		pm.port, _ = strconv.Atoi(pm.lines[3]) // stays 0 while the line is being written
	}
	pm.ready = len(pm.lines) > 7 && strings.TrimSpace(pm.lines[7]) == "ready"
	return pm, nil
}

// disown writes this process's number in place of a dead server's.
func (pm *postmasterFile) disown(id identity) error {
	pm.lines[0] = strconv.Itoa(os.Getpid())
	return writeFile(pm.path, strings.Join(pm.lines, "\n"), id)
}

// openLog opens the server's log for appending and returns its present size. A
// log that has grown large is put aside, in place of the one before.
func openLog(path string, id identity) (*os.File, int64, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = id.own(path)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// readFrom returns what was written to a log since offset.
func readFrom(path string, offset int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, offset, 1<<20))
	if err != nil {
		return err.Error()
	}
	return tail(text)
}
