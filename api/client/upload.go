package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// Upload is a file to be sent.
type Upload struct {
	// Filename is a name without a path.
	Filename string
	// ContentType is application/octet-stream by default.
	ContentType string
	// Body is read from its start, once for each attempt.
	Body io.ReadSeeker
	// Size is the number of bytes in Body.
	Size int64
	// SHA256, if set, is what the coordinator must find.
	SHA256 string
	// Progress, if not nil, is told the bytes sent so far. A repeated attempt
	// begins at 0 again.
	Progress func(sent, total int64)
}

func (u Upload) contentType() string { return cmp.Or(u.ContentType, "application/octet-stream") }

// UploadArtifact uploads an input. If the coordinator has these bytes already,
// it returns what is there, without sending them where u.SHA256 is set.
func (c *Client) UploadArtifact(ctx context.Context, u Upload) (v1.Artifact, error) {
	if u.SHA256 != "" {
		found, err := c.ListArtifacts(ctx, wire.ListArtifactsParams{SHA256: &u.SHA256, Kind: []v1.ArtifactKind{v1.ArtifactInput}})
		if err != nil {
			return v1.Artifact{}, err
		}
		if len(found.Items) > 0 {
			return found.Items[0], nil
		}
	}
	var out v1.Artifact
	params := wire.UploadArtifactParams{Filename: optional(u.Filename), XContentSHA256: optional(u.SHA256)}
	err := c.upload(ctx, "upload "+u.Filename, u, &out, func(ctx context.Context, body *uploadBody) (*http.Response, error) {
		return c.raw.UploadArtifactWithBody(ctx, &params, u.contentType(), body, body.prepare)
	})
	return out, err
}

// upload sends a file with retries. An attempt is given up when no byte has
// moved for the idle timeout.
func (c *Client) upload(ctx context.Context, operation string, u Upload, into any, send func(context.Context, *uploadBody) (*http.Response, error)) error {
	return c.policy.do(ctx, func() error {
		if _, err := u.Body.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		ctx, idle := withIdleTimeout(ctx, c.opts.IdleTimeout)
		defer idle.stop()
		body := &uploadBody{upload: u, idle: idle}
		defer body.Close()
		resp, err := c.open(ctx, operation, func(ctx context.Context) (*http.Response, error) { return send(ctx, body) })
		if fault := body.fault(); fault != nil {
			return fmt.Errorf("%s: %w", operation, fault) // not the coordinator's
		}
		if err != nil {
			return err
		}
		defer drain(resp)
		return decodeResponse(ctx, operation, resp, into)
	})
}

// uploadBody is the body of one attempt. The transport may read on after the
// response has come; once the body is closed, the file is left alone.
type uploadBody struct {
	upload Upload
	idle   *idleTimer

	mu     sync.Mutex
	sent   int64
	closed bool
	err    error // of reading the file
}

// Read reads the file, at most as much of it as was announced.
func (b *uploadBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.upload.Size - b.sent
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case left <= 0:
		return 0, io.EOF
	}
	n, err := b.upload.Body.Read(p[:min(int64(len(p)), left)])
	b.sent += int64(n)
	b.idle.touch()
	if b.upload.Progress != nil && n > 0 {
		b.upload.Progress(b.sent, b.upload.Size)
	}
	if errors.Is(err, io.EOF) && b.sent < b.upload.Size {
		err = fmt.Errorf("the file became shorter: %d bytes of %d", b.sent, b.upload.Size)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Close ends the reading of the file.
func (b *uploadBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// fault is why the file could not be read, if it could not.
func (b *uploadBody) fault() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// prepare tells the size, and asks before sending much.
func (b *uploadBody) prepare(_ context.Context, req *http.Request) error {
	req.ContentLength = b.upload.Size
	if b.upload.Size == 0 {
		req.Body = http.NoBody
	}
	if b.upload.Size > 1<<20 {
		req.Header.Set("Expect", "100-continue")
	}
	return nil
}

// idleTimer ends a context when nothing has moved for a while.
type idleTimer struct {
	timer  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

func withIdleTimeout(ctx context.Context, limit time.Duration) (context.Context, *idleTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("no byte moved for %s", limit)) })
	return ctx, &idleTimer{timer: timer, limit: limit, cancel: cancel}
}

// touch says that something moved.
func (t *idleTimer) touch() { t.timer.Reset(t.limit) }

// stop releases the timer and ends the context.
func (t *idleTimer) stop() {
	t.timer.Stop()
	t.cancel(context.Canceled)
}
