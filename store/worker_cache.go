package store

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	workerInfoAge = 2 * time.Second
	maxWorkerInfo = 50000
)

// workerInfo is what a claim has to know of its worker. It is a cache of a row; the
// claim itself checks the row.
type workerInfo struct {
	capabilities []string
	engine       string
	offline      bool
	quarantined  bool
	loadedAt     time.Time
}

type workerCache struct {
	mu   sync.Mutex
	byID map[uuid.UUID]*workerInfo
}

// forget has a worker's row read again at its next claim.
func (c *workerCache) forget(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
}

// known returns the entries that are fresh, and the ids of the rest.
func (c *workerCache) known(claims []claim) (known map[uuid.UUID]*workerInfo, missing []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = make(map[uuid.UUID]*workerInfo, len(claims))
	for _, claim := range claims {
		if _, ok := known[claim.worker]; ok {
			continue
		}
		w := c.byID[claim.worker]
		if w == nil || time.Since(w.loadedAt) > workerInfoAge {
			w = nil
			missing = append(missing, claim.worker)
		}
		known[claim.worker] = w
	}
	return known, missing
}

func (c *workerCache) put(id uuid.UUID, w *workerInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= maxWorkerInfo {
		clear(c.byID)
	}
	c.byID[id] = w
}

const loadWorkersSQL = `
SELECT id, capabilities, engine, status = 'offline',
       coalesce(quarantined_until > coalesce(@now::timestamptz, now()), false)
FROM   workers
WHERE  id = ANY (@ids::uuid[])`

// loadWorkers returns what is known of the workers that claim; nil for unknown ones.
func (s *Store) loadWorkers(ctx context.Context, claims []claim) (map[uuid.UUID]*workerInfo, error) {
	known, missing := s.workers.known(claims)
	if len(missing) == 0 {
		return known, nil
	}
	at := time.Now()
	rows, err := s.pool.Query(ctx, loadWorkersSQL, pgx.NamedArgs{"ids": missing, "now": s.now()})
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var capabilities []byte
	var row workerInfo
	_, err = pgx.ForEachRow(rows, []any{&id, &capabilities, &row.engine, &row.offline, &row.quarantined}, func() error {
		w := row
		w.loadedAt = at
		if json.Unmarshal(capabilities, &w.capabilities) != nil {
			w.capabilities = nil // damaged by hand: a worker that can do nothing
		}
		known[id] = &w
		s.workers.put(id, &w)
		return nil
	})
	return known, err
}
