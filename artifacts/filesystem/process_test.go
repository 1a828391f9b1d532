//go:build unix

package filesystem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// childEnv makes the test binary be one of the children below.
const childEnv = "ARTIFACTS_TEST_CHILD"

func TestMain(m *testing.M) {
	children := map[string]func(root string) error{
		"put until killed": putUntilKilled,
		"put past a limit": putPastLimit,
		"put 256 MiB":      putMuch,
	}
	name, root, isChild := strings.Cut(os.Getenv(childEnv), "@")
	if !isChild {
		os.Exit(m.Run())
	}
	if err := children[name](root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, name, root string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name+"@"+root)
	cmd.Stderr = os.Stderr
	return cmd
}

// putUntilKilled puts blobs of all sizes from several goroutines, some equal,
// and prints each one that was acknowledged.
func putUntilKilled(root string) error {
	s, err := New(root, Options{})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		wg.Go(func() {
			for {
				data := bytes.Repeat([]byte{byte(rand.N(256))}, rand.N(200_000))
				blob, err := artifacts.Put(context.Background(), s, bytes.NewReader(data), artifacts.PutOptions{})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(blob.SHA256, blob.SizeBytes)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

func TestKilledAtAnyMoment(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, root)
	rounds, acknowledged, left := 12, 0, 0
	for range rounds {
		for _, blob := range runAndKill(t, root) {
			acknowledged++
			if _, err := readAll(t, s, blob); err != nil {
				t.Errorf("acknowledged blob: %v", err)
			}
		}
		left = len(files(t, s.stagingDir()))
	}
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, s, info.Blob); err != nil {
			t.Errorf("visible blob: %v", err)
		}
	}
	if n, err := s.SweepStaging(t.Context(), time.Now().Add(time.Minute)); n != left || err != nil {
		t.Errorf("sweep = %d, %v; want the %d files left by killed writers", n, err, left)
	}
	if rest := files(t, s.stagingDir()); len(rest) != 0 {
		t.Errorf("staging still holds %v", rest)
	}
	t.Logf("%d kills, %d blobs acknowledged, %d staging files left behind and swept", rounds, acknowledged, left)
	if acknowledged == 0 || left == 0 {
		t.Error("the kills hit nothing: this test has tested nothing")
	}
}

// runAndKill lets a child put, kills it with SIGKILL some time after its first
// acknowledgement, and returns everything it acknowledged.
func runAndKill(t *testing.T, root string) []artifacts.Blob {
	t.Helper()
	cmd := child(t, "put until killed", root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var blobs []artifacts.Blob
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var blob artifacts.Blob
		if n, _ := fmt.Sscan(lines.Text(), &blob.SHA256, &blob.SizeBytes); n == 2 && len(blob.SHA256) == artifacts.DigestLen {
			blobs = append(blobs, blob)
		}
		if len(blobs) == 1 {
			time.AfterFunc(rand.N(100*time.Millisecond), func() { cmd.Process.Kill() }) //nolint:errcheck // Wait tells
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child ended by itself: %v", err)
	}
	return blobs
}

// putPastLimit writes more than the process may, as to a full disk.
func putPastLimit(root string) error {
	s, err := New(root, Options{})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return fillUp(s, 2<<20)
}

// fillUp puts a blob that does not fit, checks how that is refused, and that
// the store still takes one that fits.
func fillUp(s *Store, size int64) error {
	r := io.LimitReader(zeros{}, size)
	_, err := artifacts.Put(context.Background(), s, r, artifacts.PutOptions{})
	if !errors.Is(err, artifacts.ErrNoSpace) {
		return fmt.Errorf("put of %d bytes: %w, want ErrNoSpace", size, err)
	}
	if strings.Contains(err.Error(), s.root) {
		return fmt.Errorf("error names the folder: %w", err)
	}
	_, err = artifacts.Put(context.Background(), s, strings.NewReader("fits"), artifacts.PutOptions{})
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFileSizeLimit(t *testing.T) {
	root := t.TempDir()
	if err := child(t, "put past a limit", root).Run(); err != nil {
		t.Fatal(err)
	}
	if left := files(t, filepath.Join(root, "staging")); len(left) != 0 {
		t.Errorf("left in staging: %v", left)
	}
	if got := files(t, filepath.Join(root, "sha256")); len(got) != 1 {
		t.Errorf("blobs %v, want only the one that fits", got)
	}
}

// putMuch streams 256 MiB through Put and through a Writer and prints the peak
// of resident memory before and after, in KiB.
func putMuch(root string) error {
	s, err := New(root, Options{})
	if err != nil {
		return err
	}
	if _, err := artifacts.Put(context.Background(), s, strings.NewReader("warm up"), artifacts.PutOptions{}); err != nil {
		return err
	}
	before, err := peakRSS()
	if err != nil {
		return err
	}
	const size = 128 << 20
	if _, err := artifacts.Put(context.Background(), s, io.LimitReader(zeros{}, size), artifacts.PutOptions{}); err != nil {
		return err
	}
	w, err := s.Create(context.Background(), artifacts.PutOptions{})
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for range size / len(block) {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	if _, err := w.Commit(context.Background()); err != nil {
		return err
	}
	after, err := peakRSS()
	fmt.Println(before, after)
	return err
}

// peakRSS returns the peak of this process's resident memory in KiB.
func peakRSS() (int64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) / 1024, nil //nolint:unconvert // 32 bits on some systems; there it is in bytes
	}
	return int64(usage.Maxrss), nil //nolint:unconvert // 32 bits on some systems
}

func TestMemoryIsBounded(t *testing.T) {
	out, err := child(t, "put 256 MiB", t.TempDir()).Output()
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	b, err1 := strconv.ParseInt(before, 10, 64)
	a, err2 := strconv.ParseInt(after, 10, 64)
	if err := errors.Join(err1, err2); !ok || err != nil {
		t.Fatalf("child printed %q: %v", out, err)
	}
	t.Logf("peak RSS %d KiB before, %d KiB after 256 MiB", b, a)
	if a-b > 16<<10 {
		t.Errorf("256 MiB took %d KiB of memory, want at most 16 MiB", a-b)
	}
}
