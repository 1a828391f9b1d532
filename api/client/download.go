package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Download is a file to be fetched.
type Download struct {
	// URI is absolute, or relative to the coordinator: "artifacts/ID/download".
	// Only the coordinator is sent the token.
	URI string
	// SHA256 is what the bytes must have. If it is empty, what the
	// coordinator says of its file is used; a file from elsewhere must have it.
	SHA256 string
	// MaxBytes, if positive, bounds the file.
	MaxBytes int64
	// Lease, if not nil, is named in the request, so that the coordinator checks it.
	Lease *Lease
	// Progress, if not nil, is told the bytes that are there and the size, -1 while unknown.
	Progress func(received, total int64)
}

// DownloadTo writes a file to w. A connection that breaks off is resumed where it broke,
// as long as bytes arrive between the failures. The bytes written must not be
// trusted before it returns nil: it returns ErrChecksum if they are not those expected.
func (c *Client) DownloadTo(ctx context.Context, d Download, w io.Writer) (int64, error) {
	t := &transfer{client: c, Download: d, w: w, hash: sha256.New(), total: -1}
	err := t.run(ctx)
	return t.received, err
}

// DownloadFile downloads to path by way of path + ".part", which a later call
// resumes. The file appears at path only when it is whole, verified and synced.
func (c *Client) DownloadFile(ctx context.Context, d Download, path string) (size int64, err error) {
	f, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t := &transfer{client: c, Download: d, w: f, hash: sha256.New(), total: -1}
	if d.SHA256 != "" { // else nothing tells whether the part is of the same file
		if t.received, err = io.Copy(t.hash, f); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(f.Truncate(t.received), t.run(ctx)); err != nil {
		if errors.Is(err, ErrChecksum) || errors.Is(err, ErrTooLarge) {
			err = errors.Join(err, os.Remove(path+".part"))
		}
		return t.received, err
	}
	if err := f.Sync(); err != nil {
		return t.received, err
	}
	return t.received, os.Rename(path+".part", path)
}

// transfer is a download in progress.
type transfer struct {
	client *Client
	Download
	w        io.Writer
	hash     hash.Hash
	received int64
	total    int64
	etag     string
}

func (t *transfer) operation() string { return "download " + strings.SplitN(t.URI, "?", 2)[0] }

// run makes attempts until the file is whole. One that moved bytes does not count against the policy.
func (t *transfer) run(ctx context.Context) error {
	policy := t.client.policy
	for failures := 1; ; failures++ {
		before := t.received
		err := t.attempt(ctx)
		if err == nil {
			return t.verify()
		}
		if t.received > before {
			failures = 1
		}
		if failures == policy.Attempts || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return err
		}
		if waitErr := policy.wait(ctx, failures, err); waitErr != nil {
			return err
		}
	}
}

// attempt asks for what is missing and writes what comes.
func (t *transfer) attempt(parent context.Context) error {
	ctx, idle := withIdleTimeout(parent, t.client.opts.IdleTimeout)
	defer idle.stop()
	resp, err := t.request(ctx)
	if err != nil || resp == nil {
		return err
	}
	defer resp.Body.Close()
	skip, err := t.position(resp)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, &touching{resp.Body, idle}, skip); err != nil {
		return unreachable(ctx, t.operation(), err)
	}
	return t.copy(ctx, &touching{resp.Body, idle})
}

// request sends the request. Its response is nil if the file was whole already.
func (t *transfer) request(ctx context.Context) (*http.Response, error) {
	target, err := t.client.base.Parse(t.URI)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("%s: not an http or https URI", t.operation())
	}
	if t.SHA256 == "" && origin(target) != origin(t.client.base) {
		return nil, fmt.Errorf("%s: its checksum is needed", t.operation())
	}
	resp, err := t.client.open(ctx, t.operation(), func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return nil, err
		}
		t.prepare(req, target)
		return t.client.http.Do(req)
	})
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusRequestedRangeNotSatisfiable && t.received > 0 {
		return nil, nil // every byte is there; the checksum decides
	}
	return resp, err
}

func (t *transfer) prepare(req *http.Request, target *url.URL) {
	if t.received > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.received))
		if t.etag != "" {
			req.Header.Set("If-Range", t.etag)
		}
	}
	if t.Lease != nil && origin(target) == origin(t.client.base) {
		req.Header.Set("X-Worker-ID", t.Lease.Worker.String())
		req.Header.Set("X-Task-Attempt", fmt.Sprint(t.Lease.Attempt))
	}
}

// position learns the size and returns how many bytes of the response are
// there already, because the whole file came again.
func (t *transfer) position(resp *http.Response) (skip int64, err error) {
	etag := resp.Header.Get("ETag")
	if t.etag != "" && etag != t.etag && t.SHA256 == "" {
		return 0, fmt.Errorf("%s: the file changed meanwhile", t.operation())
	}
	t.etag = etag
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var first, last, total int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); n != 3 || first != t.received {
			return 0, fmt.Errorf("%s: a range was sent that was not asked for", t.operation())
		}
		t.total = total
	case http.StatusOK:
		skip = t.received
		t.total = resp.ContentLength
	default:
		return 0, fmt.Errorf("%s: unexpected status %d", t.operation(), resp.StatusCode)
	}
	if t.MaxBytes > 0 && t.total > t.MaxBytes {
		return 0, t.tooLarge()
	}
	return skip, nil
}

func (t *transfer) tooLarge() error {
	return fmt.Errorf("%s: %w: more than %d bytes", t.operation(), ErrTooLarge, t.MaxBytes)
}

// copy writes and hashes r to its end.
func (t *transfer) copy(ctx context.Context, r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if t.MaxBytes > 0 && t.received+int64(n) > t.MaxBytes {
				return t.tooLarge()
			}
			if _, err := t.w.Write(buf[:n]); err != nil {
				return fmt.Errorf("%s: %w", t.operation(), err)
			}
			t.hash.Write(buf[:n])
			t.received += int64(n)
			if t.Progress != nil {
				t.Progress(t.received, t.total)
			}
		}
		switch {
		case errors.Is(err, io.EOF) && t.total >= 0 && t.received < t.total:
			return unreachable(ctx, t.operation(), io.ErrUnexpectedEOF)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreachable(ctx, t.operation(), err)
		}
	}
}

// verify compares the bytes with the checksum expected.
func (t *transfer) verify() error {
	want := t.SHA256
	if want == "" {
		want = strings.Trim(t.etag, `"`)
	}
	if got := hex.EncodeToString(t.hash.Sum(nil)); got != want {
		return fmt.Errorf("%s: %w: %s instead of %s", t.operation(), ErrChecksum, got, want)
	}
	return nil
}

// touching tells the idle timer of every byte.
type touching struct {
	r    io.Reader
	idle *idleTimer
}

func (t *touching) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.idle.touch()
	return n, err
}
