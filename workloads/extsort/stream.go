package extsort

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Stream yields items in ascending order.
type Stream[T any] interface {
	// Next returns the next item, valid until the call after it, or io.EOF.
	Next() (T, error)
	Close() error
}

// Codec puts items into temporary files. Decode may return an item that refers
// to the bytes.
type Codec[T any] struct {
	Append func(dst []byte, item T) []byte
	Decode func(b []byte) (T, error)
}

const fileBuffer = 256 << 10

// run is a temporary file of sorted items: each its length and its bytes.
type run[T any] struct {
	codec Codec[T]
	f     *os.File
	w     *bufio.Writer
	r     *bufio.Reader
	item  []byte
}

func newRun[T any](dir string, codec Codec[T]) (*run[T], error) {
	f, err := os.CreateTemp(dir, "sort-*")
	if err != nil {
		return nil, fileError(err)
	}
	return &run[T]{codec: codec, f: f, w: bufio.NewWriterSize(f, fileBuffer)}, nil
}

// fileError drops the path, which means nothing to a user.
func fileError(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s temporary file: %w", p.Op, p.Err)
	}
	return err
}

func (r *run[T]) add(item T) error {
	r.item = r.codec.Append(r.item[:0], item)
	var length [binary.MaxVarintLen64]byte
	_, _ = r.w.Write(length[:binary.PutUvarint(length[:], uint64(len(r.item)))])
	_, err := r.w.Write(r.item)
	return fileError(err)
}

// rewind ends writing and begins reading.
func (r *run[T]) rewind() error {
	if err := r.w.Flush(); err != nil {
		return fileError(err)
	}
	r.w = nil
	if _, err := r.f.Seek(0, io.SeekStart); err != nil {
		return fileError(err)
	}
	r.r = bufio.NewReaderSize(r.f, fileBuffer)
	return nil
}

// Next implements Stream.
func (r *run[T]) Next() (item T, err error) {
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return item, err
	}
	if uint64(cap(r.item)) < n {
		r.item = make([]byte, n)
	}
	r.item = r.item[:n]
	if _, err := io.ReadFull(r.r, r.item); err != nil {
		return item, fileError(err)
	}
	return r.codec.Decode(r.item)
}

// Close removes the file.
func (r *run[T]) Close() error {
	return errors.Join(fileError(r.f.Close()), fileError(os.Remove(r.f.Name())))
}
