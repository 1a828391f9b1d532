package morgan

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// Limits of the parameters.
const (
	MaxRadius = 4
	MinBits   = 64
	MaxBits   = 8192
)

// Generator computes identifiers of one molecule after another. It must not be
// used by two goroutines at once.
type Generator struct {
	radius  int
	current []uint32
	next    []uint32
	dead    []bool
	pairs   []uint64
	words   wordSets
	lists   listSets
	short   short
	general bool // for tests: not the short form
}

// New returns a generator for the given radius, 0 to MaxRadius.
func New(radius int) *Generator {
	return &Generator{radius: min(max(radius, 0), MaxRadius)}
}

// Append appends the identifiers of all environments of m to dst, those of each
// round after those of the round before. An identifier may occur repeatedly.
func (g *Generator) Append(dst []uint32, m *mol.Mol) []uint32 {
	if g.radius == 2 && !g.general {
		if ids, ok := g.short.add(dst, m); ok {
			return ids
		}
	}
	var sets bondSets = &g.lists
	if len(m.Bonds) <= 64 {
		sets = &g.words
	}
	return g.rounds(dst, m, sets)
}

// rounds is the algorithm as it is defined.
func (g *Generator) rounds(dst []uint32, m *mol.Mol, sets bondSets) []uint32 {
	n := len(m.Atoms)
	g.current = grow(g.current, n)
	for i := range g.current {
		g.current[i] = Invariant(m, int32(i))
	}
	dst = append(dst, g.current...)
	if g.radius == 0 {
		return dst
	}
	g.next = grow(g.next, n)
	g.dead = grow(g.dead, n)
	clear(g.dead)
	sets.reset(n)
	for layer := range g.radius {
		sets.begin()
		for i := range m.Atoms {
			if g.dead[i] {
				g.next[i] = 0
				continue
			}
			if m.Atoms[i].Degree == 0 {
				g.dead[i], g.next[i] = true, 0
				continue
			}
			g.next[i] = g.identifier(m, int32(i), uint32(layer))
			if layer > 0 && m.Atoms[i].Degree == 1 {
				// The environment is the neighbour's of the round before.
				sets.share(int32(i), m.Neighbors(int32(i))[0].Atom)
				g.dead[i] = true
				continue
			}
			if loser := sets.extend(m, int32(i), g.next); loser >= 0 {
				g.dead[loser] = true
			}
		}
		dst = sets.end(dst, g.next)
		g.current, g.next = g.next, g.current
	}
	return dst
}

// identifier hashes an atom with its neighbours, which count in order of bond
// type and then of identifier.
func (g *Generator) identifier(m *mol.Mol, i int32, layer uint32) uint32 {
	g.pairs = g.pairs[:0]
	for _, h := range m.Neighbors(i) {
		g.pairs = append(g.pairs, uint64(m.Bonds[h.Bond].Type)<<32|uint64(g.current[h.Atom]))
	}
	slices.Sort(g.pairs)
	s := combine(layer, g.current[i])
	for _, p := range g.pairs {
		s = combine(s, combine(combine(0, uint32(p>>32)), uint32(p)))
	}
	return s
}

// bondSets keeps the bonds that each atom's environment covers and the sets that
// were seen in this and earlier rounds.
type bondSets interface {
	reset(atoms int)
	begin()
	// extend widens the environment of atom i by one bond and returns the atom
	// whose environment repeats one that was seen, i or an earlier one of this
	// round, or -1.
	extend(m *mol.Mol, i int32, identifiers []uint32) (loser int32)
	// share gives atom i the environment that atom of had in the round before.
	share(i, of int32)
	// end appends the identifiers of the environments that were new in the round.
	end(dst []uint32, identifiers []uint32) []uint32
}

// prefers reports whether atom a represents a shared environment rather than b.
func prefers(a, b int32, identifiers []uint32) bool {
	if identifiers[a] != identifiers[b] {
		return identifiers[a] < identifiers[b]
	}
	return a < b
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2+16)
	}
	return s[:n]
}
