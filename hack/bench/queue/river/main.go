// Command river measures how many no-op jobs a second River works off on one
// PostgreSQL: it inserts them in batches, then starts a client and waits until
// all are completed. DATABASE_URL names an empty database. The result is one
// JSON object on standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const insertBatch = 5000

// noop is a job that does nothing.
type noop struct {
	Number int `json:"number"`
}

// Kind implements river.JobArgs.
func (noop) Kind() string { return "noop" }

type worker struct {
	river.WorkerDefaults[noop]
}

// Work implements river.Worker.
func (*worker) Work(context.Context, *river.Job[noop]) error { return nil }

// result is what is printed.
type result struct {
	Jobs          int     `json:"jobs"`
	Seconds       float64 `json:"seconds"`
	JobsPerSecond float64 `json:"jobs_per_second"`
}

func main() {
	jobs := flag.Int("jobs", 100000, "jobs to work off")
	workers := flag.Int("workers", 2000, "most jobs at once")
	conns := flag.Int("conns", 10, "connections to PostgreSQL")
	flag.Parse()
	r, err := run(context.Background(), os.Getenv("DATABASE_URL"), *jobs, *workers, *conns)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, jobs, workers, conns int) (result, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return result{}, errors.New("DATABASE_URL is no connection string")
	}
	cfg.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return result{}, err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return result{}, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return result{}, fmt.Errorf("migrate: %w", err)
	}
	registry := river.NewWorkers()
	river.AddWorker(registry, &worker{})
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}, Workers: registry, Logger: quiet(),
	})
	if err != nil {
		return result{}, err
	}
	if err := insert(ctx, client.InsertManyFast, jobs); err != nil {
		return result{}, fmt.Errorf("insert jobs: %w", err)
	}
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: jobs, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()

	start := time.Now()
	if err := client.Start(ctx); err != nil {
		return result{}, err
	}
	took, err := await(ctx, events, jobs, start)
	if err != nil {
		return result{}, err
	}
	return result{Jobs: jobs, Seconds: took.Seconds(), JobsPerSecond: float64(jobs) / took.Seconds()}, client.Stop(ctx)
}

func insert(ctx context.Context, insertMany func(context.Context, []river.InsertManyParams) (int, error), jobs int) error {
	for first := 0; first < jobs; first += insertBatch {
		batch := make([]river.InsertManyParams, min(insertBatch, jobs-first))
		for i := range batch {
			batch[i].Args = noop{Number: first + i}
		}
		if _, err := insertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// await returns how long it took until all jobs were completed, in the
// database and not only in the worker.
func await(ctx context.Context, events <-chan *river.Event, jobs int, start time.Time) (time.Duration, error) {
	done := 0
	stalled := time.NewTimer(time.Minute)
	defer stalled.Stop()
	for done < jobs {
		select {
		case <-events:
			done++
			stalled.Reset(time.Minute)
		case <-stalled.C:
			return 0, fmt.Errorf("%d of %d jobs completed, then none for a minute", done, jobs)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return time.Since(start), nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
