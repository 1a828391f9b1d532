package inrow_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/artifactstest"
	"scimesh.dev/scimesh/artifacts/filesystem"
	"scimesh.dev/scimesh/artifacts/inrow"
)

// rows are bodies by digest.
type rows map[string][]byte

var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (r rows) ArtifactBody(_ context.Context, sha256 string) ([]byte, time.Time, bool, error) {
	body, ok := r[sha256]
	return body, written, ok, nil
}

var errAway = errors.New("the database is away")

type away struct{}

func (away) ArtifactBody(context.Context, string) ([]byte, time.Time, bool, error) {
	return nil, time.Time{}, false, errAway
}

func makeStore(t *testing.T, r inrow.Rows) inrow.Store {
	files, err := filesystem.New(t.TempDir(), filesystem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return inrow.Store{Store: files, Rows: r}
}

func TestContract(t *testing.T) {
	artifactstest.Run(t, func(t *testing.T) artifacts.Store { return makeStore(t, rows{}) })
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestBlobsInRowsAreReadLikeFiles(t *testing.T) {
	body, empty := []byte("a small result"), []byte{}
	s := makeStore(t, rows{digest(body): body, digest(empty): empty})
	for _, want := range [][]byte{body, empty} {
		info, err := s.Stat(t.Context(), digest(want))
		if err != nil || info.SizeBytes != int64(len(want)) || info.SHA256 != digest(want) || !info.ModTime.Equal(written) {
			t.Errorf("Stat of %q = %+v, %v", want, info, err)
		}
		r, err := artifacts.OpenVerified(t.Context(), s, artifacts.Blob{SHA256: digest(want), SizeBytes: int64(len(want))})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	for info, err := range s.List(t.Context()) {
		t.Errorf("listed %+v, %v; what is in rows is not the blob store's", info, err)
	}
}

func TestABodyThatIsNotThatOfItsDigestIsCorrupt(t *testing.T) {
	want := []byte("a small result")
	s := makeStore(t, rows{digest(want): []byte("a small resulT")})
	r, err := artifacts.OpenVerified(t.Context(), s, artifacts.Blob{SHA256: digest(want), SizeBytes: int64(len(want))})
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, artifacts.ErrCorrupt) {
		t.Errorf("error is %v, want ErrCorrupt", err)
	}
}

func TestADatabaseThatIsAwayIsNotAMissingBlob(t *testing.T) {
	s := makeStore(t, away{})
	if _, err := s.Open(t.Context(), digest(nil)); !errors.Is(err, errAway) || errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Stat(t.Context(), digest(nil)); !errors.Is(err, errAway) || errors.Is(err, artifacts.ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
}
