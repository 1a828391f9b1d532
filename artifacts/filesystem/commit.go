package filesystem

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// commit makes the bytes of w durable and visible as the blob sha256.
func (s *Store) commit(ctx context.Context, w *writer, sha256 string) error {
	if s.journal != nil && w.staged == nil {
		if err := s.commitJournaled(ctx, w.buf, sha256); !errors.Is(err, errJournal) {
			return err
		}
	}
	if err := s.publish(ctx, w, sha256); err != nil {
		return err
	}
	return s.dirs[prefixIndex(sha256)].sync(ctx, s, s.blobDir(sha256))
}

// commitJournaled is commit for a small blob: once it is in the journal, it is
// durable, and its own file is not synced.
func (s *Store) commitJournaled(ctx context.Context, data []byte, sha256 string) error {
	found, err := s.inSlot(ctx, func() (bool, error) { return s.refresh(sha256, data) })
	if err != nil {
		return err
	}
	if found { // perhaps put by one who has not synced its name
		return s.dirs[prefixIndex(sha256)].sync(ctx, s, s.blobDir(sha256))
	}
	placed, err := s.journal.add(sha256, data)
	if err != nil {
		return err
	}
	defer placed()
	_, err = s.inSlot(ctx, func() (bool, error) { return true, s.place(sha256, data) })
	return err
}

// inSlot calls fn in one of the slots.
func (s *Store) inSlot(ctx context.Context, fn func() (bool, error)) (bool, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return fn()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// publish puts the blob under its name, in one of the slots.
func (s *Store) publish(ctx context.Context, w *writer, sha256 string) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}

	if w.staged == nil {
		if found, err := s.refresh(sha256, w.buf); found || err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	s.stats.fileSyncs.Add(1)
	if err := s.fsync(w.staged.File); err != nil {
		return err
	}
	if err := s.rename(w.staged.Name(), sha256); err != nil {
		return err
	}
	err := w.staged.Close()
	w.staged = nil
	return err
}

// refresh looks for a blob of exactly these bytes. If there is one, it is made
// as young as if it had been written now.
func (s *Store) refresh(sha256 string, data []byte) (found bool, err error) {
	path := s.blobPath(sha256)
	if same, err := holds(path, data); !same || err != nil {
		return false, err
	}
	unlock, err := s.lockPrefix(sha256, shared)
	if err != nil {
		return false, err
	}
	defer unlock()

	now := time.Now()
	err = os.Chtimes(path, now, now)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // deleted since we looked
	}
	if err == nil {
		s.stats.deduplicated.Add(1)
	}
	return err == nil, err
}

// holds reports whether a file has exactly these bytes. A file that cannot be
// read does not, and is replaced.
func holds(path string, data []byte) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // read only

	info, err := f.Stat()
	if err != nil || info.Size() != int64(len(data)) {
		return false, err
	}
	got := make([]byte, len(data))
	_, err = io.ReadFull(f, got)
	return err == nil && bytes.Equal(got, data), nil
}

// rename gives a staged file its name, with deletions of that name locked out,
// so that its age counts from now for whoever looks.
func (s *Store) rename(staged, sha256 string) error {
	unlock, err := s.lockPrefix(sha256, shared)
	if err != nil {
		return err
	}
	defer unlock()

	now := time.Now()
	if err := os.Chtimes(staged, now, now); err != nil {
		return err
	}
	return os.Rename(staged, s.blobPath(sha256))
}

func prefixIndex(sha256 string) byte {
	n, _ := strconv.ParseUint(sha256[:2], 16, 8) // the digest has been checked
	return byte(n)
}

// dirSync makes the entries of one folder durable, with one fsync at a time.
// Callers that come while one runs share the next: the first of them does it
// for all.
type dirSync struct {
	mu      sync.Mutex
	running *syncRound // the last that began
	next    *syncRound // not begun: whoever joins it is covered by it
}

type syncRound struct {
	done chan struct{}
	err  error // once done is closed
}

// sync returns when every change that was made to the folder before the call
// is durable.
func (d *dirSync) sync(ctx context.Context, s *Store, dir string) error {
	round, previous, leads := d.join()
	if !leads {
		select {
		case <-round.done:
			return round.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	// Whatever ctx says: others may depend on this round by now.
	if previous != nil {
		<-previous.done
	}
	s.slots <- struct{}{}
	defer func() { <-s.slots }()

	d.begin(round)
	s.stats.dirSyncs.Add(1)
	round.err = s.syncPath(dir)
	close(round.done)
	return round.err
}

// join returns the round to wait for; or, if the caller leads it, the one that
// must end before.
func (d *dirSync) join() (round, previous *syncRound, leads bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next != nil {
		return d.next, nil, false
	}
	d.next = &syncRound{done: make(chan struct{})}
	return d.next, d.running, true
}

// begin closes a round to newcomers, whose changes it might miss.
func (d *dirSync) begin(round *syncRound) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running, d.next = round, nil
}
