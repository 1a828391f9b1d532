package perceive

import (
	"slices"

	"scimesh.dev/scimesh/chem/mol"
)

// kekulizer holds the state of the search for alternating bonds in one fused
// ring system. By atom of the molecule, valid for atoms of the system:
type kekulizer struct {
	inSystem  []bool
	candidate []bool // may still take a double bond
	done      []bool // visited, in the order of doneList
	options   []span // untried partners, in partners

	doneList  []int32
	queue     []int32 // waiting atoms, from head on
	head      int
	partners  []int32
	moves     []int32 // atoms with untried partners, latest last
	added     []int32 // bonds made double
	system    []int32
	start     []int32 // atoms that are visited before the search begins
	initial   []int32 // candidates before the search
	questions []int32
	single    []int32 // bonds to make single
	written   []int32 // bonds with the aromatic flag as written
	limit     int     // back-tracks allowed
	exhausted bool    // a search ended at the limit
	dummies   dummySystems
}

// span is a range of a slice; empty means none.
type span struct{ from, to int32 }

// maxBackTracks is how often the search may return to an earlier choice; the
// second attempt, in which RDKit goes by canonical order, may do so more often.
const (
	maxBackTracks  = 100
	moreBackTracks = 20_000
)

// kekulize replaces aromatic bonds by alternating single and double bonds and
// clears the aromatic flags. It remembers in p.adjust which atoms had any.
func (p *Perceiver) kekulize(m *mol.Mol) error {
	p.adjust = growClear(p.adjust, len(m.Atoms))
	aromatic, dummy := false, false
	for i := range m.Atoms {
		a := &m.Atoms[i]
		aromatic = aromatic || a.IsAromaticWide()
		dummy = dummy || a.Z == 0
		p.adjust[i] = a.Flags&mol.Aromatic != 0
	}
	if !aromatic {
		return nil
	}
	p.total = grow(p.total, len(m.Atoms))
	p.kekule.written = p.kekule.written[:0]
	for i := range m.Atoms {
		a := &m.Atoms[i]
		p.total[i] = a.Valence + int32(a.ImplicitH)
	}
	for i := range m.Bonds {
		if b := &m.Bonds[i]; b.Flags&mol.Aromatic != 0 {
			p.kekule.written = append(p.kekule.written, int32(i))
			p.adjust[b.A], p.adjust[b.B] = true, true
		}
	}
	p.kekule.prepare(m)
	p.kekule.limit = maxBackTracks
	err := p.kekulizeSystems(m, dummy)
	if err == nil || !dummy && !p.kekule.exhausted {
		return err
	}
	p.kekule.restore(m)
	p.kekule.limit = moreBackTracks
	return p.kekulizeSystems(m, dummy)
}

// restore brings back what a failed attempt has changed. As in RDKit, atoms that
// had only aromatic bonds get the flag too, which changes what dummies may do.
func (k *kekulizer) restore(m *mol.Mol) {
	for _, b := range k.written {
		m.SetType(b, mol.AromaticType)
		bond := &m.Bonds[b]
		bond.Flags |= mol.Aromatic
		m.Atoms[bond.A].Flags |= mol.Aromatic
		m.Atoms[bond.B].Flags |= mol.Aromatic
	}
	m.RefreshAromaticBonds()
}

// kekulizeSystems treats all fused ring systems.
func (p *Perceiver) kekulizeSystems(m *mol.Mol, dummy bool) error {
	p.kekule.exhausted = false
	if dummy {
		if err := p.kekulizeWithDummies(m); err != nil {
			return err
		}
	} else {
		for i := range p.blocks.count() {
			if err := p.kekule.block(m, p.blocks.block(i)); err != nil {
				return err
			}
		}
	}
	return p.clearAromatic(m)
}

// clearAromatic drops the flags and checks that no atom changed its valence.
func (p *Perceiver) clearAromatic(m *mol.Mol) error {
	for i := range m.Bonds {
		m.Bonds[i].Flags &^= mol.Aromatic
	}
	m.RefreshAromaticBonds()
	for i := range m.Atoms {
		a := &m.Atoms[i]
		if a.Flags&mol.Aromatic == 0 {
			continue
		}
		if a.Flags&mol.InRing == 0 {
			return &Error{Step: StepAromaticChain, Atoms: []int{i}, Message: "aromatic atom outside any ring"}
		}
		a.Flags &^= mol.Aromatic
		if (a.Z == 7 || a.Z == 15) && a.Charge == 0 && a.ExplicitH == 1 {
			a.Flags &^= mol.NoImplicit
			a.ExplicitH = 0
			updateValence(a)
		}
	}
	for i := range m.Atoms {
		if a := &m.Atoms[i]; a.Valence+int32(a.ImplicitH) != p.total[i] {
			return &Error{Step: StepKekule, Atoms: []int{i}, Message: "no Kekulé form keeps the valence"}
		}
	}
	return nil
}

