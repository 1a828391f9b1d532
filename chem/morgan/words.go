package morgan

import "scimesh.dev/scimesh/chem/mol"

// wordSets is bondSets for molecules of up to 64 bonds, one word a set.
type wordSets struct {
	sets  []uint64
	wider []uint64
	seen  []uint64 // distinct sets in order of appearance
	owner []int32  // atom that represents each set of the running round
	first int      // where the running round begins in seen
	table []int32  // open addressing by set: position in seen plus one
}

func (w *wordSets) reset(n int) {
	w.sets, w.wider = grow(w.sets, n), grow(w.wider, n)
	clear(w.sets)
	w.seen, w.owner = w.seen[:0], w.owner[:0]
	size := 64
	for size < (MaxRadius+1)*n {
		size *= 2
	}
	w.table = grow(w.table, size)
	clear(w.table)
}

func (w *wordSets) begin() {
	w.first = len(w.seen)
	copy(w.wider, w.sets)
}

func (w *wordSets) extend(m *mol.Mol, i int32, identifiers []uint32) int32 {
	set := w.wider[i]
	for _, h := range m.Neighbors(i) {
		set |= 1<<h.Bond | w.sets[h.Atom]
	}
	w.wider[i] = set
	mask := uint64(len(w.table) - 1)
	for slot := set * 0x9e3779b97f4a7c15 >> 32 & mask; ; slot = (slot + 1) & mask {
		at := w.table[slot] - 1
		if at < 0 {
			w.seen, w.owner = append(w.seen, set), append(w.owner, i)
			w.table[slot] = int32(len(w.seen))
			return -1
		}
		if w.seen[at] != set {
			continue
		}
		if int(at) >= w.first && prefers(i, w.owner[at], identifiers) {
			loser := w.owner[at]
			w.owner[at] = i
			return loser
		}
		return i
	}
}

func (w *wordSets) share(i, of int32) { w.wider[i] = w.sets[of] }

func (w *wordSets) end(dst []uint32, identifiers []uint32) []uint32 {
	for _, a := range w.owner[w.first:] {
		dst = append(dst, identifiers[a])
	}
	w.sets, w.wider = w.wider, w.sets
	return dst
}
