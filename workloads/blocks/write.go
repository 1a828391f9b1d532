package blocks

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/shards"
)

// write writes the block of a shard whose molecules are in the index.
func (s *shard) write(w io.Writer, x *tanimoto.Index) (v1.Ledger, error) {
	var index bytes.Buffer // its length comes before it
	if err := x.Save(&index, Origin); err != nil {
		return v1.Ledger{}, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.WriteString(magic) // Flush returns the first error
	_, _ = out.Write(binary.LittleEndian.AppendUint64(nil, uint64(index.Len())))
	_, _ = out.Write(index.Bytes())
	ledger := s.writeTable(out)
	return ledger, out.Flush()
}

func (s *shard) writeTable(out *bufio.Writer) v1.Ledger {
	l := shards.NewLedger()
	var line []byte
	record := func(fields ...string) {
		line = csvfile.AppendRecord(line[:0], fields...)
		_, _ = out.Write(line)
	}
	record(header...)
	for i := range s.rows {
		r := &s.rows[i]
		l.RowsRead++
		number := strconv.FormatInt(r.number, 10)
		if r.reject == "" {
			l.Scored++
			record(kindMolecule, number, string(s.id(r)), string(s.smiles(r)), "")
			continue
		}
		l.Rejected[r.reject]++
		record(kindReject, number, string(shards.ValidText(s.id(r))), "", r.reject)
	}
	count := func(name string, n int64) { record(kindCount, strconv.FormatInt(n, 10), "", "", name) }
	count(countRead, l.RowsRead)
	count(countScored, l.Scored)
	for _, reason := range slices.Sorted(maps.Keys(l.Rejected)) {
		count(countRejected+reason, l.Rejected[reason])
	}
	record(kindEnd, "", "", "", "")
	return l
}
