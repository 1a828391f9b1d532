//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	header = "chembl_id\tcanonical_smiles\tremarks\n"
	// rowLen is the length of every row, so that any place in the table can be
	// computed. The third column, which no search reads, fills it up.
	rowLen = 128
)

// table is a molecule table that is nowhere: it is computed as it is read.
type table struct {
	size, at int64
	row      []byte
	number   int64 // of row, from 0
}

// newTable returns a table of whole rows, of about size bytes.
func newTable(size int64) *table {
	return &table{size: int64(len(header)) + max(size/rowLen, 1)*rowLen, number: -1}
}

// Seek implements io.Seeker.
func (t *table) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += t.at
	case io.SeekEnd:
		offset += t.size
	}
	if offset < 0 {
		return 0, errors.New("position before the start")
	}
	t.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (t *table) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && t.at < t.size {
		k := copy(p[n:], t.rest())
		n, t.at = n+k, t.at+int64(k)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// rest is what follows in the present line.
func (t *table) rest() []byte {
	if t.at < int64(len(header)) {
		return []byte(header[t.at:])
	}
	at := t.at - int64(len(header))
	if number := at / rowLen; number != t.number {
		t.number, t.row = number, row(t.row[:0], number)
	}
	return t.row[at%rowLen:]
}

var substituents = []string{"F", "Cl", "Br", "O", "N", "OC", "C#N", "C(F)(F)F", "C(=O)O", "S(=O)(=O)N"}

// row appends the row of that number: a chain of its own on a substituted ring.
func row(buf []byte, n int64) []byte {
	chain := strings.Repeat("C", int(1+n/100%20))
	buf = fmt.Appendf(buf, "CHEMBL%012d\t%sc1ccc(%s)c(%s)c1\t", n, chain, substituents[n%10], substituents[n/10%10])
	for len(buf) < rowLen-1 {
		buf = append(buf, '.')
	}
	return append(buf, '\n')
}
