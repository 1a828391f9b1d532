package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/workloads"
)

// Prefix is the path below which the dashboard lives.
const Prefix = "/ui"

// Config configures a Dashboard. OperatorToken is required; zero values of the
// rest work.
type Config struct {
	// OperatorToken is what people sign in with.
	OperatorToken string
	// PublicURL is where people reach this coordinator; its host is answered.
	PublicURL string
	// Hosts are more names under which the dashboard is served. IP addresses
	// and localhost always are.
	Hosts []string
	// TrustForwarded takes scheme and host from X-Forwarded-Proto and
	// X-Forwarded-Host: only behind a proxy that sets them.
	TrustForwarded bool
	// SessionTTL is how long a person stays signed in; 12 h by default.
	SessionTTL time.Duration
	// PulseInterval is how often the database is asked for news while somebody
	// watches; 1 s by default.
	PulseInterval time.Duration
	// PlanTimeout bounds the trial planning of a new computation; 10 s by default.
	PlanTimeout time.Duration
	// Version is shown at the foot of every page.
	Version string
}

func (c Config) withDefaults() Config {
	c.SessionTTL = cmp.Or(c.SessionTTL, 12*time.Hour)
	c.PulseInterval = cmp.Or(c.PulseInterval, time.Second)
	c.PlanTimeout = cmp.Or(c.PlanTimeout, 10*time.Second)
	return c
}

// Deps are what a Dashboard works with. All but Logger are required.
type Deps struct {
	Store     Store
	Artifacts artifacts.Store
	Workloads *workloads.Registry
	// Controllers tells the health of the reconcilers of this process.
	Controllers func() []v1.ControllerStatus
	// API serves the requests that pages make, with the operator's token.
	API    http.Handler
	Logger *zap.Logger
}

// Dashboard serves the pages. It is safe for concurrent use.
type Dashboard struct {
	cfg       Config
	store     Store
	blobs     artifacts.Store
	workloads *workloads.Registry
	reconcile func() []v1.ControllerStatus
	api       http.Handler
	log       *zap.Logger

	hosts     hostList
	sessions  sessions
	signIns   *limiter
	origin    *http.CrossOriginProtection
	templates map[string]*template.Template
	assets    assets
	pulses    *pulses
	watchers  slots
	trials    slots
	studies   slots
	// studied are graphs that were looked at, by digest.
	studied sync.Map
	mux     *http.ServeMux
}

// New returns a Dashboard. Its errors name what is wrong with cfg.
func New(cfg Config, deps Deps) (*Dashboard, error) {
	if cfg.OperatorToken == "" {
		return nil, errors.New("operator token: required")
	}
	if deps.Logger == nil {
		deps.Logger = zap.NewNop()
	}
	cfg = cfg.withDefaults()
	d := &Dashboard{
		cfg: cfg, store: deps.Store, blobs: deps.Artifacts, workloads: deps.Workloads, reconcile: deps.Controllers,
		api: deps.API, log: deps.Logger, sessions: sessions{store: deps.Store, token: cfg.OperatorToken, ttl: cfg.SessionTTL},
		signIns: newLimiter(time.Now), origin: http.NewCrossOriginProtection(), mux: http.NewServeMux(),
	}
	var err error
	if d.hosts, err = newHostList(cfg); err != nil {
		return nil, err
	}
	if d.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if d.templates, err = d.parseTemplates(); err != nil {
		return nil, err
	}
	d.pulses = newPulses(deps.Store, cfg.PulseInterval, d.log)
	d.watchers, d.trials, d.studies = make(slots, maxWatchers), make(slots, maxTrials), make(slots, maxStudies)
	d.routes()
	return d, nil
}

// Drain ends what people watch, now and from now on, so that the process can stop.
func (d *Dashboard) Drain() { d.pulses.close() }

// Mount returns a handler that serves the dashboard below Prefix, sends those
// who ask for / to it, and leaves everything else to api.
func (d *Dashboard) Mount(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Prefix+"/", d)
	mux.Handle("GET "+Prefix, http.RedirectHandler(Prefix+"/", http.StatusSeeOther))
	mux.Handle("GET /{$}", http.RedirectHandler(Prefix+"/", http.StatusSeeOther))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

type personKey struct{}

// signedIn reports whether the request belongs to a session.
func signedIn(ctx context.Context) bool { return ctx.Value(personKey{}) != nil }

// slots bound what is done at once.
type slots chan struct{}

// take reports whether there was room; give makes it again.
func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) give() { <-s }
