package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// file writes a file of a size and returns its digest and path.
func file(t *testing.T, name string, size int) (sum, path string) {
	t.Helper()
	content := strings.Repeat(name, size/len(name)+1)[:size]
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(content))
	return hex.EncodeToString(digest[:]), path
}

func (c *cache) holds(t *testing.T, sum string) bool {
	t.Helper()
	return c.take(sum, filepath.Join(t.TempDir(), "out"))
}

func TestTheCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := openCache(filepath.Join(t.TempDir(), "cache"), 3*minCached)
	var sums []string
	for i := range 3 {
		sum, path := file(t, fmt.Sprintf("file%d", i), minCached)
		c.put(sum, path)
		c.put(sum, path)
		sums = append(sums, sum)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.path(sum), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if !c.holds(t, sums[0]) { // which makes it the newest
		t.Fatal("what was put is not there")
	}
	sum, path := file(t, "another", minCached)
	c.put(sum, path)
	for want, sums := range map[bool][]string{true: {sums[0], sums[2], sum}, false: {sums[1], strings.Repeat("0", 64), "../x"}} {
		for _, sum := range sums {
			if got := c.holds(t, sum); got != want {
				t.Errorf("holds %.8s: %v, want %v", sum, got, want)
			}
		}
	}
	small, smallPath := file(t, "small", minCached-1)
	large, largePath := file(t, "large", 3*minCached+1)
	c.put(small, smallPath)
	c.put(large, largePath)
	if c.holds(t, small) || c.holds(t, large) {
		t.Error("a file too small or too large is kept")
	}
}

func TestADamagedFileOfTheCacheIsNotUsed(t *testing.T) {
	c := openCache(filepath.Join(t.TempDir(), "cache"), 1<<20)
	sum, path := file(t, "good", minCached)
	c.put(sum, path)
	if err := os.WriteFile(c.path(sum), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if c.take(sum, out) {
		t.Error("a damaged file is taken")
	}
	for _, p := range []string{out, c.path(sum)} {
		if _, err := os.Stat(p); !os.IsNotExist(err) {
			t.Errorf("the damaged file is left: %v", err)
		}
	}
}

func TestNoCacheKeepsNothing(t *testing.T) {
	sum, path := file(t, "x", minCached)
	blocked := filepath.Join(path, "cache") // beneath a file
	for _, c := range []*cache{nil, openCache(t.TempDir(), 0), openCache(blocked, 1<<20)} {
		c.put(sum, path)
		if c.holds(t, sum) {
			t.Error("kept")
		}
	}
}

func TestSeveralProcessesMayShareACache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var sums, paths []string
	for i := range 12 {
		sum, path := file(t, fmt.Sprintf("shared%d", i), minCached)
		sums, paths = append(sums, sum), append(paths, path)
	}
	outs := t.TempDir()
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			c := openCache(dir, 5*minCached)
			for round := range 50 {
				i := (round*7 + p) % len(sums)
				c.put(sums[i], paths[i])
				out := filepath.Join(outs, fmt.Sprintf("%d-%d", p, round))
				if c.take(sums[i], out) {
					if sum, _, err := hashFile(out); err != nil || sum != sums[i] {
						t.Errorf("took %s, %v, want %s", sum, err, sums[i])
					}
				}
			}
			c.shrink()
		})
	}
	all.Wait()
	if n := sizeOf(dir); n > 5*minCached {
		t.Errorf("the cache has %d bytes, more than its limit", n)
	}
}

func TestAnInputThatTwoTasksReadIsFetchedOnce(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.CacheLimit = 1 << 20
		input := strings.Repeat("molecule ", 10_000)
		first, second := b.fake.add(input), b.fake.add(input)
		fetched := 0
		b.fake.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/input") {
				fetched++
			}
			return false
		})
		b.runTasks(2)
		b.wantCompleted(first, strings.ToUpper(input))
		b.wantCompleted(second, strings.ToUpper(input))
		if fetched != 1 {
			t.Errorf("fetched %d times, want once", fetched)
		}
		b.wantNoFolders()
	})
}
