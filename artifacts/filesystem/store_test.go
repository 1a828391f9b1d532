package filesystem

import (
	"testing"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/artifactstest"
)

func makeStore(t testing.TB) *Store {
	t.Helper()
	s, err := New(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	artifactstest.Run(t, func(t *testing.T) artifacts.Store { return makeStore(t) })
}
