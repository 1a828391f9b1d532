package similaritygraph

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/extsort"
	"scimesh.dev/scimesh/workloads/table"
)

// edge is an edge of the graph; source and target number the molecules of the input.
type edge struct {
	sourceID, targetID []byte
	source, target     int64
	tanimoto.Score
}

// compareEdges orders edges as the result does.
func compareEdges(a, b edge) int {
	return cmp.Or(bytes.Compare(a.sourceID, b.sourceID), bytes.Compare(a.targetID, b.targetID))
}

// similarity is the quotient as a double with six decimals, as RDKit and Python print it.
func (e edge) similarity(dst []byte) []byte { return strconv.AppendFloat(dst, e.Float64(), 'f', 6, 64) }

// edgeCodec puts edges into temporary files.
var edgeCodec = extsort.Codec[edge]{
	Append: func(dst []byte, e edge) []byte {
		dst = binary.AppendUvarint(dst, uint64(len(e.sourceID)))
		for _, n := range []int64{e.source, e.target, int64(e.Common), int64(e.Union)} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		return append(append(dst, e.sourceID...), e.targetID...)
	},
	Decode: func(b []byte) (e edge, err error) {
		var n [5]uint64
		for i := range n {
			v, size := binary.Uvarint(b)
			if size <= 0 {
				return e, errors.New("temporary file of edges is damaged")
			}
			n[i], b = v, b[size:]
		}
		if n[0] > uint64(len(b)) {
			return e, errors.New("temporary file of edges is damaged")
		}
		e.sourceID, e.targetID = b[:n[0]], b[n[0]:]
		e.source, e.target, e.Common, e.Union = int64(n[1]), int64(n[2]), int32(n[3]), int32(n[4])
		return e, nil
	},
}

// Kinds of records in the result of a pair of blocks, and names of its counts.
const (
	kindEdge   = "edge"
	kindCount  = "count"
	kindEnd    = "end"
	countPairs = "pairs"
	countEdges = "edges"
)

var edgeHeader = []string{"record", "source", "target", "source_id", "target_id", "common", "union"}

// edgeWriter writes the result of a pair of blocks.
type edgeWriter struct {
	out   *bufio.Writer
	line  []byte
	edges int64
}

func newEdgeWriter(out *bufio.Writer) *edgeWriter {
	w := &edgeWriter{out: out}
	w.record(edgeHeader...)
	return w
}

func (w *edgeWriter) record(fields ...string) {
	w.line = csvfile.AppendRecord(w.line[:0], fields...)
	_, _ = w.out.Write(w.line) // the next write, or Flush, returns the error
}

func (w *edgeWriter) edge(e edge) error {
	w.edges++
	b := append(w.line[:0], kindEdge...)
	b = strconv.AppendInt(append(b, ','), e.source, 10)
	b = strconv.AppendInt(append(b, ','), e.target, 10)
	b = appendText(append(b, ','), e.sourceID)
	b = appendText(append(b, ','), e.targetID)
	b = strconv.AppendInt(append(b, ','), int64(e.Common), 10)
	b = strconv.AppendInt(append(b, ','), int64(e.Union), 10)
	w.line = append(b, '\r', '\n')
	_, err := w.out.Write(w.line)
	return err
}

// appendText appends a field of a CSV record.
func appendText(dst, text []byte) []byte {
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") {
		return append(dst, text...)
	}
	record := csvfile.AppendRecord(nil, string(text), "")
	return append(dst, record[:len(record)-len(",\r\n")]...)
}

func (w *edgeWriter) end(pairs int64) error {
	w.record(kindCount, strconv.FormatInt(pairs, 10), "", countPairs, "", "", "")
	w.record(kindCount, strconv.FormatInt(w.edges, 10), "", countEdges, "", "", "")
	w.record(kindEnd, "", "", "", "", "", "")
	return w.out.Flush()
}

// maxRecordBytes bounds the text of a record: two ids and the small fields.
const maxRecordBytes = 2*table.DefaultMaxLineBytes + 1024

// edgeReader reads the result of a pair of blocks and checks it: every edge lies
// in the blocks with its source first, satisfies the criterion and comes after
// the one before it, and the counts are right.
type edgeReader struct {
	csv       *csvfile.Reader
	criterion criterion
	pair      pair
	left      int64 // molecules of the left block
	right     int64

	edges    int64
	sourceID []byte // of the edge before
	targetID []byte
}

