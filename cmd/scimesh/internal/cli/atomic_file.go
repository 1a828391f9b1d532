package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// create makes a file that appears with its commit. "-" is standard output, ""
// takes nothing.
func (s *session) create(path string) (*atomicFile, error) {
	switch path {
	case "":
		return &atomicFile{Writer: io.Discard}, nil
	case "-":
		return &atomicFile{Writer: s.Out}, nil
	}
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666) //nolint:gosec // as the user's umask wants it
	if err != nil {
		return nil, err
	}
	return &atomicFile{Writer: f, file: f, path: path}, nil
}

// atomicFile is a file that is whole or not there.
type atomicFile struct {
	io.Writer
	file *os.File // nil for streams, and once it is done
	path string
}

func (a *atomicFile) commit() error {
	if a.file == nil {
		return nil
	}
	f := a.file
	a.file = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), filepath.Clean(a.path))
}

func (a *atomicFile) abort() {
	if a.file == nil {
		return
	}
	_ = a.file.Close()           // it is thrown away
	_ = os.Remove(a.file.Name()) // what is left is a .part file
	a.file = nil
}
