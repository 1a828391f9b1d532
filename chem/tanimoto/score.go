package tanimoto

import "cmp"

// Score is a similarity: the bits that two fingerprints have in common, of those
// that at least one of them has. Where both are empty it is 0 of 0, and counts as 1.
type Score struct {
	Common, Union int32
}

// Compare is negative if s is the smaller similarity, positive if it is the larger.
// Equal fractions are equal: 1 of 2 is 2 of 4.
func (s Score) Compare(t Score) int {
	s, t = s.normal(), t.normal()
	return cmp.Compare(int64(s.Common)*int64(t.Union), int64(t.Common)*int64(s.Union))
}

// Float64 is the similarity as the nearest double, the number that RDKit gives.
// It is for printing; comparing it may take different similarities for equal.
func (s Score) Float64() float64 {
	s = s.normal()
	return float64(s.Common) / float64(s.Union)
}

func (s Score) normal() Score {
	if s.Union == 0 {
		return Score{1, 1}
	}
	return s
}

// Hit is a row that a search found.
type Hit struct {
	Row int
	Score
}
