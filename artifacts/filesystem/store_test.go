package filesystem

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/artifactstest"
)

func TestContract(t *testing.T) {
	artifactstest.Run(t, func(t *testing.T) artifacts.Store { return makeStore(t) })
}

func makeStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, t.TempDir())
}

func openStore(t testing.TB, root string) *Store {
	t.Helper()
	s, err := New(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s *Store, data []byte) artifacts.Blob {
	t.Helper()
	blob, err := artifacts.Put(t.Context(), s, bytes.NewReader(data), artifacts.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func readAll(t testing.TB, s *Store, blob artifacts.Blob) ([]byte, error) {
	t.Helper()
	r, err := artifacts.OpenVerified(t.Context(), s, blob)
	if err != nil {
		return nil, err
	}
	defer r.Close() // read only
	return io.ReadAll(r)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// files returns the regular files below dir, relative to it.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestLayoutAndModes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "store")
	s := openStore(t, root)
	small := put(t, s, []byte("small"))
	large := put(t, s, make([]byte, 200_000))

	for _, blob := range []artifacts.Blob{small, large} {
		path := filepath.Join(root, "sha256", blob.SHA256[:2], blob.SHA256)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() != blob.SizeBytes {
			t.Errorf("blob of %d bytes: %v, %v", blob.SizeBytes, info, err)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder %s: %v, %v; want mode 0700", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left := files(t, filepath.Join(root, "staging")); len(left) != 0 {
		t.Errorf("staging holds %v", left)
	}
	if got, err := readAll(t, openStore(t, root), small); err != nil || string(got) != "small" {
		t.Errorf("a second store on the folder reads %q, %v", got, err)
	}
}

func TestNewRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noStaging := t.TempDir()
	if err := os.WriteFile(filepath.Join(noStaging, "staging"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"no folder":                "",
		"a file":                   file,
		"a path below a file":      filepath.Join(file, "store"),
		"a staging that is a file": noStaging,
	}
	if os.Geteuid() != 0 { // root may write everywhere
		cases["a folder that is read only"] = t.TempDir()
		if err := os.Chmod(cases["a folder that is read only"], 0o500); err != nil {
			t.Fatal(err)
		}
	}
	for name, root := range cases {
		if _, err := New(root, Options{}); err == nil {
			t.Errorf("New accepts %s", name)
		}
	}
}

func TestForeignFilesAreNotListed(t *testing.T) {
	s := makeStore(t)
	want := put(t, s, []byte("ours"))
	for _, name := range []string{"sha256/ab/README", "sha256/ab/" + strings.Repeat("c", 64), "sha256/" + strings.Repeat("a", 64)} {
		if err := os.WriteFile(filepath.Join(s.root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []artifacts.Blob
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Blob)
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("list = %v, want only %v", got, want)
	}
}

func TestDamagedBlobIsNoticedAndRepaired(t *testing.T) {
	for _, n := range []int{5000, 300_000} {
		for name, damage := range map[string]func([]byte) []byte{
			"a bit flipped": func(b []byte) []byte { b[n/2] ^= 1; return b },
			"cut short":     func(b []byte) []byte { return b[:n-1] },
			"emptied":       func([]byte) []byte { return nil },
			"grown":         func(b []byte) []byte { return append(b, 'x') },
		} {
			t.Run(fmt.Sprintf("%d bytes %s", n, name), func(t *testing.T) {
				s := makeStore(t)
				data := bytes.Repeat([]byte{7}, n)
				blob := put(t, s, data)
				if err := os.WriteFile(s.blobPath(blob.SHA256), damage(bytes.Clone(data)), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := readAll(t, s, blob); !errors.Is(err, artifacts.ErrCorrupt) {
					t.Errorf("read: %v, want ErrCorrupt", err)
				}
				put(t, s, data)
				if _, err := readAll(t, s, blob); err != nil {
					t.Errorf("read after another put: %v", err)
				}
			})
		}
	}
}

// A blob that changes size while it is read is noticed at the end.
func TestBlobDamagedWhileReadIsNoticed(t *testing.T) {
	for name, size := range map[string]int64{"cut": 100_000, "grown": 300_001} {
		s := makeStore(t)
		blob := put(t, s, make([]byte, 300_000))
		r, err := artifacts.OpenVerified(t.Context(), s, blob)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close() // read only
		if err := os.Truncate(s.blobPath(blob.SHA256), size); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, artifacts.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

func TestOpenReaderOutlivesDelete(t *testing.T) {
	s := makeStore(t)
	data := bytes.Repeat([]byte("x"), 300_000)
	blob := put(t, s, data)
	r, err := artifacts.OpenVerified(t.Context(), s, blob)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() // read only
	if err := s.Delete(t.Context(), blob.SHA256); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

// Two stores on one folder share no memory, as two processes would: only the
// locks in the file system keep a fresh blob from the other's janitor.
func TestDeleteRaceBetweenStores(t *testing.T) {
	root := t.TempDir()
	a, b := openStore(t, root), openStore(t, root)
	for i := range 60 {
		data := make([]byte, 10+i%2*100_000)
		sha := put(t, a, data).SHA256
		cutoff := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.DeleteIfOlder(t.Context(), sha, cutoff); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := artifacts.Put(t.Context(), a, bytes.NewReader(data), artifacts.PutOptions{}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if _, err := b.Stat(t.Context(), sha); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

func FuzzKeyStaysInside(f *testing.F) {
	s := makeStore(f)
	put(f, s, []byte("bystander"))
	for _, key := range artifactstest.InvalidDigests {
		f.Add(key)
	}
	f.Add(digest([]byte("absent")))
	f.Fuzz(func(t *testing.T, key string) {
		_, err := s.Open(t.Context(), key)
		switch {
		case err == nil:
			if key != digest([]byte("bystander")) {
				t.Errorf("opened %q", key)
			}
		case !errors.Is(err, artifacts.ErrInvalidDigest) && !errors.Is(err, artifacts.ErrNotFound):
			t.Errorf("open %q: %v", key, err)
		}
	})
}
