package v1

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhy(t *testing.T) {
	at := time.Date(2026, 7, 23, 12, 0, 0, 0, time.UTC)
	all := WhyWorkers{Registered: 4, Capable: 4, Online: 4, SameEngine: 4, Healthy: 4, Idle: 4}
	running := func(edit func(*WhySnapshot)) WhySnapshot {
		s := WhySnapshot{Job: *makeJob(nil), Ready: 10, Workers: all}
		s.Job.Status = JobStatus{Phase: JobRunning, Engine: "go/1", Tasks: TaskCounts{Total: 12, Pending: 10, Leased: 1, Running: 1}}
		edit(&s)
		return s
	}
	workers := func(edit func(*WhyWorkers)) WhySnapshot { return running(func(s *WhySnapshot) { edit(&s.Workers) }) }
	phase := func(p JobPhase) WhySnapshot {
		return running(func(s *WhySnapshot) { s.Job.Status.Phase = p })
	}
	tests := map[string]struct {
		snapshot WhySnapshot
		want     []WhyReason
	}{
		"it runs":             {running(func(*WhySnapshot) {}), nil},
		"all tasks are taken": {running(func(s *WhySnapshot) { s.Ready, s.Workers = 0, WhyWorkers{} }), nil},
		"damaged": {running(func(s *WhySnapshot) {
			s.Job.Status.Conditions = []Condition{{Type: JobConditionDamaged, Status: ConditionTrue}}
		}), []WhyReason{WhyDamaged}},
		"deleted":                {running(func(s *WhySnapshot) { s.Job.Metadata.DeletionTimestamp = NewTimePtr(at) }), []WhyReason{WhyDeleting}},
		"completed":              {phase(JobCompleted), []WhyReason{WhyEnded}},
		"failed":                 {phase(JobFailed), []WhyReason{WhyEnded}},
		"cancelled":              {phase(JobCancelled), []WhyReason{WhyEnded}},
		"cancelling":             {running(func(s *WhySnapshot) { s.Job.Status.CancelRequested = true }), []WhyReason{WhyCancelling}},
		"created":                {phase(JobCreated), []WhyReason{WhyWaitingForPlanner}},
		"planning":               {phase(JobPlanning), []WhyReason{WhyPlanning}},
		"reducing":               {phase(JobReducing), []WhyReason{WhyReducing}},
		"suspended":              {running(func(s *WhySnapshot) { s.Job.Spec.Suspend = true }), []WhyReason{WhySuspended}},
		"suspended, no worker":   {running(func(s *WhySnapshot) { s.Job.Spec.Suspend, s.Workers = true, WhyWorkers{} }), []WhyReason{WhySuspended, WhyNoWorker}},
		"no worker":              {workers(func(w *WhyWorkers) { *w = WhyWorkers{} }), []WhyReason{WhyNoWorker}},
		"no capable worker":      {workers(func(w *WhyWorkers) { *w = WhyWorkers{Registered: 2} }), []WhyReason{WhyNoCapableWorker}},
		"workers offline":        {workers(func(w *WhyWorkers) { *w = WhyWorkers{Registered: 2, Capable: 2} }), []WhyReason{WhyWorkersOffline}},
		"another engine":         {workers(func(w *WhyWorkers) { *w = WhyWorkers{Registered: 2, Capable: 2, Online: 2} }), []WhyReason{WhyNoMatchingEngine}},
		"workers quarantined":    {workers(func(w *WhyWorkers) { w.Healthy, w.Idle, w.QuarantineEndsAt = 0, 0, at }), []WhyReason{WhyWorkersQuarantined}},
		"workers busy":           {workers(func(w *WhyWorkers) { w.Idle = 0 }), []WhyReason{WhyWorkersBusy}},
		"others go first":        {running(func(s *WhySnapshot) { s.Workers.Idle, s.JobsAhead = 0, 2 }), []WhyReason{WhyLowerPriority, WhyWorkersBusy}},
		"parallelism is reached": {running(func(s *WhySnapshot) { s.Job.Spec.Parallelism = 2 }), []WhyReason{WhyParallelismReached}},
		"waiting for a retry":    {running(func(s *WhySnapshot) { s.Ready, s.Waiting, s.NextRetryAt = 9, 1, at }), []WhyReason{WhyWaitingForRetry}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []WhyReason
			for _, e := range Why(tc.snapshot) {
				if e.Reason != WhyDamaged && e.Message == "" {
					t.Errorf("%s has no message", e.Reason)
				}
				got = append(got, e.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
	entry := Why(tests["waiting for a retry"].snapshot)[0]
	if entry.Until == nil || !entry.Until.Equal(at) || entry.Tasks != 1 {
		t.Errorf("the entry of a retry is %+v", entry)
	}
}

func TestWhyReasonsAreThoseOfTheContract(t *testing.T) {
	document, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(WhyReasons))
	for i, r := range WhyReasons {
		names[i] = string(r)
	}
	if enum := "enum: [" + strings.Join(names, ", ") + "]"; !strings.Contains(string(document), enum) {
		t.Errorf("openapi.yaml has no %s", enum)
	}
}
