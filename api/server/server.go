package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/workloads"
)

// Config configures a Server. OperatorToken is required; zero values of the
// rest work.
type Config struct {
	// OperatorToken opens everything, WorkerToken what workers need. Without
	// WorkerToken the operator's serves both.
	OperatorToken string
	WorkerToken   string
	// PublicURL is where clients reach this coordinator, for the URIs in
	// answers. Without it, each request tells.
	PublicURL string
	// TrustForwarded takes scheme and host from X-Forwarded-Proto and
	// X-Forwarded-Host: only behind a proxy that sets them.
	TrustForwarded bool
	// AllowedHosts are the hosts whose URIs Jobs may name as inputs; see v1.URIPolicy.
	AllowedHosts []string
	// MaxInputBytes and MaxResultBytes bound an uploaded input and a task's
	// result; 1 TiB and 16 GiB by default.
	MaxInputBytes  int64
	MaxResultBytes int64
	// MaxUploads and MaxStreams bound the uploads of more than 64 KiB, and the watches and followed
	// logs, that are served at once; 64 and 512 by default.
	MaxUploads int
	MaxStreams int
	// RequestTimeout bounds the reading of a small body and the writing of a
	// small response; 30 s by default.
	RequestTimeout time.Duration
	// StallTimeout bounds the time without a byte of a stream; 60 s by default.
	StallTimeout time.Duration
	// PollInterval is how often watches and followed logs look for news; 1 s by default.
	PollInterval time.Duration
	// LeaseTTL is how long the store's leases last; 60 s by default.
	LeaseTTL time.Duration
	// Version is what GET /version answers.
	Version wire.Version
}

func (c Config) withDefaults() Config {
	c.MaxInputBytes = cmp.Or(c.MaxInputBytes, 1<<40)
	c.MaxResultBytes = cmp.Or(c.MaxResultBytes, 16<<30)
	c.MaxUploads = cmp.Or(c.MaxUploads, 64)
	c.MaxStreams = cmp.Or(c.MaxStreams, 512)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 30*time.Second)
	c.StallTimeout = cmp.Or(c.StallTimeout, time.Minute)
	c.PollInterval = cmp.Or(c.PollInterval, time.Second)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, time.Minute)
	return c
}

func (c Config) validate() error {
	if c.OperatorToken == "" {
		return errors.New("operator token: required")
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("public URL: must be http:// or https:// and a host, without user, query and fragment")
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"input size limit", c.MaxInputBytes}, {"result size limit", c.MaxResultBytes},
		{"upload limit", int64(c.MaxUploads)}, {"stream limit", int64(c.MaxStreams)},
		{"request timeout", int64(c.RequestTimeout)}, {"stall timeout", int64(c.StallTimeout)},
		{"poll interval", int64(c.PollInterval)}, {"lease TTL", int64(c.LeaseTTL)},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: must not be negative", n.name)
		}
	}
	return nil
}

// Deps are what a Server works with. All but Controllers, Logger and Metrics are required.
type Deps struct {
	Store     Store
	Artifacts artifacts.Store
	Workloads *workloads.Registry
	// Controllers tells the health of the reconcilers of this process.
	Controllers func() []v1.ControllerStatus
	Logger      *zap.Logger
	// Metrics takes the server's metrics and is what GET /metrics shows.
	Metrics *prometheus.Registry
}

// Server is the HTTP API. It is safe for concurrent use.
type Server struct {
	cfg         Config
	store       Store
	blobs       artifacts.Store
	workloads   *workloads.Registry
	controllers func() []v1.ControllerStatus
	log         *zap.Logger
	tokens      tokens
	mux         *http.ServeMux
	metrics     *metrics
	uploads     slots
	// smallUploads are beside uploads.
	smallUploads slots
	streams      slots

	draining context.Context
	drain    context.CancelFunc
}

// New returns a Server. Its errors name what is wrong with cfg.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if deps.Logger == nil {
		deps.Logger = zap.NewNop()
	}
	if deps.Controllers == nil {
		deps.Controllers = func() []v1.ControllerStatus { return nil }
	}
	if deps.Metrics == nil {
		deps.Metrics = prometheus.NewRegistry()
	}
	cfg = cfg.withDefaults()
	cfg.PublicURL = strings.TrimSuffix(cfg.PublicURL, "/")
	s := &Server{
		cfg: cfg, store: deps.Store, blobs: deps.Artifacts, workloads: deps.Workloads, controllers: deps.Controllers,
		log: deps.Logger, tokens: newTokens(cfg.OperatorToken, cfg.WorkerToken), mux: http.NewServeMux(),
		metrics: newMetrics(deps.Metrics), uploads: newSlots(cfg.MaxUploads), smallUploads: newSlots(smallUploads), streams: newSlots(cfg.MaxStreams),
	}
	s.draining, s.drain = context.WithCancel(context.Background())
	strict := NewStrictHandlerWithOptions(handlers{s}, []StrictMiddlewareFunc{nameOperation}, StrictHTTPServerOptions{
		RequestErrorHandlerFunc: s.badRequest, ResponseErrorHandlerFunc: s.fail,
	})
	for _, base := range []string{"", apiPrefix} {
		HandlerWithOptions(strict, StdHTTPServerOptions{BaseURL: base, BaseRouter: s.mux, ErrorHandlerFunc: s.badRequest})
	}
	return s, nil
}

// apiPrefix is where every path is served a second time.
const apiPrefix = "/v1"

// handlers are the operations of the contract.
type handlers struct{ *Server }

var _ StrictServerInterface = handlers{}

// Drain ends long polls, watches and followed logs, now and from now on, so
// that the process can stop. Other requests are served as before.
func (s *Server) Drain() { s.drain() }

// HTTPServer returns an http.Server for s, with the limits that only it can
// set. Its Shutdown drains s first.
func (s *Server) HTTPServer(addr string) *http.Server {
	h := &http.Server{
		Addr: addr, Handler: s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          zap.NewStdLog(s.log.WithOptions(zap.AddStacktrace(zap.DPanicLevel))),
	}
	h.RegisterOnShutdown(s.Drain)
	return h
}

// slots bound what is done at once.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take returns a function that gives the slot back, or false if none is free.
func (s slots) take() (release func(), ok bool) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, true
	default:
		return nil, false
	}
}

// wait is take for those who can wait for a slot.
func (s slots) wait(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
