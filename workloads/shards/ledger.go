package shards

import (
	"errors"
	"maps"
	"regexp"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/perceive"
)

// Reasons why an engine refuses a row, besides those of package table.
const (
	InvalidSMILES = "InvalidSMILES"
	EngineLimit   = "EngineLimit"
)

// RejectReason names why the engine refused a SMILES.
func RejectReason(err error) string {
	var sanitize *chem.SanitizeError
	if errors.As(err, &sanitize) && sanitize.Step == perceive.StepWorkLimit {
		return EngineLimit
	}
	return InvalidSMILES
}

var reasonPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// ValidReason reports whether a text looks like a reason, so that a partial
// result cannot bring just any text into a ledger.
func ValidReason(text string) bool { return reasonPattern.MatchString(text) }

// MaxReasons bounds the reasons of one partial result.
const MaxReasons = 64

// NewLedger returns an empty ledger whose maps can be written.
func NewLedger() v1.Ledger {
	return v1.Ledger{Excluded: map[string]int64{}, Rejected: map[string]int64{}}
}

// Balanced reports whether every row that was read ended somewhere.
func Balanced(l v1.Ledger) bool {
	n := l.Scored
	for _, m := range []map[string]int64{l.Excluded, l.Rejected} {
		for v := range maps.Values(m) {
			n += v
		}
	}
	return n == l.RowsRead
}

// AddLedger adds b to a.
func AddLedger(a *v1.Ledger, b v1.Ledger) {
	a.RowsRead += b.RowsRead
	a.Scored += b.Scored
	for reason, n := range b.Excluded {
		a.Excluded[reason] += n
	}
	for reason, n := range b.Rejected {
		a.Rejected[reason] += n
	}
}
