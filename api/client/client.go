package client

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Options configure a Client. The zero value works.
type Options struct {
	// Transport sends the requests; http.DefaultTransport with settings for
	// long polls by default. It may come from a client with its own TLS settings.
	Transport http.RoundTripper
	// UserAgent names the program.
	UserAgent string
	// RequestTimeout bounds one attempt of a call that is not a stream; 30 s by default.
	RequestTimeout time.Duration
	// IdleTimeout bounds the time without a byte on a stream; 60 s by default.
	IdleTimeout time.Duration
	// Retry says how calls that may be repeated are.
	Retry RetryPolicy
}

// Client is a coordinator as its callers see it. It is safe for concurrent use.
type Client struct {
	raw    *Raw
	http   *http.Client
	base   *url.URL
	opts   Options
	policy RetryPolicy
}

// New returns a client of the coordinator at baseURL, an http or https URL
// that may have a path. An empty token sends none.
func New(baseURL, token string, opts Options) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	opts.RequestTimeout = cmp.Or(opts.RequestTimeout, 30*time.Second)
	opts.IdleTimeout = cmp.Or(opts.IdleTimeout, time.Minute)
	if opts.Transport == nil {
		opts.Transport = defaultTransport()
	}
	c := &Client{
		http:   &http.Client{Transport: &transport{next: opts.Transport, origin: origin(base), token: token, agent: opts.UserAgent}},
		base:   base,
		opts:   opts,
		policy: opts.Retry.withDefaults(),
	}
	c.raw, err = NewClient(base.String(), WithHTTPClient(c.http))
	return c, err
}

// URL is the coordinator's address.
func (c *Client) URL() string { return c.base.String() }

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("coordinator URL: must be http:// or https:// and a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("coordinator URL: must not hold a user name, a query or a fragment")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u, nil
}

// origin is the scheme, host and port of a URL, with the port written out.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// transport finishes each request as it leaves, redirected ones too.
type transport struct {
	next   http.RoundTripper
	origin string // of the coordinator
	token  string
	agent  string
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if t.trusted(req) {
		if t.token != "" {
			req.Header.Set("Authorization", "Bearer "+t.token)
		}
		if req.Header.Get("X-Request-ID") == "" {
			req.Header.Set("X-Request-ID", uuid.NewString())
		}
	} else {
		for _, name := range []string{"Authorization", "X-Worker-ID", "X-Task-Attempt", "X-Request-ID"} {
			req.Header.Del(name)
		}
	}
	if t.agent != "" {
		req.Header.Set("User-Agent", t.agent)
	}
	return t.next.RoundTrip(req)
}

// trusted reports whether a request goes to the coordinator and was not sent
// there by a redirect of anybody else.
func (t *transport) trusted(req *http.Request) bool {
	for ; ; req = req.Response.Request {
		if origin(req.URL) != t.origin {
			return false
		}
		if req.Response == nil || req.Response.Request == nil {
			return true
		}
	}
}

func defaultTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	t.DisableCompression = true // ranges and checksums are those of the bytes stored
	t.ExpectContinueTimeout = 5 * time.Second
	return t
}
