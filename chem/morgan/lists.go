package morgan

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// listSets is bondSets for molecules of any size: every set is a sorted list of
// bonds, so memory grows with the size of environments, not of the molecule.
type listSets struct {
	bonds []int32 // arena of all lists of this molecule
	sets  []list
	wider []list
	seen  []list
	owner []int32
	first int
	table []int32
}

// list is a range of listSets.bonds with the hash of its contents.
type list struct {
	from, to int32
	hash     uint64
}

func (l *listSets) reset(n int) {
	l.bonds = l.bonds[:0]
	l.sets, l.wider = grow(l.sets, n), grow(l.wider, n)
	clear(l.sets)
	l.seen, l.owner = l.seen[:0], l.owner[:0]
	size := 64
	for size < (MaxRadius+1)*n {
		size *= 2
	}
	l.table = grow(l.table, size)
	clear(l.table)
}

func (l *listSets) begin() {
	l.first = len(l.seen)
	copy(l.wider, l.sets)
}

// of is the content of a list.
func (l *listSets) of(x list) []int32 { return l.bonds[x.from:x.to] }

func (l *listSets) extend(m *mol.Mol, i int32, identifiers []uint32) int32 {
	from := len(l.bonds)
	l.bonds = append(l.bonds, l.of(l.wider[i])...)
	for _, h := range m.Neighbors(i) {
		l.bonds = append(l.bonds, h.Bond)
		l.bonds = append(l.bonds, l.of(l.sets[h.Atom])...)
	}
	slices.Sort(l.bonds[from:])
	l.bonds = l.bonds[:from+len(slices.Compact(l.bonds[from:]))]
	set := list{from: int32(from), to: int32(len(l.bonds))}
	for _, b := range l.of(set) {
		set.hash = (set.hash ^ uint64(b) + 0x632be59bd9b4e019) * 0x9e3779b97f4a7c15
		set.hash ^= set.hash >> 32
	}
	l.wider[i] = set
	mask := uint64(len(l.table) - 1)
	for slot := set.hash & mask; ; slot = (slot + 1) & mask {
		at := l.table[slot] - 1
		if at < 0 {
			l.seen, l.owner = append(l.seen, set), append(l.owner, i)
			l.table[slot] = int32(len(l.seen))
			return -1
		}
		if l.seen[at].hash != set.hash || !slices.Equal(l.of(l.seen[at]), l.of(set)) {
			continue
		}
		if int(at) >= l.first && prefers(i, l.owner[at], identifiers) {
			loser := l.owner[at]
			l.owner[at] = i
			return loser
		}
		return i
	}
}

func (l *listSets) share(i, of int32) { l.wider[i] = l.sets[of] }

func (l *listSets) end(dst []uint32, identifiers []uint32) []uint32 {
	for _, a := range l.owner[l.first:] {
		dst = append(dst, identifiers[a])
	}
	l.sets, l.wider = l.wider, l.sets
	return dst
}
