package worker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxRedirects bounds how often a download is sent elsewhere.
const maxRedirects = 5

// stallTimeout is how long a transfer may bring no byte.
const stallTimeout = 30 * time.Second

var errStalled = errors.New("no byte came for too long")

// origin is what a bearer token may be sent to (RFC 6454).
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) origin {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return origin{u.Scheme, strings.ToLower(u.Hostname()), port}
}

// authTransport adds the token to requests for the coordinator's origin, and
// to no other. A request that was redirected by another origin gets none, even
// if it leads back.
type authTransport struct {
	base  http.RoundTripper
	home  origin
	token string
}

// RoundTrip sends the request.
func (t *authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if t.trusted(req) {
		req.Header.Set("Authorization", "Bearer "+t.token)
	} else {
		for _, name := range []string{"Authorization", "X-Worker-ID", "X-Task-Attempt"} {
			req.Header.Del(name)
		}
	}
	return t.base.RoundTrip(req)
}

// trusted reports whether req and all requests that led to it are to the coordinator.
func (t *authTransport) trusted(req *http.Request) bool {
	for req != nil {
		if originOf(req.URL) != t.home {
			return false
		}
		if req.Response == nil {
			return true
		}
		req = req.Response.Request
	}
	return false
}

// newTransport returns the worker's own transport. Bodies come as they are, so
// that ranges and digests are of the file.
func newTransport(connections int) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost:   connections,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// followDownloads lets downloads be redirected over http and https.
func followDownloads(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return errors.New("redirected to a URL that is neither http nor https")
	}
	return nil
}

// stayHere makes a redirect an answer like any other.
func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// withoutURL returns the error of a request without its URL, whose query may be a secret.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// watchdog cancels a context when nothing has happened for a while.
type watchdog struct {
	ctx    context.Context // only asked why it ended
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

func watch(ctx context.Context, after time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{ctx: ctx, after: after, cancel: cancel}
	w.timer = time.AfterFunc(after, func() { cancel(errStalled) })
	return ctx, w
}

func (w *watchdog) touch() { w.timer.Reset(w.after) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// watchedReader keeps a watchdog quiet while bytes come.
type watchedReader struct {
	io.ReadCloser
	dog *watchdog
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 {
		r.dog.touch()
	}
	if err != nil && errors.Is(context.Cause(r.dog.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}
