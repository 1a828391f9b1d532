package filesystem

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"
)

// The form of a journal file: a header, then records without gaps. A record is
// of this file's present content if it names its generation; what lies
// behind the last one is zeros, or records of an earlier generation.
const (
	journalMagic  = "scimesh-journal1"
	bootIDLen     = 36
	headerLen     = len(journalMagic) + 8 + bootIDLen // magic, generation, boot
	recordHeadLen = 8 + 4 + 32                        // generation, length, SHA-256
)

const (
	segmentSize  = 16 << 20
	segmentStep  = 1 << 20 // by which a file grows, in zeros: syncs of what is written into them move no size
	maxJournaled = 4 << 20 // bytes that share one sync
)

// errJournal is why a blob takes the way without the journal.
var errJournal = errors.New("the journal cannot be written")

// journal makes small blobs durable together: those that arrive while one sync
// runs share the next. It has two files, segments, so that one can be
// retired while the other is written.
type journal struct {
	store *Store
	boot  string
	limit int64 // of a segment; a fuller one is retired

	mu      sync.Mutex
	waiting []*entry
	running bool

	// For the goroutine of loop alone.
	buf      []byte
	segments [2]*segment
	current  int
}

// entry is a blob on its way into the journal.
type entry struct {
	digest [32]byte
	data   []byte
	done   chan struct{}
	seg    *segment // once done is closed, if err is nil
	err    error
}

// segment is a file of the journal, locked while this process lives.
type segment struct {
	file       *os.File
	generation uint64
	end        int64 // of the records
	allocated  int64
	// unplaced are blobs that are in the segment and not yet under their names.
	unplaced sync.WaitGroup
	// clean is closed when the segment, which was retired, can be written again.
	clean chan struct{}
	err   error // of the retirement, once clean is closed
}

// add returns once the blob is durable in the journal. The caller must call
// placed after the blob has got its name, or has failed to. Errors are errJournal.
//
// It does not end early with a context: it lasts two syncs at most, and others
// share them.
func (j *journal) add(sha256 string, data []byte) (placed func(), err error) {
	e := &entry{data: data, done: make(chan struct{})}
	if _, err := hex.Decode(e.digest[:], []byte(sha256)); err != nil {
		return nil, err
	}
	j.mu.Lock()
	j.waiting = append(j.waiting, e)
	if !j.running {
		j.running = true
		go j.loop()
	}
	j.mu.Unlock()

	<-e.done
	if e.err != nil {
		return nil, fmt.Errorf("%w: %w", errJournal, e.err)
	}
	return e.seg.unplaced.Done, nil
}

// loop writes what waits, until nothing does.
func (j *journal) loop() {
	for {
		batch := j.take()
		if batch == nil {
			return
		}
		seg, err := j.write(batch)
		for _, e := range batch {
			if err == nil {
				seg.unplaced.Add(1)
			}
			e.seg, e.err = seg, err
			close(e.done)
		}
	}
}

// take returns the entries for the next sync; nil ends the loop.
func (j *journal) take() []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, size := 0, 0
	for n < len(j.waiting) && (n == 0 || size+len(j.waiting[n].data) <= maxJournaled) {
		size += recordHeadLen + len(j.waiting[n].data)
		n++
	}
	batch := j.waiting[:n:n]
	j.waiting = j.waiting[n:]
	if n == 0 {
		j.running, j.waiting, batch = false, nil, nil
	}
	return batch
}

// write makes entries durable.
func (j *journal) write(batch []*entry) (*segment, error) {
	size := 0
	for _, e := range batch {
		size += recordHeadLen + len(e.data)
	}
	seg, err := j.segmentFor(int64(size))
	if err != nil {
		return nil, err
	}
	j.buf = j.buf[:0]
	for _, e := range batch {
		j.buf = binary.LittleEndian.AppendUint64(j.buf, seg.generation)
		j.buf = binary.LittleEndian.AppendUint32(j.buf, uint32(len(e.data)))
		j.buf = append(append(j.buf, e.digest[:]...), e.data...)
	}
	if err := j.grow(seg, seg.end+int64(size)); err != nil {
		return nil, err
	}
	if _, err := seg.file.WriteAt(j.buf, seg.end); err != nil {
		return nil, err
	}
	j.store.stats.journalSyncs.Add(1)
	if err := j.store.datasync(seg.file); err != nil {
		return nil, err
	}
	seg.end += int64(size)
	return seg, nil
}

// segmentFor returns the segment that takes size bytes next.
func (j *journal) segmentFor(size int64) (*segment, error) {
	seg := j.segments[j.current]
	if seg != nil && seg.end+size > j.limit {
		j.retire(seg)
		j.current = 1 - j.current
		seg = j.segments[j.current]
	}
	if seg == nil {
		var err error
		seg, err = j.create()
		j.segments[j.current] = seg
		return seg, err
	}
	if seg.clean != nil {
		<-seg.clean
		if seg.err != nil {
			return nil, seg.err
		}
		seg.clean = nil
	}
	return seg, nil
}

// retire makes everything that the segment holds durable in its own place, and
// then the segment empty, while the other one is written.
func (j *journal) retire(seg *segment) {
	seg.clean = make(chan struct{})
	go func() {
		defer close(seg.clean)
		seg.unplaced.Wait()
		if seg.err = syncFilesystem(j.store.root); seg.err == nil {
			seg.generation++
			seg.end = int64(headerLen)
			seg.err = j.writeHeader(seg)
		}
	}()
}

func (j *journal) writeHeader(seg *segment) error {
	header := binary.LittleEndian.AppendUint64([]byte(journalMagic), seg.generation)
	if _, err := seg.file.WriteAt(append(header, j.boot...), 0); err != nil {
		return err
	}
	return j.store.datasync(seg.file)
}

// create makes a segment. No other process takes it for that of a dead one,
// because it is locked before the journals' own lock is given up.
func (j *journal) create() (*segment, error) {
	unlock, err := j.store.lockJournals()
	if err != nil {
		return nil, err
	}
	defer unlock()

	f, err := os.OpenFile(filepath.Join(j.store.journalDir(), uuid.NewString()), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	seg := &segment{file: f, generation: 1, end: int64(headerLen)}
	err = errors.Join(f.Chmod(fileMode), lock(f, exclusive))
	if err == nil {
		err = j.grow(seg, seg.end)
	}
	if err == nil {
		err = j.writeHeader(seg)
	}
	if err == nil {
		err = j.store.syncPath(j.store.journalDir())
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return seg, nil
}

// grow makes room up to end.
func (j *journal) grow(seg *segment, end int64) error {
	if end <= seg.allocated {
		return nil
	}
	want := (end + segmentStep - 1) / segmentStep * segmentStep
	if _, err := seg.file.WriteAt(make([]byte, want-seg.allocated), seg.allocated); err != nil {
		return err
	}
	if err := j.store.fsync(seg.file); err != nil {
		return err
	}
	seg.allocated = want
	return nil
}

func (s *Store) journalDir() string { return filepath.Join(s.root, "journal") }

// lockJournals keeps every other process from making or removing journals.
func (s *Store) lockJournals() (unlock func(), err error) {
	return s.lockName("journal", exclusive)
}
