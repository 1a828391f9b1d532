// Package artifactstest is the contract of artifacts.Store as tests, for every
// implementation.
package artifactstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// Run tests the stores that newStore makes. Each must be empty and is the
// test's own.
func Run(t *testing.T, newStore func(t *testing.T) artifacts.Store) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, artifacts.Store)
	}{
		{"a blob of any size comes back whole", testRoundTrip},
		{"a blob written piece by piece comes back whole", testPieces},
		{"nothing is visible before Commit", testInvisibleBeforeCommit},
		{"an aborted write leaves nothing", testAbort},
		{"a write that breaks off leaves nothing", testBrokenSource},
		{"a write whose context ends leaves nothing", testCancelled},
		{"a finished writer refuses more", testFinishedWriter},
		{"the digest announced is checked", testExpectedDigest},
		{"the size limit is kept to the byte", testMaxBytes},
		{"equal bytes are one blob", testDeduplication},
		{"what is not there is not found", testNotFound},
		{"malformed digests are refused everywhere", testInvalidDigest},
		{"a range is served over HTTP", testHTTPRange},
		{"a verified reading accepts good bytes", testVerified},
		{"a verified reading refuses another size", testVerifiedSize},
		{"Delete removes one blob", testDelete},
		{"DeleteIfOlder keeps what is young", testDeleteIfOlder},
		{"a blob put again is young again", testPutRefreshes},
		{"DeleteIfOlder never takes a blob that was just put again", testDeleteRace},
		{"List yields every blob once in order", testList},
		{"List can be left early", testListBreak},
		{"a cancelled context ends every method", testContext},
		{"SweepStaging leaves a running write alone", testSweepRunning},
		{"many writers of the same bytes all succeed", testConcurrentEqual},
		{"many writers of different bytes all succeed", testConcurrentDistinct},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, newStore(t)) })
	}
}

// sizes lie around every place where an implementation may change its ways.
var sizes = []int{0, 1, 4095, 4096, 4097, 16 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128 << 10, 1<<20 + 7}

// randomBytes returns n bytes that depend on seed and n alone.
func randomBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8), 2: byte(n), 3: byte(n >> 8), 4: byte(n >> 16)}).Read(b) //nolint:errcheck // never fails
	return b
}

func blobOf(data []byte) artifacts.Blob {
	sum := sha256.Sum256(data)
	return artifacts.Blob{SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(data))}
}

func mustPut(t *testing.T, s artifacts.Store, data []byte) artifacts.Blob {
	t.Helper()
	got, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{})
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(data), err)
	}
	if want := blobOf(data); got != want {
		t.Fatalf("put %d bytes = %v, want %v", len(data), got, want)
	}
	return got
}

func mustHold(t *testing.T, s artifacts.Store, data []byte) {
	t.Helper()
	got, err := read(t, s, blobOf(data))
	if err != nil {
		t.Fatalf("read %d bytes back: %v", len(data), err)
	}
	if !bytes.Equal(got, data) {
		t.Fatalf("read %d bytes back: other bytes", len(data))
	}
}

func read(t *testing.T, s artifacts.Store, blob artifacts.Blob) ([]byte, error) {
	t.Helper()
	r, err := artifacts.OpenVerified(t.Context(), s, blob)
	if err != nil {
		return nil, err
	}
	defer r.Close() // read only
	return io.ReadAll(r)
}

// list returns all blobs and fails on any error.
func list(t *testing.T, s artifacts.Store) []artifacts.Info {
	t.Helper()
	var all []artifacts.Info
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		all = append(all, info)
	}
	return all
}

// mustBeEmpty checks that nothing is visible and that nothing was left behind.
func mustBeEmpty(t *testing.T, s artifacts.Store) {
	t.Helper()
	if all := list(t, s); len(all) != 0 {
		t.Errorf("the store holds %v, want nothing", all)
	}
	n, err := s.SweepStaging(t.Context(), time.Now().Add(time.Hour))
	if err != nil || n != 0 {
		t.Errorf("SweepStaging = %d, %v; want nothing left to sweep", n, err)
	}
}

func write(t *testing.T, w artifacts.Writer, p []byte) {
	t.Helper()
	if n, err := w.Write(p); n != len(p) || err != nil {
		t.Fatalf("write %d bytes = %d, %v", len(p), n, err)
	}
}

func create(t *testing.T, s artifacts.Store) artifacts.Writer {
	t.Helper()
	w, err := s.Create(t.Context(), artifacts.PutOptions{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { w.Abort() }) //nolint:errcheck // for tests that stop early
	return w
}

// eachSize runs test for every size.
func eachSize(t *testing.T, test func(t *testing.T, data []byte)) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) { test(t, randomBytes(1, n)) })
	}
}
