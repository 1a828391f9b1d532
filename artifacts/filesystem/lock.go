package filesystem

import "os"

// lockPrefix locks the names of all blobs that share the first two digits with
// sha256, against every goroutine and process, until unlock is called.
func (s *Store) lockPrefix(sha256 string, mode lockMode) (unlock func(), err error) {
	f, err := os.OpenFile(s.lockPath(sha256), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lock(f, mode); err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	return func() { f.Close() }, nil // nothing was written
}
