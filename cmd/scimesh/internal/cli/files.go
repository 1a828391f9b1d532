package cli

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFileAtomic writes a file in one step: a reader sees the old one or the whole new one.
func writeFileAtomic(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// writeSecret writes a file that only its owner may read.
func writeSecret(path, secret string) error {
	return writeFileAtomic(path, []byte(secret+"\n"), 0o600)
}

// ensureToken makes a token of 130 random bits in a file, unless the file holds one.
func ensureToken(path string) error {
	raw, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(raw))) >= minTokenLength {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeSecret(path, rand.Text())
}
