package store

import "testing"

// RefreshDispatch has the list of claimable jobs read again.
func RefreshDispatch(t testing.TB, s *Store) {
	t.Helper()
	s.dispatch.poke()
	if err := s.refreshDispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
}
