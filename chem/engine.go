package chem

import (
	"fmt"

	"scimesh.dev/scimesh/chem/mol"
	"scimesh.dev/scimesh/chem/morgan"
	"scimesh.dev/scimesh/chem/perceive"
	"scimesh.dev/scimesh/chem/smiles"
	"scimesh.dev/scimesh/chem/stereo"
)

// EngineName identifies the engine and the RDKit release whose answers it gives.
// Fingerprints of different engines must not be compared.
const EngineName = "scimesh-chem/0.1.0 rdkit-model/2026.09.1"

// Defaults of Options.
const (
	DefaultRadius = 2
	DefaultBits   = 2048
	// DefaultMaxLength is far beyond any molecule that a search is about.
	DefaultMaxLength = 1 << 20
)

// SanitizeError is a well-formed string that is no acceptable structure.
type SanitizeError = perceive.Error

// Engine computes fingerprints. It is scratch memory: use one a goroutine, and
// none from two goroutines at once.
type Engine struct {
	bits     uint32
	longest  int
	reader   smiles.Reader
	mol      mol.Mol
	perceive perceive.Perceiver
	morgan   *morgan.Generator
	ids      []uint32

	left, right stereo.Structure
	matcher     stereo.Matcher
}

// New returns an engine. It panics on options that Validate refuses.
func New(o Options) *Engine {
	if err := o.Validate(); err != nil {
		panic("chem: " + err.Error())
	}
	o = o.withDefaults()
	return &Engine{bits: uint32(o.Bits), longest: o.MaxLength, morgan: morgan.New(o.Radius)}
}

// Words is the length of a fingerprint in words.
func (e *Engine) Words() int { return int(e.bits / 64) }

// Fingerprint overwrites dst, of length Words, with the fingerprint of the
// molecule. On error dst is all zero.
func (e *Engine) Fingerprint(dst []uint64, s []byte) error {
	clear(dst)
	ids, err := e.Identifiers(e.ids[:0], s)
	if err != nil {
		return err
	}
	e.ids = ids
	if e.bits&(e.bits-1) == 0 {
		mask := e.bits - 1
		for _, h := range ids {
			dst[h&mask>>6] |= 1 << (h & 63)
		}
		return nil
	}
	for _, h := range ids {
		b := h % e.bits
		dst[b>>6] |= 1 << (b & 63)
	}
	return nil
}

// Identifiers appends the unfolded identifiers of the molecule's environments
// to dst. An identifier that occurs in several places may be listed repeatedly.
func (e *Engine) Identifiers(dst []uint32, s []byte) ([]uint32, error) {
	if len(s) > e.longest {
		return dst, e.tooLong(len(s))
	}
	if err := e.reader.Read(&e.mol, s); err != nil {
		return dst, err
	}
	if e.mol.MarkedOddly {
		// An atom may owe its hydrogen to a mark that turns out meaningless.
		if err := e.left.Read(&e.reader, &e.perceive, s); err != nil {
			return dst, err
		}
		return e.morgan.Append(dst, &e.left.Mol), nil
	}
	e.perceive.RemoveHydrogens(&e.mol)
	if err := e.perceive.Sanitize(&e.mol); err != nil {
		return dst, err
	}
	return e.morgan.Append(dst, &e.mol), nil
}

// Same reports whether two strings spell the same molecule: whether RDKit writes
// the same canonical isomeric SMILES for both. Same molecules have equal
// fingerprints, so it need be asked only where fingerprints are equal.
func (e *Engine) Same(a, b []byte) (bool, error) {
	if s := max(len(a), len(b)); s > e.longest {
		return false, e.tooLong(s)
	}
	if err := e.left.Read(&e.reader, &e.perceive, a); err != nil {
		return false, err
	}
	if err := e.right.Read(&e.reader, &e.perceive, b); err != nil {
		return false, err
	}
	return e.matcher.Same(&e.left, &e.right)
}

func (e *Engine) tooLong(n int) error {
	return &SanitizeError{Step: perceive.StepWorkLimit,
		Message: fmt.Sprintf("the string has %d bytes, more than the limit of %d", n, e.longest)}
}
