package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"scimesh.dev/scimesh/store/batch"
)

// ChannelJobs is the notification channel; payloads are job ids.
const ChannelJobs = "scimesh_jobs"

// Config configures a Store. URL is required; zero values of the rest work.
type Config struct {
	// URL is a PostgreSQL connection string. It may hold a password: it is in no error and no log.
	URL string
	// MaxConns bounds the pool; 10 by default. What workers do in batches uses five connections more, Listen one.
	MaxConns int32
	// QueryTimeout bounds every statement, in the client and in the server; 10 s by default.
	QueryTimeout time.Duration
	// LeaseTTL is how long a claimed or renewed lease lasts; 60 s by default.
	LeaseTTL time.Duration
	// Coordinator identifies this process among those that serve workers. If
	// set, Run beats for it, and leases are extended after a time without any
	// coordinator.
	Coordinator uuid.UUID
	// Logger is silent by default.
	Logger *zap.Logger
	// Now replaces the database's clock. Tests alone set it.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.MaxConns <= 0 {
		c.MaxConns = 10
	}
	if c.QueryTimeout <= 0 {
		c.QueryTimeout = 10 * time.Second
	}
	if c.LeaseTTL <= 0 {
		c.LeaseTTL = time.Minute
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	cfg  Config
	pool *pgxpool.Pool
	// batchPool and renewPool have connections whose settings suit batches alone.
	batchPool, renewPool *pgxpool.Pool

	log *zap.Logger

	dispatch *dispatcher
	workers  workerCache
	lane     *batch.Queue[call, reply]
	renewals *batch.Queue[RenewLeaseParams, Renewal]

	touchMu sync.Mutex
	touched map[uuid.UUID]struct{}

	beatMu sync.Mutex
	beaten atomic.Int64 // when this process last beat, in Unix nanoseconds
}

// Open connects to a database that holds the schema of this program. It
// returns ErrInvalid for a malformed URL, ErrUnavailable if the database does
// not answer, and ErrSchemaVersion if it holds another schema.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	s := &Store{
		cfg: cfg, log: cfg.Logger, dispatch: newDispatcher(),
		workers: workerCache{byID: map[uuid.UUID]*workerInfo{}}, touched: map[uuid.UUID]struct{}{},
	}
	if err := s.openPools(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.lane, s.renewals = s.newLane(), s.newRenewals()
	if err := s.checkSchema(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) openPools(ctx context.Context) (err error) {
	if s.pool, err = openPool(ctx, s.cfg, poolConfig); err != nil {
		return err
	}
	if s.batchPool, err = openPool(ctx, s.cfg, batchConfig); err != nil {
		return err
	}
	s.renewPool, err = openPool(ctx, s.cfg, renewConfig)
	return err
}

// openPool makes a pool; it connects when it is first used.
func openPool(ctx context.Context, cfg Config, configure func(Config) (*pgxpool.Config, error)) (*pgxpool.Pool, error) {
	pc, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", translate(err))
	}
	return pool, nil
}

// Close ends all connections. Operations in flight fail.
func (s *Store) Close() {
	for _, pool := range []*pgxpool.Pool{s.renewPool, s.batchPool, s.pool} {
		if pool != nil {
			pool.Close()
		}
	}
}

// LeaseTTL is how long a claimed or renewed lease lasts.
func (s *Store) LeaseTTL() time.Duration { return s.cfg.LeaseTTL }

// Ping checks that the database answers and holds the right schema.
func (s *Store) Ping(ctx context.Context) error { return s.checkSchema(ctx) }
