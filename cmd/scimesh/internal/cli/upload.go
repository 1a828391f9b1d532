package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/cmd/scimesh/internal/progress"
)

// inputFile is a local input.
type inputFile struct {
	path   string
	sha256 string
	size   int64
}

// hashInput reads the file once.
func hashInput(ctx context.Context, path string) (inputFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return inputFile{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	}))
	if err != nil {
		return inputFile{}, err
	}
	return inputFile{path: path, sha256: hex.EncodeToString(h.Sum(nil)), size: size}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// upload sends the file, showing how far it is.
func (s *session) upload(ctx context.Context, c *client.Client, in inputFile) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	name := filepath.Base(in.path)
	bar := s.transferBar("uploading " + printer.Safe(name))
	defer bar.Close()
	_, err = c.UploadArtifact(ctx, client.Upload{
		Filename: name, Body: f, Size: in.size, SHA256: in.sha256, Progress: bar.show,
	})
	return err
}

// transferBar shows bytes on their way.
type transferBar struct {
	*progress.Display
	label string
	rate  progress.Rate
	now   func() time.Time
}

func (s *session) transferBar(label string) *transferBar {
	b := &transferBar{Display: s.display(), label: label, now: s.now}
	b.Begin(progress.State{Label: label})
	return b
}

// display is a Display on standard error.
func (s *session) display() *progress.Display {
	return progress.New(progress.Options{Out: s.Err, Columns: s.columns(s.Err), Now: s.now})
}

// show is told the bytes that are there and their number, -1 while unknown.
func (b *transferBar) show(done, total int64) {
	b.rate.Add(b.now(), done)
	detail := printer.Bytes(done)
	if total > 0 {
		detail += " of " + printer.Bytes(total)
	}
	if speed := b.rate.PerSecond(); speed >= 1 {
		detail += fmt.Sprintf("  %s/s", printer.Bytes(int64(speed)))
	}
	if left, ok := b.rate.Left(total); ok && total > 0 && done < total {
		detail += "  " + printer.Duration(left) + " left"
	}
	b.Show(progress.State{Label: b.label, Done: done, Total: max(total, 0), Detail: detail})
}
