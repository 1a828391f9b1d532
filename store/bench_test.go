package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// BenchmarkCycle takes tasks from claim through heartbeat, artifact and
// result, by the store alone.
func BenchmarkCycle(b *testing.B) {
	for _, clients := range []int{1, 8, 32, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			url := storetest.NewDatabase(b)
			s := storetest.Open(b, url)
			conn := storetest.Conn(b, url)
			fillQueue(b, conn, storetest.MakeJob(b, s, "bench"), 0, b.N+clients)
			exec(b, conn, `VACUUM ANALYZE`)
			workers := make([]store.Worker, clients)
			for i := range workers {
				workers[i] = storetest.MakeWorker(b, s, fmt.Sprint("w", i))
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var g errgroup.Group
			for _, w := range workers {
				g.Go(func() error {
					for left.Add(-1) >= 0 {
						if err := benchCycle(s, w); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
		})
	}
}

func benchCycle(s *store.Store, w store.Worker) error {
	ctx := context.Background()
	task, ok, err := s.ClaimTask(ctx, store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
	if err != nil || !ok {
		return fmt.Errorf("claim: %v, %w", ok, err)
	}
	if _, err := s.RenewLease(ctx, store.RenewLeaseParams{Lease: task.Lease}); err != nil {
		return err
	}
	f := storetest.File("partial.csv", task.Task.String())
	a, err := s.RecordTaskArtifact(ctx, store.RecordTaskArtifactParams{Lease: task.Lease, FileRef: f})
	if err != nil {
		return err
	}
	_, err = s.CompleteTask(ctx, store.CompleteTaskParams{Lease: task.Lease, ArtifactID: a.ID, SHA256: a.SHA256})
	return err
}

// rawCycle is the least that a queue of this kind must do: three statements of one row
// each, without artifacts, jobs or workers.
const rawCycle = `
UPDATE tasks SET status = 'leased', attempt = attempt + 1, lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 minute', leased_at = now()
WHERE id = (SELECT id FROM tasks WHERE job_id = '%[1]s' AND lease_owner IS NULL AND completed_at IS NULL AND last_failed_by IS NULL ORDER BY chunk_index LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id AS task, lease_owner AS owner \gset
UPDATE tasks SET status = 'running', lease_expires_at = now() + interval '1 minute' WHERE id = :task::uuid AND lease_owner IS NOT DISTINCT FROM :owner::uuid;
UPDATE tasks SET status = 'cancelled', completed_at = now(), lease_owner = NULL, lease_expires_at = NULL WHERE id = :task::uuid AND lease_owner IS NOT DISTINCT FROM :owner::uuid;
`

var pgbenchTPS = regexp.MustCompile(`tps = ([0-9.]+)`)

// BenchmarkRawCycle is the peer of BenchmarkCycle: the same queue, driven by pgbench.
func BenchmarkRawCycle(b *testing.B) {
	pgbench, err := findPgbench()
	if err != nil {
		b.Skip(err)
	}
	for _, clients := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			url := storetest.NewDatabase(b)
			s := storetest.Open(b, url)
			conn := storetest.Conn(b, url)
			each := b.N/clients + 1
			job := storetest.MakeJob(b, s, "bench")
			fillQueue(b, conn, job, 0, each*clients)
			exec(b, conn, `VACUUM ANALYZE`)
			script := filepath.Join(b.TempDir(), "cycle.sql")
			// pgbench takes one line a statement.
			text := strings.ReplaceAll(fmt.Sprintf(rawCycle, job.ID), "\nWHERE", " WHERE")
			text = strings.ReplaceAll(text, "\nRETURNING", " RETURNING")
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			out, err := osexec.Command(pgbench, "-n", "-M", "prepared", "-f", script, "-c", strconv.Itoa(clients), "-j", "2", "-t", strconv.Itoa(each), url).CombinedOutput()
			if err != nil {
				b.Fatalf("pgbench: %v\n%s", err, bytes.TrimSpace(out))
			}
			tps, err := strconv.ParseFloat(string(pgbenchTPS.FindSubmatch(out)[1]), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(tps, "cycles/s")
		})
	}
}

// findPgbench looks where Debian keeps it, which is not on the path.
func findPgbench() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	return osexec.LookPath("pgbench")
}
