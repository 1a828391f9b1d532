package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"scimesh.dev/scimesh/artifacts"
)

// blobError says which blob an operation failed on, in the terms of package
// artifacts.
func blobError(op, sha256 string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = artifacts.ErrNotFound
	}
	return fmt.Errorf("%s blob %s: %w", op, sha256, pathless(err))
}

// pathless takes the paths out of a system error, because these errors reach
// users of the API, and marks a full disk.
func pathless(err error) error {
	var (
		path *fs.PathError
		link *os.LinkError
	)
	switch {
	case errors.As(err, &path):
		err = fmt.Errorf("%s: %w", path.Op, path.Err)
	case errors.As(err, &link):
		err = fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	if isFull(err) && !errors.Is(err, artifacts.ErrNoSpace) {
		return fmt.Errorf("%w: %w", artifacts.ErrNoSpace, err)
	}
	return err
}
