package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
)

// openChunk fetches an input that lies elsewhere, whole and verified, into a
// temporary file that goes when it is closed. No token is sent.
func (o *runOptions) openChunk(ctx context.Context, chunk v1.InputChunk) (io.ReadCloser, error) {
	u, err := url.Parse(chunk.URI)
	if err != nil {
		return nil, errors.New("the URI of an input chunk cannot be read") // it may hold a secret
	}
	c, err := client.New((&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), "", client.Options{UserAgent: "scimesh/" + buildVersion(), Retry: o.retry})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.tempDir, "scimesh-chunk-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "chunk")
	_, err = c.DownloadFile(ctx, client.Download{URI: chunk.URI, SHA256: chunk.SHA256}, path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("input chunk at %s: %w", u.Host, err), os.RemoveAll(dir))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &chunkFile{f, dir}, nil
}

// chunkFile removes its folder when it is closed.
type chunkFile struct {
	*os.File
	dir string
}

func (c *chunkFile) Close() error { return errors.Join(c.File.Close(), os.RemoveAll(c.dir)) }
