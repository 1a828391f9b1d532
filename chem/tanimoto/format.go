package tanimoto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The file of an index. Numbers are little-endian and without padding; equal
// indexes make equal files.
//
//	header
//	  magic      8 bytes, "SMTANIDX"
//	  version    u32, 1
//	  bits       u32, of a fingerprint
//	  indexed    u64, fingerprints in tiles
//	  appended   u64, fingerprints after them
//	  type       u16 and so many bytes of UTF-8
//	  engine     u16 and so many bytes of UTF-8
//	  histogram  u32 × (bits+1), indexed fingerprints with 0, 1, … bits on
//	  checksum
//	each tile of 32,768 positions, the last one shorter
//	  rows       u32 for each position
//	  sizes      u16 for each column, the positions that have it on
//	  columns    one after the other: positions in the tile, u16 each and ascending;
//	             or, where that is no longer, u64 words of a bit for each position,
//	             filled up to whole blocks of 512
//	  checksum
//	each 4096 appended fingerprints, the last ones fewer
//	  words      u64 × bits/64 for each fingerprint
//	  checksum
//
// A checksum is the CRC-32C of all bytes before it but those of checksums, so
// that parts cannot change places either. Real molecules take about 90 bytes each.
const (
	magic   = "SMTANIDX"
	version = 1

	headerSize   = len(magic) + 4 + 4 + 8 + 8 // what comes before the strings
	checksumSize = 4
	maxString    = 1024
	tailChunk    = 4096
)

// ErrFormat marks errors of files that are no index, are damaged, or are of a
// version that is not known here.
var ErrFormat = errors.New("not a valid index")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// Origin says what fingerprints are and what made them. Fingerprints may be
// compared if their origins are equal.
type Origin struct {
	// Type names the kind of fingerprint and its parameters, "Morgan radius=2
	// bits=2048" for example.
	Type string
	// Engine names the program that made them, and its version.
	Engine string
}

// Header is what a file of an index begins with.
type Header struct {
	Origin
	Bits int // of a fingerprint
	Len  int // fingerprints, with those appended
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// bitmap says whether a column of so many on bits is written as words.
func bitmap(size, words int) bool { return 2*size >= 8*words }

// columnBytes is the length of a column in the file.
func columnBytes(size, words int) int { return min(2*size, 8*words) }

// tilesAtOnce are allocated together: about 64 MB, so that what a damaged header
// announces takes little more memory than what then follows.
func tilesAtOnce(bits int) int { return 1 + (64<<20)/(8*tileWords*bits) }
