package artifactstest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

func testDelete(t *testing.T, s artifacts.Store) {
	gone, kept := randomBytes(5, 5000), randomBytes(6, 100_000)
	mustPut(t, s, gone)
	mustPut(t, s, kept)
	for range 2 { // the second time there is nothing to do
		if err := s.Delete(t.Context(), blobOf(gone).SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Stat(t.Context(), blobOf(gone).SHA256); !errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("stat after delete: %v, want ErrNotFound", err)
	}
	mustHold(t, s, kept)
	mustPut(t, s, gone)
	mustHold(t, s, gone)
}

func testDeleteIfOlder(t *testing.T, s artifacts.Store) {
	data := randomBytes(7, 5000)
	before := time.Now().Add(-time.Minute)
	sha := mustPut(t, s, data).SHA256
	if deleted, err := s.DeleteIfOlder(t.Context(), sha, before); deleted || err != nil {
		t.Errorf("of a young blob = %v, %v; want it kept", deleted, err)
	}
	mustHold(t, s, data)
	after := time.Now().Add(time.Minute)
	if deleted, err := s.DeleteIfOlder(t.Context(), sha, after); !deleted || err != nil {
		t.Errorf("of an old blob = %v, %v; want it deleted", deleted, err)
	}
	if deleted, err := s.DeleteIfOlder(t.Context(), sha, after); deleted || err != nil {
		t.Errorf("of no blob = %v, %v; want nothing deleted", deleted, err)
	}
	mustBeEmpty(t, s)
}

func testPutRefreshes(t *testing.T, s artifacts.Store) {
	for _, n := range []int{0, 3000, 300_000} {
		data := randomBytes(8, n)
		sha := mustPut(t, s, data).SHA256
		cutoff := nextTick(t, s, sha)
		mustPut(t, s, data)
		info, err := s.Stat(t.Context(), sha)
		if err != nil || info.ModTime.Before(cutoff) {
			t.Errorf("%d bytes put again at %v have time %v, %v", n, cutoff, info.ModTime, err)
		}
	}
}

// nextTick returns a time after the blob's own, as late as now.
func nextTick(t *testing.T, s artifacts.Store, sha256 string) time.Time {
	t.Helper()
	info, err := s.Stat(t.Context(), sha256)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if now := time.Now(); now.After(info.ModTime) {
			return now
		}
	}
}

// testDeleteRace lets Put and DeleteIfOlder meet. The cutoff lies between the
// first put and the second, so whichever wins, the blob must be there after both.
func testDeleteRace(t *testing.T, s artifacts.Store) {
	for _, n := range []int{100, 100_000} {
		data := randomBytes(9, n)
		for range 50 {
			sha := mustPut(t, s, data).SHA256
			cutoff := nextTick(t, s, sha)
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := s.DeleteIfOlder(t.Context(), sha, cutoff); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{}); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			mustHold(t, s, data)
		}
	}
}

func testList(t *testing.T, s artifacts.Store) {
	const n = 400 // more than one with most prefixes
	want := make([]artifacts.Blob, n)
	before := time.Now().Add(-time.Minute)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := i; j < n; j += 16 {
				data := fmt.Appendf(nil, "blob %d", j)
				want[j] = blobOf(data)
				if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(want, func(a, b artifacts.Blob) int { return strings.Compare(a.SHA256, b.SHA256) })

	all := list(t, s)
	got := make([]artifacts.Blob, len(all))
	for i, info := range all {
		got[i] = info.Blob
		if info.ModTime.Before(before) || info.ModTime.After(time.Now().Add(time.Minute)) {
			t.Errorf("blob %s has time %v, want about now", info.SHA256, info.ModTime)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("list yields %d blobs, want these %d in order", len(got), len(want))
	}
}

func testListBreak(t *testing.T, s artifacts.Store) {
	for i := range 10 {
		mustPut(t, s, fmt.Appendf(nil, "blob %d", i))
	}
	seen := 0
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("saw %d blobs before leaving, want 3", seen)
	}
}

func testSweepRunning(t *testing.T, s artifacts.Store) {
	data := randomBytes(10, 300_000)
	w := create(t, s)
	write(t, w, data)
	if n, err := s.SweepStaging(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("SweepStaging = %d, %v; want the running write left alone", n, err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, data)
}

func testConcurrentEqual(t *testing.T, s artifacts.Store) {
	for _, n := range []int{2000, 200_000} {
		data := randomBytes(11, n)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if blob, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{}); err != nil || blob != blobOf(data) {
					t.Errorf("put = %v, %v", blob, err)
				}
			})
		}
		wg.Wait()
		mustHold(t, s, data)
	}
	if n := len(list(t, s)); n != 2 {
		t.Errorf("%d blobs, want 2", n)
	}
}

func testConcurrentDistinct(t *testing.T, s artifacts.Store) {
	const writers, each = 20, 15
	data := func(i, j int) []byte { return randomBytes(uint64(100+i*each+j), 100+5000*j) }
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data(i, j)), artifacts.PutOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range writers {
		for j := range each {
			mustHold(t, s, data(i, j))
		}
	}
	if n := len(list(t, s)); n != writers*each {
		t.Errorf("%d blobs, want %d", n, writers*each)
	}
}
