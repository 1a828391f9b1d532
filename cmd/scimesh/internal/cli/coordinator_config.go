package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"scimesh.dev/scimesh/cmd/scimesh/internal/settings"
	"scimesh.dev/scimesh/workloads/similaritygraph"
)

// coordinatorConfig is all that a coordinator can be told.
type coordinatorConfig struct {
	DatabaseURL string
	Token       string
	WorkerToken string

	StorageDir     string
	Addr           string
	PublicURL      string
	TrustForwarded bool
	PoolSize       int32
	QueryTimeout   time.Duration
	RequestTimeout time.Duration
	UploadIdle     time.Duration
	DrainTimeout   time.Duration
	LeaseTTL       time.Duration
	OfflineAfter   time.Duration
	MaxUploadBytes int64
	MaxEdges       int64
	ChunkHosts     []string
	BlobGrace      time.Duration
	UnusedInputs   time.Duration
	EventRetention time.Duration
	LogLevel       string
	ReadyFile      string
}

// minTokenLength keeps tokens that can be guessed out.
const minTokenLength = 16

// bind declares the settings of the coordinator on its flags.
func (c *coordinatorConfig) bind(flags *pflag.FlagSet) *settings.Set {
	flags.StringVar(&c.StorageDir, "storage-dir", "", "folder of the artifact store")
	flags.StringVar(&c.Addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	flags.StringVar(&c.PublicURL, "public-url", "", "URL under which workers and users reach the coordinator (default: as each request was sent)")
	flags.BoolVar(&c.TrustForwarded, "trust-forwarded", false, "believe X-Forwarded-Proto and X-Forwarded-Host of a proxy in front")
	flags.Int32Var(&c.PoolSize, "pool-size", 10, "connections to PostgreSQL, besides one for notifications")
	flags.DurationVar(&c.QueryTimeout, "query-timeout", 10*time.Second, "longest time for one statement")
	flags.DurationVar(&c.RequestTimeout, "request-timeout", 30*time.Second, "longest time for one request, streams and long polls aside")
	flags.DurationVar(&c.UploadIdle, "upload-idle-timeout", 30*time.Second, "longest pause within an upload or download")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", 20*time.Second, "time for running requests and reconciles at shutdown")
	flags.DurationVar(&c.LeaseTTL, "lease-ttl", time.Minute, "how long a lease lasts without a heartbeat")
	flags.DurationVar(&c.OfflineAfter, "worker-offline-after", time.Minute, "silence after which a worker is offline")
	flags.Int64Var(&c.MaxUploadBytes, "max-upload-bytes", 64<<30, "largest upload")
	flags.Int64Var(&c.MaxEdges, "max-edges", similaritygraph.DefaultMaxEdges, "most edges that a similarity-graph may be expected to have")
	flags.StringSliceVar(&c.ChunkHosts, "chunk-hosts", nil, "hosts that chunk URIs of jobs may name (none by default)")
	flags.DurationVar(&c.BlobGrace, "blob-grace", 24*time.Hour, "how long bytes that no artifact names are kept")
	flags.DurationVar(&c.UnusedInputs, "unused-inputs", 24*time.Hour, "how long an upload waits for a job that names it")
	flags.DurationVar(&c.EventRetention, "event-retention", 30*24*time.Hour, "how long events are kept")
	flags.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&c.ReadyFile, "ready-file", "", "file that receives the base URL once the coordinator serves")

	set := settings.New(flags)
	set.Secret(&c.DatabaseURL, "database-url-file", "DATABASE_URL")
	set.Secret(&c.Token, "token-file", "COORDINATOR_TOKEN")
	set.Secret(&c.WorkerToken, "worker-token-file", "COORDINATOR_WORKER_TOKEN")
	for name, env := range map[string]string{
		"storage-dir": "COORDINATOR_STORAGE_DIR", "addr": "COORDINATOR_ADDR", "public-url": "COORDINATOR_PUBLIC_URL",
		"trust-forwarded": "COORDINATOR_TRUST_FORWARDED", "pool-size": "COORDINATOR_POOL_SIZE",
		"query-timeout": "COORDINATOR_QUERY_TIMEOUT", "request-timeout": "COORDINATOR_REQUEST_TIMEOUT",
		"upload-idle-timeout": "COORDINATOR_UPLOAD_IDLE_TIMEOUT", "drain-timeout": "COORDINATOR_DRAIN_TIMEOUT",
		"lease-ttl": "COORDINATOR_LEASE_TTL", "worker-offline-after": "COORDINATOR_WORKER_OFFLINE_AFTER",
		"max-upload-bytes": "COORDINATOR_MAX_UPLOAD_BYTES", "chunk-hosts": "COORDINATOR_CHUNK_HOSTS",
		"max-edges":  "COORDINATOR_MAX_EDGES",
		"blob-grace": "COORDINATOR_BLOB_GRACE", "unused-inputs": "COORDINATOR_UNUSED_INPUTS",
		"event-retention": "COORDINATOR_EVENT_RETENTION", "log-level": "COORDINATOR_LOG_LEVEL", "ready-file": "COORDINATOR_READY_FILE",
	} {
		set.Flag(name, env)
	}
	return set
}

