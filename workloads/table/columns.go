package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/workloads"
)

// The columns of the tables that are written here, and that ChEMBL publishes.
const (
	IDColumn     = "chembl_id"
	SMILESColumn = "canonical_smiles"
)

// Names that columns may have, whatever their case, where the two above are
// missing; those that come first are preferred.
var (
	idNames     = []string{IDColumn, "molecule_chembl_id", "id", "compound_id", "molecule_id", "name", "title"}
	smilesNames = []string{SMILESColumn, "smiles", "isomeric_smiles"}
)

var byteOrderMark = []byte("\ufeff")

const wantHeader = "expected a header line with the columns " + IDColumn + " and " + SMILESColumn

// columns are where the id and the SMILES stand, counted from 0.
type columns struct {
	id, smiles int
	header     bool
	names      [2]string
}

// findColumns looks for the columns that are asked for in the fields of the first
// line.
func findColumns(first [][]byte, o Options) (columns, error) {
	id, errID := findColumn(first, o.IDColumn, idNames)
	smiles, errSMILES := findColumn(first, o.SMILESColumn, smilesNames)
	if errID == nil && errSMILES == nil {
		return columns{id, smiles, true, [2]string{string(first[id]), string(first[smiles])}}, nil
	}
	if c, ok := numberedColumns(first, o); ok {
		return c, nil
	}
	if errID != nil {
		return columns{}, errID
	}
	return columns{}, errSMILES
}

// findColumn finds a column by its name, or by the first of its usual names.
func findColumn(first [][]byte, name string, usual []string) (int, error) {
	if name != "" {
		return findOne(first, name, func(c string) bool { return c == name })
	}
	if found, err := findOne(first, usual[0], func(c string) bool { return c == usual[0] }); err == nil || found > 0 {
		return found, err
	}
	for _, name := range usual {
		if found, err := findOne(first, name, func(c string) bool { return strings.EqualFold(c, name) }); err == nil || found > 0 {
			return found, err
		}
	}
	return findOne(first, usual[0], func(string) bool { return false })
}

// findOne returns the only column that matches. Otherwise it returns an error, and
// how many match.
func findOne(first [][]byte, name string, matches func(string) bool) (int, error) {
	found, times := -1, 0
	for i, c := range first {
		if matches(string(c)) {
			found = i
			times++
		}
	}
	switch times {
	case 0:
		return 0, workloads.Errorf(workloads.ReasonInputInvalid,
			"the header has no column %s; columns found: %s", shortName(name), list(first))
	case 1:
		return found, nil
	}
	return times, workloads.Errorf(workloads.ReasonInputInvalid,
		"the header has %d columns %s, one is needed; columns found: %s", times, shortName(name), list(first))
}

// numberedColumns takes the names that are asked for as positions. The first line
// is a row if it holds a SMILES where one should be.
func numberedColumns(first [][]byte, o Options) (columns, bool) {
	id, err1 := strconv.Atoi(o.IDColumn)
	smiles, err2 := strconv.Atoi(o.SMILESColumn)
	if err1 != nil || err2 != nil || min(id, smiles) < 1 || max(id, smiles) > len(first) {
		return columns{}, false
	}
	c := columns{id: id - 1, smiles: smiles - 1, header: !isSMILES(first[smiles-1])}
	if c.header {
		c.names = [2]string{string(first[c.id]), string(first[c.smiles])}
	}
	return c, true
}

// isSMILES reports whether a text is a SMILES of a molecule that is not empty.
func isSMILES(text []byte) bool {
	const longest = 4 << 10
	if len(text) == 0 || len(text) > longest {
		return false
	}
	e := chem.New(chem.Options{})
	return e.Fingerprint(make([]uint64, e.Words()), text) == nil
}

// firstLine returns the first line that is not blank, without a byte order mark.
func firstLine(l *lines) ([]byte, error) {
	for first := true; ; first = false {
		line, tooLong, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil, workloads.Errorf(workloads.ReasonInputInvalid, "the input is empty; %s", wantHeader)
		}
		if err != nil {
			return nil, err
		}
		if first {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if tooLong {
			return nil, workloads.Errorf(workloads.ReasonInputInvalid,
				"the first line is longer than %d bytes; %s", l.limit, wantHeader)
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

// Bounds of what an error repeats of a header.
const (
	maxListed     = 20
	maxListedName = 40
)

// list names columns for a message.
func list(columns [][]byte) string {
	var b strings.Builder
	for i, c := range columns {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(columns)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		more := ""
		if len(c) > maxListedName {
			c, more = c[:maxListedName], "…"
		}
		fmt.Fprintf(&b, "%q%s", c, more)
	}
	return b.String()
}

// shortName is a name that is plain enough to stand in a message as it is, or a
// quoted one.
func shortName(name string) string {
	if len(name) <= maxListedName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return name
	}
	return list([][]byte{[]byte(name)})
}
