package store_test

import (
	"testing"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// A Job that admits any engine is shared by those of the model that claimed
// first, and by no other; one that does not say so keeps to one engine.
func TestEnginesOfOneModelShareAJobThatAdmitsAny(t *testing.T) {
	const model = "rdkit-model/2026.09.1"
	for name, tc := range map[string]struct {
		spec, first, second string
		wantEngine          string
		wantShared          bool
	}{
		"any, of one model":                 {v1.EngineAny, "chem/1 " + model, "rdkit/2 " + model, model, true},
		"any, of another model":             {v1.EngineAny, "chem/1 " + model, "rdkit/2 rdkit-model/2027.03.1", model, false},
		"any, the second without a model":   {v1.EngineAny, "chem/1 " + model, "chem/1", model, false},
		"any, of a model that ends alike":   {v1.EngineAny, "chem/1 " + model, "rdkit/2 x" + model, model, false},
		"any, the first without a model":    {v1.EngineAny, "chem/1", "rdkit/2 " + model, "chem/1", false},
		"any, without a model, the same":    {v1.EngineAny, "chem/1", "chem/1", "chem/1", true},
		"pinned, of one model":              {"", "chem/1 " + model, "rdkit/2 " + model, "chem/1 " + model, false},
		"pinned, the same engine":           {"", "chem/1 " + model, "chem/1 " + model, "chem/1 " + model, true},
		"pinned, an engine that ends alike": {"", "chem/1 " + model, "x chem/1 " + model, "chem/1 " + model, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			j := storetest.MakeRunningJob(t, s, "job", 3, func(p *store.CreateJobParams) { p.Spec.Engine = tc.spec })
			first := storetest.MakeWorker(t, s, "first", func(p *store.RegisterWorkerParams) { p.Engine = tc.first })
			second := storetest.MakeWorker(t, s, "second", func(p *store.RegisterWorkerParams) { p.Engine = tc.second })
			storetest.Claim(t, s, first)
			_, ok, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: second.ID, Capabilities: second.Capabilities})
			if err != nil || ok != tc.wantShared {
				t.Errorf("the second worker got a task: %v, %v; want %v", ok, err, tc.wantShared)
			}
			j, err = s.GetJobByID(t.Context(), j.ID)
			if err != nil || j.Engine != tc.wantEngine {
				t.Errorf("the job keeps to %q, %v; want %q", j.Engine, err, tc.wantEngine)
			}
			snap, err := s.Why(t.Context(), j.ID)
			if want := map[bool]int64{false: 1, true: 2}[tc.wantShared]; err != nil || snap.Workers.SameEngine != want {
				t.Errorf("%d workers of the same engine, %v; want %d", snap.Workers.SameEngine, err, want)
			}
		})
	}
}
