package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// inputError is a fault of a server that is not the coordinator: it says
// nothing about leases and tokens.
type inputError struct {
	err       error
	status    *StatusError // nil if there was no answer
	transient bool
}

func (e *inputError) Error() string { return e.err.Error() }

// Is reports whether target is ErrInputUnavailable, or ErrUnavailable if trying again may help.
func (e *inputError) Is(target error) bool {
	return target == ErrInputUnavailable || e.transient && target == ErrUnavailable
}

// As gives the answer, for its Retry-After.
func (e *inputError) As(target any) bool {
	s, ok := target.(**StatusError)
	if ok && e.status != nil {
		*s = e.status
		return true
	}
	return false
}

// Download opens an input at the coordinator or at a host that the Job named.
func (c *httpCoordinator) Download(ctx context.Context, r DownloadRequest) (*Body, error) {
	u, err := c.base.Parse(r.URI)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &inputError{err: errors.New("download: the input's URI is neither http nor https")}
	}
	// The coordinator may call itself by another name than this worker does.
	// Nobody else can have named the task's id in a URI.
	if path := "tasks/" + r.Lease.TaskID.String() + "/input"; strings.HasSuffix(u.Path, "/"+path) {
		query := u.RawQuery
		u = c.base.JoinPath(path)
		u.RawQuery = query
	}
	own := originOf(u) == originOf(c.base)
	ctx, dog := watch(ctx, stallTimeout)
	resp, err := c.get(ctx, u, own, r)
	if err != nil {
		dog.stop()
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = cause
		}
		return nil, c.faultOf(own, u, err)
	}
	body, err := bodyOf(resp, r.Offset)
	if err != nil {
		defer dog.stop()
		defer resp.Body.Close()
		if errors.Is(err, errBeyondEnd) {
			r.Offset = 0
			return c.Download(ctx, r)
		}
		return nil, c.refusal(own, resp)
	}
	body.ReadCloser = &download{watchedReader{resp.Body, dog}, func(err error) error { return c.faultOf(own, u, err) }}
	return body, nil
}

func (c *httpCoordinator) get(ctx context.Context, u *url.URL, own bool, r DownloadRequest) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if r.Offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", r.Offset))
		if r.ETag != "" && !strings.HasPrefix(r.ETag, "W/") {
			req.Header.Set("If-Range", r.ETag)
		}
	}
	if own {
		req.Header.Set("X-Worker-ID", r.Lease.WorkerID.String())
		req.Header.Set("X-Task-Attempt", strconv.Itoa(int(r.Lease.Attempt)))
	}
	return c.files.Do(req)
}

var (
	errBeyondEnd = errors.New("asked for bytes behind the end")
	errStatus    = errors.New("not the input")
)

// bodyOf reads the answer's head.
func bodyOf(resp *http.Response, offset int64) (*Body, error) {
	b := &Body{Size: -1, ETag: resp.Header.Get("ETag")}
	switch {
	case resp.StatusCode == http.StatusOK:
		b.Size = resp.ContentLength
	case resp.StatusCode == http.StatusPartialContent:
		var end int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &b.Offset, &end, &b.Size); n < 2 {
			return nil, errStatus
		}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && offset > 0:
		var size int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes */%d", &size); n == 1 && size == offset {
			// All bytes had come when the connection broke.
			_ = resp.Body.Close()
			resp.Body = http.NoBody
			b.Offset, b.Size = offset, size
			return b, nil
		}
		return nil, errBeyondEnd
	default:
		return nil, errStatus
	}
	return b, nil
}

// refusal is the error of an answer that is not the input.
func (c *httpCoordinator) refusal(own bool, resp *http.Response) error {
	e := c.statusError("download", resp)
	if resp.StatusCode < 300 {
		e.Status, e.Message = http.StatusBadGateway, "the answer's Content-Range cannot be read"
	}
	if originOf(resp.Request.URL) == originOf(c.base) {
		return e
	}
	host := resp.Request.URL.Host
	// Behind a redirect the coordinator may give another address the next time.
	return &inputError{
		err: fmt.Errorf("download from %s: status %d", host, e.Status), status: e,
		transient: own || errors.Is(e, ErrUnavailable),
	}
}

// faultOf gives a broken transfer its meaning.
func (c *httpCoordinator) faultOf(own bool, u *url.URL, err error) error {
	if own {
		return c.unanswered("download", err)
	}
	return &inputError{err: c.unanswered("download from "+u.Host, err), transient: true}
}

// download is the body of an input.
type download struct {
	watchedReader
	fault func(error) error
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.watchedReader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.fault(err)
	}
	return n, err
}

func (d *download) Close() error {
	d.dog.stop()
	return d.ReadCloser.Close()
}
