package chem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/perceive"
)

// numbered joins n pieces that hold a ring number each.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// TestHostileStrings reads strings made to take long. Each is answered, with a
// fingerprint, a refusal by the grammar or chemistry, or one by a stated limit,
// and the engine goes on to read the next.
func TestHostileStrings(t *testing.T) {
	const n = 20_000
	const valid, refused, limited = "valid", "refused", "EngineLimit"
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	for _, tc := range []struct{ name, smiles, want string }{
		{"ten megabytes", strings.Repeat("C", 10_000_000), limited},
		{"long chain", strings.Repeat("CO", n), valid},
		{"nested branches", "C" + strings.Repeat("(C", n) + strings.Repeat(")", n), valid},
		{"only parentheses", strings.Repeat("(", 1_000_000), refused},
		{"open rings", numbered("C%%(%d)", 10_000), refused},
		{"ladder of 10,000 rungs", numbered("C%%(%d)", 10_000) + numbered("C%%(%d)", 10_000), limited},
		{"atom with many neighbours", "[U]" + strings.Repeat("(C)", n), limited},
		{"atom in 900 rings", "[U]" + numbered("%%(%d)", 450) + numbered("(CC%%(%d))", 450), valid},
		{"chain of phenylenes", "c1ccc(-c2ccccc2)cc1" + strings.Repeat(".c1ccc(-c2ccccc2)cc1", n/20), valid},
		{"components", strings.Repeat("C.", n) + "C", valid},
		{"macrocycle", "C1" + strings.Repeat("C", n) + "1", valid},
		{"aromatic macrocycle", "c1" + strings.Repeat("c", n-1) + "1", valid},
		{"cages in a chain", strings.Repeat("C1CC2CCC1CC2", 1000), valid},
		{"hydrogen atoms", strings.Repeat("C([H])([H])", n), valid},
		{"fullerene", "c12c3c4c5c1c6c7c8c2c9c1c3c2c3c4c4c%10c5c5c6c6c7c7c%11c8c9c8c9c1c2c1c2c3c4c3c4c%10c5c5c6c6c7c7c%11c8c8c9c1c1c2c3c2c4c5c6c3c7c8c1c23", valid},
		{"extensions", strings.Repeat("C1CC1", n) + " |" + strings.Repeat("C:1.0,", 2*n) + "|", valid},
	} {
		start := time.Now()
		err := e.Fingerprint(fp, []byte(tc.smiles))
		var structure *chem.SanitizeError
		got := refused
		switch {
		case err == nil:
			got = valid
		case errors.As(err, &structure) && structure.Step == perceive.StepWorkLimit:
			got = limited
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s (error %.200v)", tc.name, got, tc.want, err)
		}
		t.Logf("%-26s %8d bytes %12v %s", tc.name, len(tc.smiles), time.Since(start), got)
		if err := e.Fingerprint(fp, []byte("CCO")); err != nil {
			t.Errorf("after %s: %v", tc.name, err)
		}
	}
}
