package server

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/workloads/golden"
)

// engineOf registers a worker and tells the engine that the coordinator takes it for.
func (h *harness) engineOf(engine string, answers map[string]string) (uuid.UUID, string, error) {
	h.t.Helper()
	r, err := h.worker.RegisterWorker(h.t.Context(), wire.RegisterRequest{
		Name: "w", Capabilities: []string{"similarity-search"}, CPUCount: 1, MemoryMB: 1, Engine: engine, Golden: answers,
	})
	if err != nil {
		return uuid.Nil, "", err
	}
	w, err := h.store.GetWorker(h.t.Context(), r.WorkerID)
	if err != nil {
		h.t.Fatal(err)
	}
	return r.WorkerID, w.Engine, nil
}

func TestEnginesProveWhatTheyClaim(t *testing.T) {
	h := newHarness(t)
	model := golden.Model()
	for name, tc := range map[string]struct {
		engine  string
		answers map[string]string
		want    string
	}{
		"a proof":                           {"chem/1 " + model, golden.Answers(), "chem/1 " + model},
		"no proof":                          {"chem/1 " + model, nil, "chem/1 unproven-model/" + strings.TrimPrefix(model, "rdkit-model/")},
		"a claim that is not known here":    {"chem/1 rdkit-model/1.0", golden.Answers(), "chem/1 unproven-model/1.0"},
		"no claim, and answers of any sort": {"chem/1", map[string]string{"C": "x"}, "chem/1"},
		"no engine, as of old":              {"", nil, ""},
	} {
		if _, got, err := h.engineOf(tc.engine, tc.answers); err != nil || got != tc.want {
			t.Errorf("%s: engine %q, %v; want %q", name, got, err, tc.want)
		}
	}
}

func TestWrongAnswersAreRefused(t *testing.T) {
	h := newHarness(t)
	const molecule = "CC(=O)Oc1ccccc1C(=O)O"
	for name, change := range map[string]func(map[string]string){
		"another bit": func(a map[string]string) { a[molecule] = strings.Repeat("0", 64) },
		"none":        func(a map[string]string) { delete(a, molecule) },
	} {
		answers := maps.Clone(golden.Answers())
		change(answers)
		_, _, err := h.engineOf("chem/1 "+golden.Model(), answers)
		answer, ok := errors.AsType[*client.Error](err)
		if !ok || !errors.Is(err, client.ErrInvalid) || len(answer.Details) != 1 || answer.Details[0].Field != "golden["+molecule+"]" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := h.engineOf("chem/1 "+golden.Model(), map[string]string{"C": "x"})
	if answer, ok := errors.AsType[*client.Error](err); !ok || len(answer.Details) != 5 {
		t.Errorf("other answers: %v", err)
	}
	if workers, err := h.operator.ListWorkers(t.Context(), wire.ListWorkersParams{}); err != nil || len(workers.Items) > 0 {
		t.Errorf("%d workers registered, %v", len(workers.Items), err)
	}
}

// A worker without a proof gets no task of a Job that a proven engine computes, and
// the results name the engine.
func TestUnprovenEnginesDoNotMix(t *testing.T) {
	h := newHarness(t)
	engine := "chem/1 " + golden.Model()
	proven, _, err := h.engineOf(engine, golden.Answers())
	if err != nil {
		t.Fatal(err)
	}
	unproven, _, err := h.engineOf(engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := h.job("mixed")
	h.plan(j, "one", "two")
	_, lease := h.claim(proven)
	task, err := h.worker.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: unproven, Capabilities: []string{"similarity-search"}})
	if err != nil || task != nil {
		t.Errorf("the unproven worker got %+v, %v", task, err)
	}
	upload, err := h.uploadResult(lease, "result")
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.operator.GetArtifact(t.Context(), upload.ArtifactID)
	if err != nil || got.Spec.Engine != engine {
		t.Errorf("the result is of %q, %v", got.Spec.Engine, err)
	}
	if j, err := h.operator.GetJob(t.Context(), "mixed"); err != nil || j.Status.Engine != engine {
		t.Errorf("the job is of %q, %v", j.Status.Engine, err)
	}
	h.claim(proven) // the second task was there
}
