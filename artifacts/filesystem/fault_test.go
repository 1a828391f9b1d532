package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// The sizes of a blob that stays in memory until Commit, and of one that does not.
var bothPaths = []int{3000, 300_000}

func TestStepsOfACommitAreDurableInOrder(t *testing.T) {
	for _, n := range bothPaths {
		s := makeStore(t)
		data := make([]byte, n)
		path := s.blobPath(digest(data))
		var steps []string
		s.fsync = func(f *os.File) error {
			_, err := os.Stat(path)
			steps = append(steps, fmt.Sprintf("sync %s, visible: %t", filepath.Base(filepath.Dir(f.Name())), err == nil))
			return f.Sync()
		}
		put(t, s, data)
		want := "[sync staging, visible: false sync sha256, visible: true]"
		if got := fmt.Sprint(steps); got != want {
			t.Errorf("%d bytes: steps %s, want %s", n, got, want)
		}
	}
}

func TestFailedSyncOfTheFileLeavesNothing(t *testing.T) {
	for _, n := range bothPaths {
		s := makeStore(t)
		broken := errors.New("input/output error")
		s.fsync = func(*os.File) error { return broken }
		_, err := artifacts.Put(t.Context(), s, bytes.NewReader(make([]byte, n)), artifacts.PutOptions{})
		if !errors.Is(err, broken) {
			t.Errorf("put: %v, want the error of fsync", err)
		}
		if left := append(files(t, s.stagingDir()), files(t, filepath.Join(s.root, "sha256"))...); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestFailedSyncOfTheFolderFailsTheCommit(t *testing.T) {
	for _, n := range bothPaths {
		s := makeStore(t)
		broken := errors.New("input/output error")
		s.fsync = func(f *os.File) error {
			if info, err := f.Stat(); err != nil || info.IsDir() {
				return broken
			}
			return f.Sync()
		}
		_, err := artifacts.Put(t.Context(), s, bytes.NewReader(make([]byte, n)), artifacts.PutOptions{})
		if !errors.Is(err, broken) {
			t.Errorf("put: %v, want the error of fsync", err)
		}
		if left := files(t, s.stagingDir()); len(left) != 0 {
			t.Errorf("left in staging: %v", left)
		}
	}
}

// samePrefix returns n different blobs that live in one folder.
func samePrefix(n int) [][]byte {
	var all [][]byte
	for i := 0; len(all) < n; i++ {
		if data := fmt.Appendf(nil, "blob %d", i); strings.HasPrefix(digest(data), "00") {
			all = append(all, data)
		}
	}
	return all
}

// While one fsync of a folder runs, all who come later wait for one more, and
// are answered only after that.
func TestCommitsShareTheSyncOfTheirFolder(t *testing.T) {
	s := makeStore(t)
	blobs := samePrefix(10)
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s.fsync = func(f *os.File) error {
			if info, err := f.Stat(); err != nil || info.IsDir() {
				<-gate
			}
			return nil
		}
		answers := make(chan error, len(blobs))
		for _, data := range blobs {
			go func() {
				_, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{})
				answers <- err
			}()
			synctest.Wait()
		}
		wantAnswers := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := len(answers); got != want {
				t.Errorf("%d answered after %d syncs, want %d", got, s.Stats().DirSyncs, want)
			}
		}
		wantAnswers(0)
		gate <- struct{}{}
		wantAnswers(1)
		gate <- struct{}{}
		wantAnswers(len(blobs))
		for range blobs {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
	if got := s.Stats(); got.DirSyncs != 2 || got.FileSyncs != 10 || got.Blobs != 10 {
		t.Errorf("stats %+v, want 10 blobs with 10 files and 2 folders synced", got)
	}
}

// A caller whose context ends while another syncs for it goes away alone.
func TestCancelledCommitDoesNotDisturbTheRound(t *testing.T) {
	s := makeStore(t)
	blobs := samePrefix(3)
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s.fsync = func(f *os.File) error {
			if info, err := f.Stat(); err != nil || info.IsDir() {
				<-gate
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		errs := make([]error, len(blobs))
		var wg sync.WaitGroup
		for i, data := range blobs {
			wg.Go(func() { // 0 runs, 1 leads the next round, 2 joins it
				_, errs[i] = artifacts.Put(ctx, s, bytes.NewReader(data), artifacts.PutOptions{})
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		close(gate)
		wg.Wait()
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], context.Canceled) {
			t.Errorf("errors %v, want only the one who joined to be cancelled", errs)
		}
	})
}

func TestSweepTakesOnlyFilesOfDeadWriters(t *testing.T) {
	s := makeStore(t)
	alive, err := s.Create(t.Context(), artifacts.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alive.Write(make([]byte, 300_000)); err != nil {
		t.Fatal(err)
	}
	dead := s.newStagingPath()
	if err := os.WriteFile(dead, []byte("left by a killed process"), 0o600); err != nil {
		t.Fatal(err)
	}

	if n, err := s.SweepStaging(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("sweep of what is older than an hour = %d, %v; want 0", n, err)
	}
	if n, err := s.SweepStaging(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("sweep = %d, %v; want the one dead file", n, err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead file: %v, want it gone", err)
	}
	if _, err := alive.Commit(t.Context()); err != nil {
		t.Errorf("commit of the writer that lives: %v", err)
	}
}

func TestErrorsNameNoPaths(t *testing.T) {
	s := makeStore(t)
	absent := strings.Repeat("0", 64)
	var errs []error
	_, err := s.Open(t.Context(), absent)
	errs = append(errs, err)
	_, err = s.Stat(t.Context(), absent)
	errs = append(errs, err)

	w, err := s.Create(t.Context(), artifacts.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.stagingDir()); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(make([]byte, 300_000))
	errs = append(errs, err)
	_, err = s.SweepStaging(t.Context(), time.Now())
	errs = append(errs, err)
	_, err = artifacts.Put(t.Context(), s, strings.NewReader("small"), artifacts.PutOptions{})
	errs = append(errs, err)
	if err := os.RemoveAll(filepath.Join(s.root, "sha256")); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.List(t.Context()) {
		errs = append(errs, err)
	}
	for i, err := range errs {
		if err == nil {
			t.Errorf("operation %d succeeded", i)
		} else if strings.Contains(err.Error(), s.root) {
			t.Errorf("an error names the folder: %v", err)
		}
	}
}
