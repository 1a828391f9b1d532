//go:build linux

package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/artifactstest"
)

func TestContractWithJournal(t *testing.T) {
	artifactstest.Run(t, func(t *testing.T) artifacts.Store { return openJournaled(t, t.TempDir()) })
}

func openJournaled(t testing.TB, root string) *Store {
	t.Helper()
	s, err := New(root, Options{Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leave ends a store as the death of its process would: its locks are gone.
func leave(t *testing.T, s *Store) {
	t.Helper()
	for _, seg := range s.journal.segments {
		if seg != nil {
			if err := seg.file.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// reboot makes the journals in root those of an earlier start of the machine.
func reboot(t *testing.T, root string) {
	t.Helper()
	for _, name := range files(t, filepath.Join(root, "journal")) {
		f, err := os.OpenFile(filepath.Join(root, "journal", name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, bootIDLen), int64(headerLen-bootIDLen)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func putSome(t *testing.T, s *Store, n int) (blobs []artifacts.Blob) {
	t.Helper()
	for i := range n {
		blobs = append(blobs, put(t, s, fmt.Appendf(nil, "blob %d %s", i, bytes.Repeat([]byte("x"), i*17%3000))))
	}
	return blobs
}

// What a file system may make of files that were never synced.
func TestJournalRestoresWhatAPowerCutTook(t *testing.T) {
	root := t.TempDir()
	s := openJournaled(t, root)
	blobs := putSome(t, s, 60)
	for i, blob := range blobs {
		var err error
		switch path := s.blobPath(blob.SHA256); i % 3 {
		case 0:
			err = os.Remove(path)
		case 1:
			err = os.Truncate(path, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	leave(t, s)
	reboot(t, root)

	s = openStore(t, root) // one without a journal of its own does it as well
	for i, blob := range blobs {
		if _, err := readAll(t, s, blob); err != nil {
			t.Errorf("blob %d: %v", i, err)
		}
	}
	if left := files(t, s.journalDir()); len(left) != 0 {
		t.Errorf("journals are left: %v", left)
	}
}

func TestJournalIsKeptWhileItsProcessLives(t *testing.T) {
	root := t.TempDir()
	s := openJournaled(t, root)
	putSome(t, s, 3)
	openStore(t, root)
	if left := files(t, s.journalDir()); len(left) != 1 {
		t.Errorf("journals %v, want that of the living store", left)
	}
}

// A killed process takes nothing with it, so nothing is written again: a blob
// that was deleted since stays deleted.
func TestJournalOfAKilledProcessRestoresNothing(t *testing.T) {
	root := t.TempDir()
	s := openJournaled(t, root)
	blobs := putSome(t, s, 3)
	if err := s.Delete(t.Context(), blobs[1].SHA256); err != nil {
		t.Fatal(err)
	}
	leave(t, s)

	s = openJournaled(t, root)
	for i, blob := range blobs {
		if _, err := s.Stat(t.Context(), blob.SHA256); errors.Is(err, artifacts.ErrNotFound) != (i == 1) {
			t.Errorf("blob %d: %v", i, err)
		}
	}
	if left := files(t, s.journalDir()); len(left) != 0 {
		t.Errorf("journals are left: %v", left)
	}
}

// The last record may be cut anywhere: then nobody was answered for it.
func TestJournalEndsAtTheFirstBrokenRecord(t *testing.T) {
	for _, cut := range []int64{1, recordHeadLen - 1, recordHeadLen, recordHeadLen + 5} {
		root := t.TempDir()
		s := openJournaled(t, root)
		whole, torn := put(t, s, []byte("whole")), put(t, s, []byte("cut off"))
		seg := s.journal.segments[0]
		if err := seg.file.Truncate(seg.end - int64(recordHeadLen) - torn.SizeBytes + cut); err != nil {
			t.Fatal(err)
		}
		for _, blob := range []artifacts.Blob{whole, torn} {
			if err := os.Remove(s.blobPath(blob.SHA256)); err != nil {
				t.Fatal(err)
			}
		}
		leave(t, s)
		reboot(t, root)

		s = openStore(t, root)
		if _, err := readAll(t, s, whole); err != nil {
			t.Errorf("cut at %d: the record before: %v", cut, err)
		}
		if _, err := s.Stat(t.Context(), torn.SHA256); !errors.Is(err, artifacts.ErrNotFound) {
			t.Errorf("cut at %d: the broken record: %v, want ErrNotFound", cut, err)
		}
	}
}

// Records of a segment's earlier life are no longer its content.
func TestSegmentsAreRetiredAndWrittenAgain(t *testing.T) {
	root := t.TempDir()
	s := openJournaled(t, root)
	s.journal.limit = 20_000
	blobs := putSome(t, s, 60) // some 90 kB
	if s.journal.segments[1] == nil {
		t.Fatal("no segment was retired: this test has tested nothing")
	}
	for _, seg := range s.journal.segments {
		if seg.clean != nil {
			<-seg.clean
		}
	}
	if s.journal.segments[0].generation < 2 {
		t.Fatal("no segment was written again: this test has tested nothing")
	}
	for _, blob := range blobs { // retired ones are durable in their own place, which this is not
		if err := os.Remove(s.blobPath(blob.SHA256)); err != nil {
			t.Fatal(err)
		}
	}
	leave(t, s)
	reboot(t, root)
	s = openStore(t, root)
	var restored int
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		restored++
	}
	if restored == 0 || restored > 40 {
		t.Errorf("%d blobs restored, want those of the last segment", restored)
	}
}

func TestBlobsAreInTheJournalBeforeTheyAreVisible(t *testing.T) {
	s := openJournaled(t, t.TempDir())
	put(t, s, []byte("the journal is there"))
	data := []byte("data")
	s.datasync = func(*os.File) error {
		if _, err := os.Stat(s.blobPath(digest(data))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("before the sync of the journal: %v, want ErrNotExist", err)
		}
		return nil
	}
	put(t, s, data)
	if got := s.Stats(); got.JournalSyncs != 2 || got.FileSyncs != 0 {
		t.Errorf("stats %+v, want two syncs of the journal and none of files", got)
	}
}

// A disk that refuses the journal may still take the file.
func TestWithoutJournalBlobsAreSyncedThemselves(t *testing.T) {
	s := openJournaled(t, t.TempDir())
	s.datasync = func(*os.File) error { return errors.New("input/output error") }
	blob := put(t, s, []byte("data"))
	if _, err := readAll(t, s, blob); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.FileSyncs != 1 || got.DirSyncs != 1 {
		t.Errorf("stats %+v, want a file and its folder synced", got)
	}
}

func TestBlobsThatArriveTogetherShareASync(t *testing.T) {
	s := openJournaled(t, t.TempDir())
	put(t, s, []byte("the journal is there"))
	const n = 50
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s.datasync = func(*os.File) error { <-gate; return nil }
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				data := fmt.Appendf(nil, "blob %d", i)
				if _, err := artifacts.Put(context.Background(), s, bytes.NewReader(data), artifacts.PutOptions{}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		gate <- struct{}{} // the first, alone
		gate <- struct{}{} // all others
		wg.Wait()
	})
	if got := s.Stats(); got.JournalSyncs != 3 || got.Blobs != n+1 {
		t.Errorf("stats %+v, want %d blobs in 3 syncs", got, n+1)
	}
}