func (r *edgeReader) fields() ([][]byte, error) {
	f, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err == nil && len(f) != len(edgeHeader) {
		err = fmt.Errorf("record of %d fields, want %d", len(f), len(edgeHeader))
	}
	return f, err
}

// header reads the names of the columns.
func (r *edgeReader) header() error {
	f, err := r.fields()
	if err != nil {
		return err
	}
	for i, name := range edgeHeader {
		if string(f[i]) != name {
			return fmt.Errorf("column %d is %.40q, want %s", i+1, f[i], name)
		}
	}
	return nil
}

// Next returns the next edge, or io.EOF once the end was reached and everything
// is in order.
func (r *edgeReader) Next() (edge, error) {
	f, err := r.fields()
	if err != nil {
		return edge{}, err
	}
	if string(f[0]) != kindEdge {
		if err := r.end(f); err != nil {
			return edge{}, err
		}
		return edge{}, io.EOF
	}
	e := edge{sourceID: f[3], targetID: f[4]}
	var numbers [4]int64
	for i, at := range []int{1, 2, 5, 6} {
		if numbers[i], err = parseNumber(f[at]); err != nil {
			return edge{}, fmt.Errorf("edge %d is malformed", r.edges+1)
		}
	}
	e.source, e.target = numbers[0], numbers[1]
	if numbers[2] > numbers[3] || numbers[3] > blocks.Bits {
		return edge{}, fmt.Errorf("edge %d has impossible counts", r.edges+1)
	}
	e.Common, e.Union = int32(numbers[2]), int32(numbers[3])
	if err := r.check(e); err != nil {
		return edge{}, fmt.Errorf("edge %d %w", r.edges+1, err)
	}
	r.edges++
	r.sourceID, r.targetID = append(r.sourceID[:0], e.sourceID...), append(r.targetID[:0], e.targetID...)
	return e, nil
}

func (r *edgeReader) check(e edge) error {
	switch {
	case !utf8.Valid(e.sourceID) || !utf8.Valid(e.targetID) || len(e.sourceID) == 0 || len(e.targetID) == 0:
		return errors.New("has unusable ids")
	case e.source < r.pair.LeftFirst || e.source >= r.pair.LeftFirst+r.left,
		e.target < r.pair.RightFirst || e.target >= r.pair.RightFirst+r.right:
		return errors.New("is not of these blocks")
	case e.source >= e.target:
		return errors.New("has its target first")
	case !r.criterion.accepts(e.Score):
		return errors.New("does not satisfy the threshold")
	case r.edges > 0 && compareEdges(edge{sourceID: r.sourceID, targetID: r.targetID}, e) >= 0:
		return errors.New("is out of order")
	}
	return nil
}

// pairs is how many pairs the task has to compare.
func (r *edgeReader) pairs() int64 {
	if r.pair.Left == r.pair.Right {
		return pairsOf(r.left, false)
	}
	return r.left * r.right
}

// end reads the counts, of which f is the first, and the end.
func (r *edgeReader) end(f [][]byte) error {
	for _, want := range []struct {
		name string
		n    int64
	}{{countPairs, r.pairs()}, {countEdges, r.edges}} {
		n, err := parseNumber(f[1])
		if string(f[0]) != kindCount || string(f[3]) != want.name || err != nil || n != want.n {
			return fmt.Errorf("the count of %s is not %d", want.name, want.n)
		}
		if f, err = r.fields(); err != nil {
			return err
		}
	}
	for i, text := range f {
		if i == 0 && string(text) != kindEnd || i > 0 && len(text) > 0 {
			return errors.New("the end is malformed")
		}
	}
	if _, err := r.csv.Read(); !errors.Is(err, io.EOF) {
		return errors.New("records after the end")
	}
	return nil
}

// parseNumber reads a number written without anything superfluous.
func parseNumber(text []byte) (n int64, err error) {
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return 0, errors.New("not a number")
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, errors.New("not a number")
		}
		n = 10*n + int64(c-'0')
	}
	if n > math.MaxInt64/2 {
		return 0, errors.New("not a number")
	}
	return n, nil
}
