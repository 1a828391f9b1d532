package similaritysearch

import (
	"maps"
	"regexp"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Reasons in the ledger, besides those of package table.
const (
	queryMolecule = "QueryMolecule"
	invalidSMILES = "InvalidSMILES"
	engineLimit   = "EngineLimit"
)

// reasonPattern is what a reason looks like, so that a partial result cannot
// bring just any text into a ledger.
var reasonPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// maxReasons bounds the reasons of one partial result.
const maxReasons = 64

func newLedger() v1.Ledger {
	return v1.Ledger{Excluded: map[string]int64{}, Rejected: map[string]int64{}}
}

// balanced reports whether every row that was read ended somewhere.
func balanced(l v1.Ledger) bool {
	n := l.Scored
	for _, m := range []map[string]int64{l.Excluded, l.Rejected} {
		for v := range maps.Values(m) {
			n += v
		}
	}
	return n == l.RowsRead
}

// addLedger adds b to a.
func addLedger(a *v1.Ledger, b v1.Ledger) {
	a.RowsRead += b.RowsRead
	a.Scored += b.Scored
	for reason, n := range b.Excluded {
		a.Excluded[reason] += n
	}
	for reason, n := range b.Rejected {
		a.Rejected[reason] += n
	}
}
