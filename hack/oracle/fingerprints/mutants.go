package fingerprints

import (
	"math/rand/v2"

	"scimesh.dev/scimesh/chem"
)

// pieces are inserted into strings: whatever the grammar treats specially.
var pieces = []string{"(", ")", "[", "]", "=", "#", "$", ":", "/", "\\", "-", "->", "<-", "~", ".", "%", "%12", "%(1", "1", "2", "3", "0",
	"C", "c", "n", "N", "o", "O", "s", "S", "P", "p", "F", "Cl", "Br", "I", "B", "b", "*", "[nH]", "[H]", "[2H]", "[C@H]", "[C@@]", "[N+]",
	"[O-]", "[Fe]", "[Na+]", "[Mg]", "[Si]", "[se]", "[Se]", "[As]", "[te]", "[si]", "[C-]", "[CH-]", "[c-]", "[n+]", "[cH+]", "[B-]", "[P-]",
	"[S+]", "[Cl+]", "[I+]", "[#6]", "[*]", "[13CH3]", "[CH2]", "[NH]", "[O]", "[Al]", "[Sn]", "[Pt]", "[Cu+2]", "[H+]", "[H-]", "[Xe]",
	"=O", "(=O)", "#N", "C1CC1", "c1ccccc1", "C1=CC=CC=C1", "N(=O)=O", "[N+](=O)[O-]", "F/C=C/F", "@", "+", "H", "@TH2", "@SP1", " ", "\t",
	" |", "|", "^1:0|", "C:0.0|", "\x80", "{", ">", "'"}

// Mutants makes n strings by small changes to the seeds: pieces are inserted,
// bytes left out, doubled or swapped, and halves of two strings joined. Strings
// that the engine accepts are changed further. The same seed number gives the
// same strings.
func Mutants(seeds [][]byte, n int, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 0))
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	pool := append([][]byte(nil), seeds...)
	out := make([][]byte, 0, n)
	for len(out) < n {
		s := append([]byte(nil), pool[r.IntN(len(pool))]...)
		for range 1 + r.IntN(2) {
			s = mutate(r, s, seeds)
		}
		if len(s) > 120 {
			continue
		}
		out = append(out, s)
		if e.Fingerprint(fp, s) == nil {
			pool = append(pool, s)
		}
	}
	return out
}

func mutate(r *rand.Rand, s []byte, seeds [][]byte) []byte {
	at := r.IntN(len(s) + 1)
	switch k := r.IntN(10); {
	case k < 5 || len(s) < 2:
		p := pieces[r.IntN(len(pieces))]
		return append(s[:at:at], append([]byte(p), s[at:]...)...)
	case k < 7:
		at = r.IntN(len(s))
		return append(s[:at:at], s[at+1:]...)
	case k < 8:
		at = r.IntN(len(s) - 1)
		s[at], s[at+1] = s[at+1], s[at]
		return s
	case k < 9:
		other := seeds[r.IntN(len(seeds))]
		return append(s[:at:at], other[r.IntN(len(other)+1):]...)
	default:
		to := at + r.IntN(len(s)-at+1)
		return append(s[:to:to], s[at:]...)
	}
}
