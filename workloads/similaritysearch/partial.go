package similaritysearch

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads/csvfile"
)

// Kinds of records in a partial result.
const (
	kindHit    = "hit"
	kindReject = "reject"
	kindCount  = "count"
	kindEnd    = "end"
)

// Names of counts.
const (
	countRead     = "read"
	countScored   = "scored"
	countExcluded = "excluded:"
	countRejected = "rejected:"
)

// partialHeader names the columns of a partial result.
var partialHeader = []string{"record", "row", "chembl_id", "canonical_smiles", "common", "union", "detail"}

// appendReject appends a reject record.
func appendReject(dst []byte, row int64, id []byte, reason string) []byte {
	return csvfile.AppendRecord(dst, kindReject, strconv.FormatInt(row, 10), string(id), "", "", "", reason)
}

// writePartial writes a whole partial result. The rejects are records already.
// Where there are many queries, hits are those of each, and carry its number, from 1.
func writePartial(w io.Writer, many [][]hit, numbered bool, rejects []byte, l v1.Ledger) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	write := func(fields ...string) {
		line = csvfile.AppendRecord(line[:0], fields...)
		_, _ = out.Write(line) // Flush returns the first error
	}
	count := func(name string, n int64) { write(kindCount, strconv.FormatInt(n, 10), "", "", "", "", name) }

	write(partialHeader...)
	for i, hits := range many {
		number := ""
		if numbered {
			number = strconv.Itoa(i + 1)
		}
		for _, h := range hits {
			write(kindHit, number, h.id, h.smiles, strconv.Itoa(int(h.common)), strconv.Itoa(int(h.union)), "")
		}
	}
	_, _ = out.Write(rejects)
	count(countRead, l.RowsRead)
	count(countScored, l.Scored)
	for _, reason := range slices.Sorted(maps.Keys(l.Excluded)) {
		count(countExcluded+reason, l.Excluded[reason])
	}
	for _, reason := range slices.Sorted(maps.Keys(l.Rejected)) {
		count(countRejected+reason, l.Rejected[reason])
	}
	write(kindEnd, "", "", "", "", "", "")
	return out.Flush()
}