// validate returns every fault, each naming its setting.
func (c *coordinatorConfig) validate() error {
	return errors.Join(
		requireSecret("DATABASE_URL", c.DatabaseURL, 1),
		requireSecret("COORDINATOR_TOKEN", c.Token, minTokenLength),
		optionalToken("COORDINATOR_WORKER_TOKEN", c.WorkerToken),
		c.validateStorage(),
		validateAddr("COORDINATOR_ADDR", c.Addr),
		validateURL("COORDINATOR_PUBLIC_URL", c.PublicURL),
		inRange("COORDINATOR_POOL_SIZE", int64(c.PoolSize), 1, 1000),
		inRange("COORDINATOR_MAX_UPLOAD_BYTES", c.MaxUploadBytes, 1, 1<<50),
		inRange("COORDINATOR_MAX_EDGES", c.MaxEdges, 1, 1<<50),
		durationIn("COORDINATOR_QUERY_TIMEOUT", c.QueryTimeout, 100*time.Millisecond, time.Hour),
		durationIn("COORDINATOR_REQUEST_TIMEOUT", c.RequestTimeout, time.Second, time.Hour),
		durationIn("COORDINATOR_UPLOAD_IDLE_TIMEOUT", c.UploadIdle, time.Second, time.Hour),
		durationIn("COORDINATOR_DRAIN_TIMEOUT", c.DrainTimeout, 0, time.Hour),
		durationIn("COORDINATOR_LEASE_TTL", c.LeaseTTL, time.Second, 24*time.Hour),
		durationIn("COORDINATOR_WORKER_OFFLINE_AFTER", c.OfflineAfter, time.Second, 24*time.Hour),
		durationIn("COORDINATOR_BLOB_GRACE", c.BlobGrace, time.Minute, 10*365*24*time.Hour),
		durationIn("COORDINATOR_UNUSED_INPUTS", c.UnusedInputs, time.Minute, 10*365*24*time.Hour),
		durationIn("COORDINATOR_EVENT_RETENTION", c.EventRetention, time.Minute, 100*365*24*time.Hour),
	)
}

func (c *coordinatorConfig) validateStorage() error {
	if c.StorageDir == "" {
		return errors.New("COORDINATOR_STORAGE_DIR: required")
	}
	if info, err := os.Stat(c.StorageDir); err == nil && !info.IsDir() {
		return errors.New("COORDINATOR_STORAGE_DIR: not a folder")
	}
	return nil
}

func requireSecret(name, value string, minLength int) error {
	if value == "" {
		return fmt.Errorf("%s: required (or %s_FILE, a file that holds it)", name, name)
	}
	if len(value) < minLength {
		return fmt.Errorf("%s: shorter than %d characters", name, minLength)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%s: holds a blank or control character", name)
	}
	return nil
}

func optionalToken(name, value string) error {
	if value == "" {
		return nil
	}
	return requireSecret(name, value, minTokenLength)
}

func validateAddr(name, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s: %q is not HOST:PORT", name, addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s: %q is no port", name, port)
	}
	return nil
}

// validateURL accepts an absolute http or https URL without credentials, query and fragment, or none.
func validateURL(name, raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s: want http(s)://HOST[:PORT][/PATH]", name)
	}
	return nil
}

func inRange(name string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %d is not between %d and %d", name, value, low, high)
	}
	return nil
}

func durationIn(name string, value, low, high time.Duration) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %v is not between %v and %v", name, value, low, high)
	}
	return nil
}
