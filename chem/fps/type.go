package fps

import (
	"fmt"
	"strconv"
	"strings"
)

// Type is a Morgan fingerprint as package chem computes it: of connectivity
// invariants, with bond types, without chirality, features and counts.
type Type struct {
	Radius int
	Bits   int
}

// String is chemfp's name of the type, as ChEMBL's files have it.
func (t Type) String() string {
	return fmt.Sprintf("RDKit-Morgan/1 radius=%d fpSize=%d useFeatures=0 useChirality=0 useBondTypes=1", t.Radius, t.Bits)
}

// family is a version of chemfp's Morgan type. Both make equal bits of equal
// parameters; the second leaves out what has its default.
type family struct {
	radius int // if not given
	// fixed are the parameters that Type has no field for, with their only value.
	fixed map[string]string
}

var families = map[string]family{
	"RDKit-Morgan/1": {radius: 2, fixed: map[string]string{"useFeatures": "0", "useChirality": "0", "useBondTypes": "1"}},
	"RDKit-Morgan/2": {radius: 3, fixed: map[string]string{
		"useFeatures": "0", "useChirality": "0", "includeChirality": "0", "useBondTypes": "1",
		"countSimulation": "0", "includeRedundantEnvironments": "0",
	}},
}

// ParseType reads a value of #type. It is an error if fingerprints of that type
// are not those of a Type.
func ParseType(s string) (Type, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return Type{}, fmt.Errorf("no fingerprint type is given")
	}
	f, ok := families[words[0]]
	if !ok {
		return Type{}, fmt.Errorf("fingerprint type %s is no RDKit-Morgan fingerprint", quote([]byte(words[0])))
	}
	t := Type{Radius: f.radius, Bits: 2048}
	given := map[string]bool{}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok || given[key] {
			return Type{}, fmt.Errorf("fingerprint type: %s is no new key=value pair", quote([]byte(word)))
		}
		given[key] = true
		if err := t.set(f, key, value); err != nil {
			return Type{}, err
		}
	}
	return t, nil
}

func (t *Type) set(f family, key, value string) error {
	into := &t.Bits
	switch key {
	case "radius":
		into = &t.Radius
	case "fpSize":
	default:
		if want, ok := f.fixed[key]; !ok || value != want {
			return fmt.Errorf("fingerprint type: %s is not supported", quote([]byte(key+"="+value)))
		}
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return fmt.Errorf("fingerprint type: %s is no number", quote([]byte(key+"="+value)))
	}
	*into = int(n)
	return nil
}
