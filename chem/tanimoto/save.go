package tanimoto

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// Save writes the index as a file that Load reads. It writes in pieces of up to a
// few megabytes; give it no bufio.Writer. Equal fingerprints in equal order and an
// equal origin give equal bytes.
func (x *Index) Save(w io.Writer, o Origin) error {
	s := &saver{Index: x, w: w}
	header, err := s.header(o)
	if err != nil {
		return err
	}
	s.write(header)
	for i, t := range x.tiles {
		s.write(s.tile(s.buffer[:0], t, x.rows[i*tileSize:min(len(x.rows), (i+1)*tileSize)]))
	}
	for rows := range slices.Chunk(x.tail, tailChunk*x.words) {
		s.write(appendWords(s.buffer[:0], rows))
	}
	if s.err != nil {
		return fmt.Errorf("save index: %w", s.err)
	}
	return nil
}

// saver writes parts, each followed by the checksum, until an error.
type saver struct {
	*Index
	w      io.Writer
	buffer []byte // of the part before
	crc    uint32
	err    error
}

func (s *saver) write(part []byte) {
	if s.err != nil {
		return
	}
	s.crc = crc32.Update(s.crc, castagnoli, part)
	part = le.AppendUint32(part, s.crc)
	s.buffer = part
	_, s.err = s.w.Write(part)
}

func (s *saver) header(o Origin) ([]byte, error) {
	b := []byte(magic)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, uint32(s.bits))
	b = le.AppendUint64(b, uint64(len(s.rows)))
	b = le.AppendUint64(b, uint64(len(s.tail)/s.words))
	for _, text := range []string{o.Type, o.Engine} {
		if err := checkString(text); err != nil {
			return nil, err
		}
		b = append(le.AppendUint16(b, uint16(len(text))), text...)
	}
	for n := range s.bits + 1 {
		b = le.AppendUint32(b, uint32(s.start[n+1]-s.start[n]))
	}
	return b, nil
}

func (s *saver) tile(b []byte, t tile, rows []uint32) []byte {
	b, err := binary.Append(b, le, rows)
	if err != nil {
		panic(err) // only of types without a size
	}
	words := t.stride - paddingWord
	sizes := make([]int, s.bits)
	for c := range sizes {
		sizes[c] = ones(t.bits[c*t.stride:][:words])
		b = le.AppendUint16(b, uint16(sizes[c]))
	}
	for c, size := range sizes {
		column := t.bits[c*t.stride:][:words]
		if bitmap(size, words) {
			b = appendWords(b, column)
			continue
		}
		forBits(column, func(position int) { b = le.AppendUint16(b, uint16(position)) })
	}
	return b
}

func appendWords(b []byte, words []uint64) []byte {
	for _, w := range words {
		b = le.AppendUint64(b, w)
	}
	return b
}