// prepare sizes the tables, which are all zero between searches.
func (k *kekulizer) prepare(m *mol.Mol) {
	n := len(m.Atoms)
	k.inSystem, k.candidate, k.done = growClear(k.inSystem, n), growClear(k.candidate, n), growClear(k.done, n)
	k.options = growClear(k.options, n)
}

// block kekulizes a fused system without dummy atoms.
func (k *kekulizer) block(m *mol.Mol, bonds []int32) error {
	k.system = k.system[:0]
	aromatic := false
	for _, b := range bonds {
		for _, a := range [2]int32{m.Bonds[b].A, m.Bonds[b].B} {
			if !k.inSystem[a] {
				k.inSystem[a] = true
				k.system = append(k.system, a)
				aromatic = aromatic || m.Atoms[a].IsAromaticWide()
			}
		}
	}
	defer k.leave()
	if !aromatic {
		return nil
	}
	slices.Sort(k.system)
	k.begin()
	for _, a := range k.system {
		if !m.Atoms[a].IsAromaticWide() {
			k.start = append(k.start, a)
		} else if k.surveyBonds(m, a).candidate(&m.Atoms[a]) {
			k.initial = append(k.initial, a)
		}
	}
	k.makeSingle(m)
	return k.solve(m)
}

// begin empties the lists that a survey of the system fills.
func (k *kekulizer) begin() {
	k.start, k.initial, k.questions, k.single = k.start[:0], k.initial[:0], k.questions[:0], k.single[:0]
}

// leave restores the tables.
func (k *kekulizer) leave() {
	for _, a := range k.system {
		k.inSystem[a] = false
	}
}

// survey is what the bonds of an atom say before they are made single.
type survey struct {
	order   int // sum with aromatic bonds counted as single
	ignored int // bonds without a contribution
}

// surveyBonds sums up the bonds of a and lists those to make single.
func (k *kekulizer) surveyBonds(m *mol.Mol, a int32) survey {
	var s survey
	for _, h := range m.Neighbors(a) {
		b := &m.Bonds[h.Bond]
		if b.Flags&mol.Aromatic != 0 && (b.Type == mol.Single || b.Type == mol.Double || b.Type == mol.AromaticType) {
			s.order++
			k.single = append(k.single, h.Bond)
			continue
		}
		c := int(b.Contribution(a)+1) / 2
		s.order += c
		if c == 0 {
			s.ignored++
		}
	}
	return s
}

// candidate reports whether the atom has room for exactly one double bond.
func (s survey) candidate(a *mol.Atom) bool {
	if a.Z == 6 && a.Charge == 0 && a.Radicals == 0 && a.Valence+int32(a.ImplicitH) <= 4 {
		order := s.order + a.TotalH() // the usual case, as below
		return int(a.Degree)+int(a.ImplicitH)-s.ignored < 4 && (order == 3 || order == 2 && a.Flags&mol.NoImplicit != 0)
	}
	e := mol.ElementOf(a.Z)
	charge := int(a.Charge)
	if mol.IsEarly(a.Z) || a.Z == 6 && charge > 0 {
		charge = -charge
	}
	hs, radicals := a.TotalH(), int(a.Radicals)
	order, total := s.order+hs, int(a.Valence)+int(a.ImplicitH)
	degree := int(a.Degree) + int(a.ImplicitH) - s.ignored
	d := e.DefaultValence() + charge
	for _, v := range e.Valences()[1:] {
		if total <= d || v <= 0 {
			break
		}
		d = int(v) + charge
	}
	if total == 5 && order == 4 && d == 3 && degree == 3 && radicals == 0 && charge == 0 && hs == 0 &&
		(a.Z == 7 || a.Z == 15 || a.Z == 33) {
		d = 5
	}
	if degree+radicals >= d {
		return false
	}
	return d == order+1+radicals || radicals == 0 && a.Flags&mol.NoImplicit != 0 && d == order+2
}

func (k *kekulizer) makeSingle(m *mol.Mol) {
	for _, b := range k.single {
		m.SetType(b, mol.Single)
	}
}

// solve searches with the candidates and, if that fails, with every set of
// questionable ones switched off, in binary counting order.
func (k *kekulizer) solve(m *mol.Mol) error {
	if k.search(m, k.start, 0) {
		return nil
	}
	if n := len(k.questions); n > 0 && n < 63 {
		for off := uint64(1); off < 1<<n; off++ {
			k.resetBonds(m)
			if k.search(m, nil, off) {
				return nil
			}
		}
	}
	err := &Error{Step: StepKekule, Message: "no Kekulé form for the aromatic atoms"}
	for _, a := range k.initial {
		err.Atoms = append(err.Atoms, int(a))
	}
	return err
}

