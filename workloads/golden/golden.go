// Package golden has the answers of RDKit by which an engine proves that it makes
// RDKit's fingerprints: a worker sends its own at registration, and a coordinator
// compares them.
//
// An answer is the SHA-256, in lowercase hexadecimal, of the bytes of two Morgan
// fingerprints of a SMILES, one after the other: of radius 2 and 2048 bits, and of
// radius 4 and 8192 bits, with bit i as bit i%8 of byte i/8; or Refused.
package golden

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"scimesh.dev/scimesh/chem"
)

// Refused is the answer for a SMILES of which RDKit makes no molecule.
const Refused = "refused"

// claim begins the word of an engine's name that says whose answers it gives.
const claim = "rdkit-model/"

//go:embed golden.tsv
var file string

// Model is the word, in the name of an engine, of the RDKit whose answers these are.
func Model() string {
	first, _, _ := strings.Cut(file, "\n")
	return strings.TrimPrefix(first, "# ")
}

// Expected returns the answers of RDKit by SMILES.
func Expected() map[string]string {
	_, rows, _ := strings.Cut(strings.TrimSuffix(file, "\n"), "\n")
	answers := map[string]string{}
	for row := range strings.SplitSeq(rows, "\n") {
		smiles, digest, _ := strings.Cut(row, "\t")
		answers[smiles] = digest
	}
	return answers
}

// Answers computes the answers of the engine in this process.
func Answers() map[string]string {
	engines := []*chem.Engine{chem.New(chem.Options{Radius: 2, Bits: 2048}), chem.New(chem.Options{Radius: 4, Bits: 8192})}
	answers := Expected()
	for smiles := range answers {
		answers[smiles] = answer(engines, []byte(smiles))
	}
	return answers
}

func answer(engines []*chem.Engine, smiles []byte) string {
	digest := sha256.New()
	for _, e := range engines {
		fp := make([]uint64, e.Words())
		if err := e.Fingerprint(fp, smiles); err != nil {
			return Refused
		}
		var b []byte
		for _, word := range fp {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
		digest.Write(b) // never fails
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// Claims reports whether the name of an engine claims to give the answers of the
// model that is known here.
func Claims(engine string) bool { return slices.Contains(strings.Fields(engine), Model()) }

// Unproven is the name of an engine that has not proved what it claims: any model
// that it names is marked, so that it is never taken for one that has.
func Unproven(engine string) string { return strings.ReplaceAll(engine, claim, "unproven-model/") }

// Fault is an answer that is not RDKit's.
type Fault struct {
	SMILES  string
	Message string
}

// Check returns what is wrong with an engine's answers, in the order of SMILES.
func Check(answers map[string]string) []Fault {
	var faults []Fault
	expected := Expected()
	for _, smiles := range slices.Sorted(maps.Keys(expected)) {
		got, ok := answers[smiles]
		switch {
		case !ok:
			faults = append(faults, Fault{smiles, "there is no answer for this molecule"})
		case got != expected[smiles] && expected[smiles] == Refused:
			faults = append(faults, Fault{smiles, "it is accepted, and RDKit refuses it"})
		case got == Refused && expected[smiles] != Refused:
			faults = append(faults, Fault{smiles, "it is refused, and RDKit accepts it"})
		case got != expected[smiles]:
			faults = append(faults, Fault{smiles, fmt.Sprintf("its fingerprints differ from those of %s", Model())})
		}
	}
	return faults
}
