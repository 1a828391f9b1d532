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

const valid, refused, limited = "valid", "refused", "EngineLimit"

// verdict says what becomes of the string.
func verdict(e *chem.Engine, fp []uint64, s string) (string, error) {
	err := e.Fingerprint(fp, []byte(s))
	structure, _ := errors.AsType[*chem.SanitizeError](err)
	switch {
	case err == nil:
		return valid, nil
	case structure != nil && structure.Step == perceive.StepWorkLimit:
		return limited, err
	}
	return refused, err
}

// TestTimeGrowsWithTheString reads strings and strings four times as long, of
// 100,000 atoms and more, and tells the times. It fails for what takes long and
// grows as the square does, not for a slow machine.
func TestTimeGrowsWithTheString(t *testing.T) {
	e := chem.New(chem.Options{MaxLength: 10 << 20})
	fp := make([]uint64, e.Words())
	for _, tc := range []struct {
		name  string
		n     int
		build func(n int) string
	}{
		{"chain", 200_000, func(n int) string { return strings.Repeat("C", n) }},
		{"chain with double bonds", 100_000, func(n int) string { return strings.Repeat("C=CC", n/3) + "C" }},
		{"nested branches", 100_000, func(n int) string { return "C" + strings.Repeat("(C", n) + strings.Repeat(")", n) }},
		{"comb", 100_000, func(n int) string { return strings.Repeat("C(C)", n) }},
		{"components", 200_000, func(n int) string { return strings.Repeat("C.", n) + "C" }},
		{"rings in a chain", 100_000, func(n int) string { return strings.Repeat("C1CC1", n/3) }},
		{"aromatic rings in a chain", 100_000, func(n int) string { return "C" + strings.Repeat("c1ccc(cc1)", n/6) + "C" }},
		{"macrocycle", 100_000, func(n int) string { return "C1" + strings.Repeat("C", n) + "1" }},
		{"hydrogen atoms", 100_000, func(n int) string { return strings.Repeat("C([H])([H])", n/3) }},
		{"brackets", 100_000, func(n int) string { return strings.Repeat("[13CH2]", n) }},
	} {
		var took [2]time.Duration
		for i, n := range []int{tc.n / 4, tc.n} {
			s := tc.build(n)
			start := time.Now()
			if got, err := verdict(e, fp, s); got != valid {
				t.Errorf("%s of %d: %s (error %.100v)", tc.name, n, got, err)
			}
			took[i] = time.Since(start)
		}
		t.Logf("%-26s %8d: %12v, four times as long %12v", tc.name, tc.n/4, took[0], took[1])
		if took[1] > 20*time.Second && took[1] > 12*took[0] {
			t.Errorf("%s of %d takes %v", tc.name, tc.n, took[1])
		}
	}
}

// TestHostileStrings reads strings made to take long. Each is answered, with a
// fingerprint, a refusal by the grammar or chemistry, or one by a stated limit,
// and the engine goes on to read the next.
func TestHostileStrings(t *testing.T) {
	const n = 20_000
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	for _, tc := range []struct{ name, smiles, want string }{
		{"ten megabytes", strings.Repeat("C", 10_000_000), limited},
		{"ten megabytes of a name", "C " + strings.Repeat("x", 10_000_000), limited},
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
		got, err := verdict(e, fp, tc.smiles)
		if got != tc.want {
			t.Errorf("%s: %s, want %s (error %.200v)", tc.name, got, tc.want, err)
		}
		t.Logf("%-26s %8d bytes %12v %s", tc.name, len(tc.smiles), time.Since(start), got)
		if err := e.Fingerprint(fp, []byte("CCO")); err != nil {
			t.Errorf("after %s: %v", tc.name, err)
		}
	}
}
