package filesystem

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// recoverJournals does for each process that died what it had left to do: the
// small blobs that it had answered for get a durable place of their own. Where
// the machine has been up ever since, they are in place and only have to be synced.
// After a power cut each is compared with the journal, and written again where
// the file system has lost it. Journals of living processes are left alone.
func (s *Store) recoverJournals(boot string) error {
	unlock, err := s.lockJournals()
	if err != nil {
		return err
	}
	defer unlock()

	names, err := filepath.Glob(filepath.Join(s.journalDir(), "*"))
	if err != nil {
		return err
	}
	var dead []*os.File
	defer func() {
		for _, f := range dead {
			f.Close()
		}
	}()
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		free, err := tryLock(f)
		if !free || err != nil {
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			continue
		}
		dead = append(dead, f)
		if err := s.replay(f, boot); err != nil {
			return fmt.Errorf("replay journal: %w", err)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	if err := syncFilesystem(s.root); err != nil {
		return err
	}
	for _, f := range dead {
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

// replay puts the blobs of a journal in place.
func (s *Store) replay(f *os.File, boot string) error {
	header := make([]byte, headerLen)
	switch _, err := f.ReadAt(header, 0); {
	case errors.Is(err, io.EOF):
		return nil // died while it made the file
	case err != nil:
		return err
	case string(header[:len(journalMagic)]) != journalMagic:
		return nil // likewise
	case boot != "" && string(header[len(journalMagic)+8:]) == boot:
		return nil
	}
	generation := binary.LittleEndian.Uint64(header[len(journalMagic):])
	for at := int64(headerLen); ; {
		data, digest, err := readRecord(f, at, generation)
		if data == nil || err != nil {
			return err
		}
		if err := s.restore(digest, data); err != nil {
			return err
		}
		at += int64(recordHeadLen + len(data))
	}
}

// readRecord returns the record at a position. data is nil behind the last one,
// which may be one that was never whole and so never answered for.
func readRecord(f *os.File, at int64, generation uint64) (data []byte, digest string, err error) {
	head := make([]byte, recordHeadLen)
	if _, err := f.ReadAt(head, at); err != nil {
		return nil, "", ignoreEOF(err)
	}
	length := binary.LittleEndian.Uint32(head[8:])
	if binary.LittleEndian.Uint64(head) != generation || length > lastBuffer {
		return nil, "", nil
	}
	data = make([]byte, length)
	if _, err := f.ReadAt(data, at+int64(recordHeadLen)); err != nil {
		return nil, "", ignoreEOF(err)
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], head[12:]) {
		return nil, "", nil
	}
	return data, hex.EncodeToString(head[12:]), nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// restore puts a blob in place unless it is there unharmed.
func (s *Store) restore(sha256 string, data []byte) error {
	if same, err := holds(s.blobPath(sha256), data); same || err != nil {
		return err
	}
	return s.place(sha256, data)
}

// place gives bytes their name, without a sync.
func (s *Store) place(sha256 string, data []byte) error {
	st, err := s.stage()
	if err != nil {
		return err
	}
	if _, err = st.Write(data); err == nil {
		err = s.rename(st.Name(), sha256)
	}
	if err != nil {
		return errors.Join(err, st.discard())
	}
	return st.Close()
}
