package store_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestAnotherDescriptionNeedsAnotherVersion(t *testing.T) {
	s := storetest.New(t)
	spec := v1.WorkloadSpec{
		Version: "1", Description: "first", ParametersSchema: json.RawMessage(`{"type": "object"}`), Inputs: []string{"text"}, Outputs: []string{"text"},
	}
	other := spec
	other.Description = "other"
	next := other
	next.Version = "2"
	for _, step := range []struct {
		name string
		spec v1.WorkloadSpec
		want error
	}{
		{"counting", spec, nil}, {"counting", spec, nil}, {"counting", other, store.ErrConflict}, {"counting", next, nil},
		{"another", other, nil}, {"counting", spec, nil}, {"counting", next, nil},
	} {
		if err := s.PutWorkload(t.Context(), step.name, step.spec); !errors.Is(err, step.want) {
			t.Errorf("put %s version %s (%s): %v, want %v", step.name, step.spec.Version, step.spec.Description, err, step.want)
		}
	}
	list, err := s.RegisteredWorkloads(t.Context())
	if err != nil || len(list) != 2 || list[0].Metadata.Name != "another" || list[1].Metadata.Name != "counting" {
		t.Fatalf("%+v, %v", list, err)
	}
	if diff := cmp.Diff(next, list[1].Spec, cmp.Comparer(sameJSON)); diff != "" {
		t.Error(diff)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}
