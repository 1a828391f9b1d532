package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
)

const (
	beatEvery  = 2 * time.Second
	flushEvery = time.Second
	// outageGap is how long no coordinator must have beaten for leases to be extended.
	outageGap = 5 * time.Second
	// wakeSpacing bounds how often waiting claims are looked after.
	wakeSpacing = 20 * time.Millisecond
)

// Run keeps the store's own clockwork going until ctx ends: beats of this
// coordinator, signs of life of workers, wake-ups of waiting claims. A process
// that serves workers runs it exactly once. What fails is logged and tried
// again; Run returns nil.
func (s *Store) Run(ctx context.Context) error {
	beat, flush := time.NewTicker(beatEvery), time.NewTicker(flushEvery)
	defer beat.Stop()
	defer flush.Stop()
	s.attempt(ctx, "beat", s.Beat)
	for {
		select {
		case <-ctx.Done():
			return s.runLast(ctx)
		case <-beat.C:
			s.attempt(ctx, "beat", s.Beat)
		case <-flush.C:
			s.attempt(ctx, "flush", s.flushTouches)
			s.attempt(ctx, "wake", s.wakeWaiting)
		case <-s.dispatch.kick:
			s.attempt(ctx, "wake", s.wakeWaiting)
			if !pause(ctx, wakeSpacing) {
				return s.runLast(ctx)
			}
		}
	}
}

// runLast writes the signs of life that are left.
func (s *Store) runLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.QueryTimeout)
	defer cancel()
	s.attempt(ctx, "flush", s.flushTouches)
	return nil
}

func (s *Store) attempt(ctx context.Context, operation string, fn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.QueryTimeout)
	defer cancel()
	if err := fn(ctx); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("store upkeep failed, will be tried again", zap.String("operation", operation), zap.Error(translate(err)))
	}
}

// pause waits for d; false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// wakeWaiting wakes waiting claims for which there may be tasks.
func (s *Store) wakeWaiting(ctx context.Context) error {
	if s.dispatch.idle() {
		return nil
	}
	if err := s.refreshDispatch(ctx); err != nil {
		return err
	}
	s.dispatch.wakeFor()
	return nil
}

// ensureBeat makes sure that this coordinator's last beat is recent before
// leases are judged: after a time in which PostgreSQL or all coordinators were
// away, the beat extends the leases that lived when it began.
func (s *Store) ensureBeat(ctx context.Context) error {
	if s.cfg.Coordinator == uuid.Nil || time.Since(time.Unix(0, s.beaten.Load())) < outageGap {
		return nil
	}
	return s.Beat(ctx)
}

const lastBeatSQL = `
SELECT max(seen_at), coalesce(@now::timestamptz, now())
FROM   coordinators`

const beatSQL = `
INSERT INTO coordinators (id, started_at, seen_at)
VALUES (@id, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))
ON CONFLICT (id) DO UPDATE
SET    seen_at = excluded.seen_at`

const extendLeasesSQL = `
UPDATE tasks
SET    lease_expires_at = coalesce(@now::timestamptz, now()) + @ttl::interval
WHERE  lease_owner IS NOT NULL
AND    lease_expires_at > coalesce(@seen::timestamptz, '-infinity')
AND    lease_expires_at < coalesce(@now::timestamptz, now()) + @ttl::interval`

const forgetCoordinatorsSQL = `
DELETE FROM coordinators
WHERE  seen_at < coalesce(@now::timestamptz, now()) - interval '1 day'`

// Beat tells that this coordinator serves. If none did for a while, leases
// that lived when the last one was seen get a full TTL from now: their workers could
// not renew them.
func (s *Store) Beat(ctx context.Context) (err error) {
	if s.cfg.Coordinator == uuid.Nil {
		return nil
	}
	defer wrapf(&err, "beat")
	s.beatMu.Lock()
	defer s.beatMu.Unlock()

	at := time.Now()
	var extended int64
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		extended = 0
		args := pgx.NamedArgs{"id": s.cfg.Coordinator, "now": s.now(), "ttl": s.cfg.LeaseTTL}
		var seen *time.Time
		var now time.Time
		if err := tx.QueryRow(ctx, lastBeatSQL, args).Scan(&seen, &now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, beatSQL, args); err != nil {
			return err
		}
		if seen != nil && now.Sub(*seen) <= outageGap {
			return nil
		}
		args["seen"] = seen
		tag, err := tx.Exec(ctx, extendLeasesSQL, args)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, forgetCoordinatorsSQL, args); err != nil {
			return err
		}
		extended = tag.RowsAffected()
		return s.recordOutage(ctx, tx, extended)
	})
	if err != nil {
		return err
	}
	s.beaten.Store(at.UnixNano())
	if extended > 0 {
		s.log.Info("leases extended after an outage", zap.Int64("leases", extended))
	}
	return nil
}

func (s *Store) recordOutage(ctx context.Context, tx pgx.Tx, extended int64) error {
	if extended == 0 {
		return nil
	}
	return s.recordEvents(ctx, tx, Event{Type: v1.EventNormal, Reason: "LeasesExtended",
		Message: "no coordinator was serving for a while: leases were extended"})
}
