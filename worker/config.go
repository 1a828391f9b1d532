package worker

import (
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"scimesh.dev/scimesh/workloads"
)

// Config is what a Worker needs. Fields of which the zero value works say so.
type Config struct {
	// CoordinatorURL is the coordinator's http or https URL, without credentials.
	CoordinatorURL string
	// Token is the workers' bearer token. It goes to the coordinator alone.
	Token string
	// Name is for people; it need not be unique. Default: the host's name.
	Name string
	// Engine names what computes; empty if the workloads have none.
	Engine string
	// Golden are the engine's answers by which it proves what its name claims (package
	// workloads/golden); nil if it has none, and then its tasks are never mixed with
	// those of engines that have.
	Golden map[string]string
	// WorkDir holds the identity and the running tasks. One process at a time.
	WorkDir string
	// Workloads are what this worker can compute.
	Workloads *workloads.Registry

	// Concurrency is how many tasks run at once. Default: 1.
	Concurrency int
	// Threads is how many goroutines one task may keep busy. Default: the CPUs
	// divided by Concurrency, at least 1.
	Threads int
	// MemoryMB is announced to the coordinator. Default: the machine's.
	MemoryMB int64
	// ClaimWait is how long a claim waits at the coordinator, at most 30 s, in whole seconds.
	ClaimWait time.Duration
	// PollInterval is the pause after a claim that the coordinator did not let wait. Default: 2 s.
	PollInterval time.Duration
	// Once ends Run after one claim and its task, if it gave one.
	Once bool
	// MaxTasks ends Run after so many tasks; 0 is no limit.
	MaxTasks int
	// DiskLimit bounds the bytes under WorkDir; 0 is no limit. A task that does
	// not fit is handed back.
	DiskLimit int64
	// CacheLimit bounds the bytes of inputs and results that are kept for tasks
	// to come; 0 keeps none.
	CacheLimit int64
	// CacheDir is where they are kept, on the file system of WorkDir, to be shared
	// with other workers. Default: a folder in WorkDir, which DiskLimit does not count.
	CacheDir string
	// KeepFailed is how many folders of failed tasks are kept for inspection.
	KeepFailed int
	// DrainTimeout is how long running tasks may go on after Run's context has
	// ended; 0 hands them back at once.
	DrainTimeout time.Duration
	// OutageGrace is how long a computation goes on past its lease's deadline
	// while the coordinator cannot be reached. A coordinator extends the leases
	// that lived when it went away, so what is computed meanwhile still counts.
	OutageGrace time.Duration

	// Logger defaults to one that is silent.
	Logger *zap.Logger
	// Transport defaults to one of the worker's own.
	Transport http.RoundTripper
}

const maxClaimWait = 30 * time.Second

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1
	}
	if c.Threads == 0 && c.Concurrency > 0 {
		c.Threads = max(1, runtime.NumCPU()/c.Concurrency)
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = machineMemoryMB()
	}
	if c.PollInterval == 0 {
		c.PollInterval = 2 * time.Second
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Validate returns every fault of the configuration. No error holds the token.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs field.ErrorList
	errs = append(errs, validateURL(field.NewPath("coordinatorURL"), c.CoordinatorURL)...)
	switch {
	case c.Token == "":
		errs = append(errs, field.Required(field.NewPath("token"), ""))
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		errs = append(errs, field.Invalid(field.NewPath("token"), "[redacted]", "must be printable ASCII without spaces"))
	}
	if c.Name == "" || len(c.Name) > 253 {
		errs = append(errs, field.Invalid(field.NewPath("name"), c.Name, "must have 1 to 253 characters"))
	}
	if len(c.Engine) > 128 {
		errs = append(errs, field.TooLong(field.NewPath("engine"), "", 128))
	}
	if c.WorkDir == "" {
		errs = append(errs, field.Required(field.NewPath("workDir"), ""))
	}
	if c.Workloads == nil || len(c.Workloads.Names()) == 0 {
		errs = append(errs, field.Required(field.NewPath("workloads"), "at least one workload"))
	}
	if c.ClaimWait < 0 || c.ClaimWait > maxClaimWait || c.ClaimWait%time.Second != 0 {
		errs = append(errs, field.Invalid(field.NewPath("claimWait"), c.ClaimWait.String(), "must be whole seconds, at most 30s"))
	}
	for _, n := range []struct {
		name       string
		value, min int64
	}{
		{"concurrency", int64(c.Concurrency), 1},
		{"threads", int64(c.Threads), 1},
		{"memoryMB", c.MemoryMB, 1},
		{"maxTasks", int64(c.MaxTasks), 0},
		{"diskLimit", c.DiskLimit, 0},
		{"cacheLimit", c.CacheLimit, 0},
		{"keepFailed", int64(c.KeepFailed), 0},
	} {
		if n.value < n.min {
			errs = append(errs, field.Invalid(field.NewPath(n.name), n.value, "is too small"))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"pollInterval", c.PollInterval},
		{"drainTimeout", c.DrainTimeout},
		{"outageGrace", c.OutageGrace},
	} {
		if d.value < 0 {
			errs = append(errs, field.Invalid(field.NewPath(d.name), d.value.String(), "must not be negative"))
		}
	}
	return errs.ToAggregate()
}

func validateURL(path *field.Path, raw string) field.ErrorList {
	if raw == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		// The error would repeat the URL, and that may hold a password.
		return field.ErrorList{field.Invalid(path, "[redacted]", "is not a URL")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(path, u.Redacted(), "must not hold credentials")}
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return field.ErrorList{field.Invalid(path, u.Redacted(), "must be an http or https URL with a host")}
	case u.RawQuery != "", u.Fragment != "":
		return field.ErrorList{field.Invalid(path, u.Scheme+"://"+u.Host, "must have neither query nor fragment")}
	}
	return nil
}
