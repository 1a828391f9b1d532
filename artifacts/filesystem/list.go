package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"scimesh.dev/scimesh/artifacts"
)

// List implements artifacts.Store. It holds the names of one prefix at a time.
func (s *Store) List(ctx context.Context) iter.Seq2[artifacts.Info, error] {
	return func(yield func(artifacts.Info, error) bool) {
		for i := range s.dirs {
			prefix := fmt.Sprintf("%02x", i)
			entries, err := os.ReadDir(s.blobDir(prefix))
			if err != nil {
				yield(artifacts.Info{}, fmt.Errorf("list blobs %s…: %w", prefix, pathless(err)))
				return
			}
			if !listPrefix(ctx, prefix, entries, yield) {
				return
			}
		}
	}
}

// listPrefix reports whether the listing goes on.
func listPrefix(ctx context.Context, prefix string, entries []os.DirEntry, yield func(artifacts.Info, error) bool) bool {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			yield(artifacts.Info{}, err)
			return false
		}
		name := e.Name()
		if artifacts.CheckDigest(name) != nil || name[:2] != prefix || !e.Type().IsRegular() {
			continue // not ours
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			yield(artifacts.Info{}, blobError("list", name, err))
			return false
		}
		if !yield(makeInfo(name, info), nil) {
			return false
		}
	}
	return true
}
