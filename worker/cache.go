package worker

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cacheDir is the folder of the cache in a work dir, unless another is configured.
const cacheDir = "cache"

// minCached is the size from which a file is worth a place in the cache.
const minCached = 16 << 10

// cache keeps files that tasks have read or made, by their SHA-256, for tasks to
// come: the blocks of a graph, for one, are read by many tasks. It is a folder of
// files that several processes may share. A file appears under its name by a hard
// link, so it is whole or not there; it is hashed again whenever it is taken out; and
// it goes when the others need the room, the one least recently used first. A nil
// cache keeps nothing.
type cache struct {
	dir   string
	limit int64 // bytes
}

// openCache makes the folder, or returns nil where nothing is to be kept or no
// folder can be made: a worker works without.
func openCache(dir string, limit int64) *cache {
	if limit <= 0 || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	return &cache{dir: dir, limit: limit}
}

func (c *cache) path(sha256 string) string { return filepath.Join(c.dir, sha256) }

// take puts a file of that digest at path, and reports whether there was one. One
// that was damaged meanwhile is removed.
func (c *cache) take(sha256, path string) bool {
	if c == nil || len(sha256) != 64 {
		return false
	}
	if err := os.Link(c.path(sha256), path); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(sha256), now, now) // then it counts as older than it is
	if sum, _, err := hashFile(path); err == nil && sum == sha256 {
		return true
	}
	_ = os.Remove(c.path(sha256))
	_ = os.Remove(path)
	return false
}

// put keeps the verified file at path, which nobody changes any more.
func (c *cache) put(sha256, path string) {
	if c == nil {
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < minCached || info.Size() > c.limit {
		return
	}
	if os.Link(path, c.path(sha256)) != nil {
		return // it is there, or lies on another file system
	}
	now := time.Now()
	_ = os.Chtimes(c.path(sha256), now, now)
	c.shrink()
}

// shrink removes the files least recently used until the others are within the
// limit. Another process may do the same at the same time.
func (c *cache) shrink() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if total <= c.limit {
			return
		}
		if err := os.Remove(filepath.Join(c.dir, f.Name())); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= f.Size()
		}
	}
}
