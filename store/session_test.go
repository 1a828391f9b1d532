package store_test

import (
	"errors"
	"testing"
	"time"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

func TestSessionsEnd(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := storetest.New(t, func(c *store.Config) { c.Now = func() time.Time { return now } })
	a, b, c := [32]byte{1}, [32]byte{2}, [32]byte{3}
	alive := func(digest [32]byte) bool {
		expires, err := s.FindSession(t.Context(), digest)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil && expires.After(now)
	}
	for _, digest := range [][32]byte{a, b, c} {
		if alive(digest) {
			t.Errorf("session %x is alive before it was created", digest[0])
		}
		if err := s.CreateSession(t.Context(), digest, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteSession(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if alive(a) || !alive(b) || !alive(c) {
		t.Errorf("after one was ended: %t %t %t, want the others alive", alive(a), alive(b), alive(c))
	}
	now = now.Add(time.Hour)
	if alive(b) {
		t.Error("a session outlives its time")
	}
	if err := s.CreateSession(t.Context(), a, time.Hour); err != nil {
		t.Fatal(err)
	}
	if n, err := s.DeleteSessions(t.Context()); n != 1 || err != nil || alive(a) {
		t.Errorf("end all: %d, %v, want the one that had not expired", n, err)
	}
}
