package store

import (
	"testing"
	"time"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

func TestDecideFailure(t *testing.T) {
	task, a, b := NewID(), NewID(), NewID()
	for name, tc := range map[string]struct {
		task   failingTask
		worker failingWorker
		final  bool

		wantPhase      v1.TaskPhase
		wantFailures   int32
		wantStreak     int
		wantQuarantine time.Duration
		wantRefund     int
	}{
		"first failure":                       {task: failingTask{MaxAttempts: 3}, wantPhase: v1.TaskPending, wantFailures: 1, wantStreak: 1},
		"last attempt":                        {task: failingTask{Failures: 2, MaxAttempts: 3}, wantPhase: v1.TaskFailed, wantFailures: 3, wantStreak: 1},
		"cannot be retried":                   {task: failingTask{MaxAttempts: 3}, worker: failingWorker{FailureStreak: []uuid.UUID{a, b}}, final: true, wantPhase: v1.TaskFailed, wantFailures: 1, wantStreak: 2},
		"same task again":                     {task: failingTask{Failures: 1, MaxAttempts: 9}, worker: failingWorker{FailureStreak: []uuid.UUID{a, task}}, wantPhase: v1.TaskPending, wantFailures: 2, wantStreak: 2},
		"third task":                          {task: failingTask{Failures: 2, MaxAttempts: 3}, worker: failingWorker{FailureStreak: []uuid.UUID{a, b}}, wantPhase: v1.TaskPending, wantFailures: 2, wantQuarantine: 30 * time.Second, wantRefund: 3},
		"third quarantine gives nothing back": {task: failingTask{MaxAttempts: 3}, worker: failingWorker{FailureStreak: []uuid.UUID{a, b}, Quarantines: 2}, wantPhase: v1.TaskPending, wantFailures: 1, wantQuarantine: 2 * time.Minute},
		"longest quarantine":                  {task: failingTask{MaxAttempts: 3}, worker: failingWorker{FailureStreak: []uuid.UUID{a, b}, Quarantines: 100}, wantPhase: v1.TaskPending, wantFailures: 1, wantQuarantine: 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			d := decideFailure(tc.task, tc.worker, task, !tc.final, 0)
			if d.phase != tc.wantPhase || d.failures != tc.wantFailures || len(d.streak) != tc.wantStreak ||
				d.quarantine != tc.wantQuarantine || len(d.refund) != tc.wantRefund {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestBackoffGrowsToFiveMinutes(t *testing.T) {
	for failures, want := range map[int32]time.Duration{1: 2 * time.Second, 5: 32 * time.Second, 8: 256 * time.Second, 9: 5 * time.Minute, 100: 5 * time.Minute} {
		if got := backoff(failures, 0); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
		if got := backoff(failures, 1); got != want/2 {
			t.Errorf("after %d failures with full jitter %s, want %s", failures, got, want/2)
		}
	}
}