// resetBonds makes the flagged bonds of the system single for another attempt.
func (k *kekulizer) resetBonds(m *mol.Mol) {
	for _, a := range k.system {
		for _, h := range m.Neighbors(a) {
			if b := &m.Bonds[h.Bond]; k.inSystem[h.Atom] && b.Flags&mol.Aromatic != 0 && b.Type != mol.Single {
				m.SetType(h.Bond, mol.Single)
			}
		}
	}
}

// search walks the system breadth-first from its lowest atom and gives every
// candidate a double bond to its first candidate neighbour, returning to the
// latest other choice where none is left. Questionable atoms in off take none.
func (k *kekulizer) search(m *mol.Mol, start []int32, off uint64) bool {
	k.doneList, k.queue, k.head = k.doneList[:0], k.queue[:0], 0
	k.partners, k.moves, k.added = k.partners[:0], k.moves[:0], k.added[:0]
	for _, a := range k.system {
		k.done[a], k.candidate[a], k.options[a] = false, false, span{}
	}
	for _, a := range k.initial {
		k.candidate[a] = true
	}
	for i, a := range k.questions {
		if off>>i&1 != 0 {
			k.candidate[a] = false
		}
	}
	for _, a := range start {
		k.visit(a)
	}
	scan, backTracks := 0, 0
	for {
		var cur int32
		if k.head < len(k.queue) {
			cur = k.queue[k.head]
			k.head++
		} else {
			for scan < len(k.system) && k.done[k.system[scan]] {
				scan++
			}
			if scan == len(k.system) {
				return true
			}
			cur = k.system[scan]
		}
		k.visit(cur)
		o := k.options[cur]
		retry := o.to > o.from
		if !retry {
			o = k.spread(m, cur)
		}
		if !k.candidate[cur] {
			continue
		}
		if o.to > o.from {
			k.pair(m, cur, o, retry)
			continue
		}
		if m.Atoms[cur].Z == 0 {
			continue
		}
		if len(k.moves) == 0 || backTracks == k.limit {
			k.exhausted = k.exhausted || len(k.moves) > 0
			k.undo(m)
			return false
		}
		k.backTrack(m, k.moves[len(k.moves)-1])
		scan = 0
		backTracks++
	}
}

func (k *kekulizer) visit(a int32) {
	k.done[a] = true
	k.doneList = append(k.doneList, a)
}

// spread queues the unvisited neighbours of cur and returns those that it may
// pair with. Neighbours come in order of atom number.
func (k *kekulizer) spread(m *mol.Mol, cur int32) span {
	o := span{int32(len(k.partners)), int32(len(k.partners))}
	last := int32(-1)
	for {
		next := mol.Half{Atom: -1}
		for _, h := range m.Neighbors(cur) {
			if h.Atom > last && (next.Atom < 0 || h.Atom < next.Atom) && k.inSystem[h.Atom] && !k.done[h.Atom] {
				next = h
			}
		}
		if next.Atom < 0 {
			return o
		}
		last = next.Atom
		if !slices.Contains(k.queue[k.head:], last) {
			k.queue = append(k.queue, last)
		}
		if k.candidate[cur] && k.candidate[last] && (m.Bonds[next.Bond].Flags&mol.Aromatic != 0 ||
			m.Atoms[cur].Z == 0 || m.Atoms[last].Z == 0) {
			k.partners = append(k.partners, last)
			o.to++
		}
	}
}

// pair makes the bond from cur to its first partner double and keeps the others.
func (k *kekulizer) pair(m *mol.Mol, cur int32, o span, retry bool) {
	partner := k.partners[o.from]
	o.from++
	b := m.Between(cur, partner)
	m.SetType(b, mol.Double)
	k.candidate[cur], k.candidate[partner] = false, false
	k.added = append(k.added, b)
	k.options[cur] = o
	switch {
	case retry && o.from == o.to:
		k.moves = k.moves[:len(k.moves)-1]
	case !retry && o.from < o.to:
		k.moves = append(k.moves, cur)
	}
}

// backTrack undoes everything from the visit of atom to on.
func (k *kekulizer) backTrack(m *mol.Mol, to int32) {
	at := slices.Index(k.doneList, to)
	undone := k.doneList[at:]
	for _, a := range undone {
		k.done[a] = false
	}
	waiting := len(k.queue) - k.head
	k.queue = append(k.queue, undone...)
	rotate(k.queue[k.head:], waiting)
	k.doneList = k.doneList[:at]
	kept := k.added[:0]
	for _, b := range k.added {
		bond := &m.Bonds[b]
		if k.done[bond.A] || k.done[bond.B] {
			kept = append(kept, b)
			continue
		}
		m.SetType(b, mol.Single)
		k.candidate[bond.A], k.candidate[bond.B] = true, true
	}
	k.added = kept
}

// rotate moves the first n elements behind the others.
func rotate(s []int32, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}

// undo leaves no double bond of a failed search behind.
func (k *kekulizer) undo(m *mol.Mol) {
	for _, b := range k.added {
		m.SetType(b, mol.Single)
	}
}
