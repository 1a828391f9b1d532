package artifactstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"scimesh.dev/scimesh/artifacts"
)

func testRoundTrip(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		mustPut(t, s, data)
		mustHold(t, s, data)
		info, err := s.Stat(t.Context(), blobOf(data).SHA256)
		if err != nil || info.Blob != blobOf(data) {
			t.Errorf("stat = %v, %v; want %v", info, err, blobOf(data))
		}
	})
}

func testPieces(t *testing.T, s artifacts.Store) {
	for _, piece := range []int{1000, 4096, 70_000, 200_000} {
		data := randomBytes(uint64(piece), 300_001)
		w := create(t, s)
		for rest := data; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			write(t, w, rest[:min(piece, len(rest))])
		}
		blob, err := w.Commit(t.Context())
		if err != nil || blob != blobOf(data) {
			t.Fatalf("commit = %v, %v; want %v", blob, err, blobOf(data))
		}
		mustHold(t, s, data)
	}
}

func testInvisibleBeforeCommit(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		w := create(t, s)
		write(t, w, data)
		if _, err := s.Stat(t.Context(), blobOf(data).SHA256); !errors.Is(err, artifacts.ErrNotFound) {
			t.Errorf("stat before commit: %v, want ErrNotFound", err)
		}
		if all := list(t, s); len(all) != 0 {
			t.Errorf("list before commit: %v, want nothing", all)
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
	})
}

func testAbort(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		w := create(t, s)
		write(t, w, data)
		for range 2 {
			if err := w.Abort(); err != nil {
				t.Errorf("abort: %v", err)
			}
		}
		mustBeEmpty(t, s)
	})
}

func testBrokenSource(t *testing.T, s artifacts.Store) {
	broken := errors.New("connection reset")
	eachSize(t, func(t *testing.T, data []byte) {
		r := io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken))
		if _, err := artifacts.Put(t.Context(), s, r, artifacts.PutOptions{}); !errors.Is(err, broken) {
			t.Errorf("put: %v, want the reader's error", err)
		}
		mustBeEmpty(t, s)
	})
}

func testCancelled(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := io.MultiReader(bytes.NewReader(data), readFunc(func([]byte) (int, error) {
			cancel()
			return 0, nil
		}))
		if _, err := artifacts.Put(ctx, s, r, artifacts.PutOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("put: %v, want context.Canceled", err)
		}
		w := create(t, s)
		write(t, w, data)
		if _, err := w.Commit(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("commit: %v, want context.Canceled", err)
		}
		mustBeEmpty(t, s)
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func testFinishedWriter(t *testing.T, s artifacts.Store) {
	committed := create(t, s)
	write(t, committed, []byte("kept"))
	if _, err := committed.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	aborted := create(t, s)
	write(t, aborted, []byte("dropped"))
	if err := aborted.Abort(); err != nil {
		t.Fatal(err)
	}
	for _, w := range []artifacts.Writer{committed, aborted} {
		if _, err := w.Write([]byte("more")); err == nil {
			t.Error("write to a finished writer succeeded")
		}
		if _, err := w.Commit(t.Context()); err == nil {
			t.Error("second commit succeeded")
		}
		if err := w.Abort(); err != nil {
			t.Errorf("abort of a finished writer: %v", err)
		}
	}
	mustHold(t, s, []byte("kept"))
}

func testExpectedDigest(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		wrong := artifacts.PutOptions{ExpectedSHA256: blobOf([]byte("other")).SHA256}
		if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), wrong); !errors.Is(err, artifacts.ErrDigestMismatch) {
			t.Errorf("put: %v, want ErrDigestMismatch", err)
		}
		mustBeEmpty(t, s)
	})
	data := randomBytes(2, 100_000)
	right := artifacts.PutOptions{ExpectedSHA256: blobOf(data).SHA256}
	if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), right); err != nil {
		t.Errorf("put of the bytes announced: %v", err)
	}
	malformed := artifacts.PutOptions{ExpectedSHA256: strings.ToUpper(right.ExpectedSHA256)}
	if _, err := s.Create(t.Context(), malformed); !errors.Is(err, artifacts.ErrInvalidDigest) {
		t.Errorf("create: %v, want ErrInvalidDigest", err)
	}
}

func testMaxBytes(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return // 0 means no limit
		}
		opts := artifacts.PutOptions{MaxBytes: int64(len(data)) - 1}
		if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), opts); !errors.Is(err, artifacts.ErrTooLarge) {
			t.Errorf("put: %v, want ErrTooLarge", err)
		}
		mustBeEmpty(t, s)
	})
	eachSize(t, func(t *testing.T, data []byte) {
		opts := artifacts.PutOptions{MaxBytes: max(1, int64(len(data)))}
		if _, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), opts); err != nil {
			t.Errorf("put at the limit: %v", err)
		}
		mustHold(t, s, data)
	})
}

func testDeduplication(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		mustPut(t, s, data)
		mustPut(t, s, data)
		mustHold(t, s, data)
	})
	if got := len(list(t, s)); got != len(sizes) {
		t.Errorf("%d blobs, want %d", got, len(sizes))
	}
}
