package smiles

import (
	"math"

	"scimesh.dev/scimesh/chem/mol"
)

// classForm in Atom.Perm marks a tetrahedral mark that was written as @TH.
const classForm = 255

// symbols maps the element names allowed in brackets to atomic numbers; names of
// aromatic atoms have aromaticName added.
var symbols = func() map[string]int16 {
	t := make(map[string]int16, 160)
	for z := 1; z <= mol.MaxAtomicNumber; z++ {
		t[mol.ElementOf(uint8(z)).Symbol] = int16(z)
	}
	for i, name := range []string{"Uun", "Uuu", "Uub", "Uut", "Uuq", "Uup", "Uuh", "Uus", "Uuo"} {
		t[name] = int16(110 + i)
	}
	for z := 104; z <= mol.MaxAtomicNumber; z++ {
		t["'"+mol.ElementOf(uint8(z)).Symbol+"'"] = int16(z)
	}
	for name, z := range map[string]int16{"b": 5, "c": 6, "n": 7, "o": 8, "p": 15, "s": 16,
		"si": 14, "as": 33, "se": 34, "te": 52} {
		t[name] = z + aromaticName
	}
	t["*"] = 0
	return t
}()

const aromaticName = 1000

// bracket adds the bracket atom that opens at offset i and returns the offset
// behind its closing bracket.
func (r *Reader) bracket(i, end int) (next int, err error) {
	a := r.m.AddAtom()
	s := r.input[:end]
	a.Flags = mol.NoImplicit
	j := i + 1
	if j < end && isDigit(s[j]) {
		var n int32
		if n, j, err = r.number(j, end); err != nil {
			return 0, err
		}
		a.Isotope = uint16(n)
	}
	hydrogen := false
	if hydrogen = j < end && isHydrogen(s, j); hydrogen {
		a.Z = 1
		j++
	} else {
		if j, err = r.element(a, j, end); err != nil {
			return 0, err
		}
		if j < end && s[j] == '@' {
			if j, err = r.chirality(a, j, end); err != nil {
				return 0, err
			}
		}
	}
	if a.Z == 1 {
		r.m.Hydrogens = true
	}
	if j < end && isHydrogen(s, j) {
		a.ExplicitH = 1
		j++
		if j < end && isDigit(s[j]) {
			var n int32
			if n, j, err = r.number(j, end); err != nil {
				return 0, err
			}
			a.ExplicitH = uint8(n)
		}
	}
	if j, err = r.charge(a, j, end); err != nil {
		return 0, err
	}
	if j < end && s[j] == ':' {
		if j+1 >= end || !isDigit(s[j+1]) {
			return 0, r.fail(j, "an atom map number is missing")
		}
		if a.Map, j, err = r.number(j+1, end); err != nil {
			return 0, err
		}
		a.Map++
	}
	if j >= end || s[j] == '\n' {
		return 0, r.fail(i, "bracket is never closed")
	}
	if s[j] != ']' {
		return 0, r.fail(j, "unexpected %q in a bracket atom", s[j])
	}
	if a.Chirality.IsTetrahedral() {
		r.marked = true
		switch a.Z {
		case 6, 7, 8, 15, 16:
		default:
			r.m.MarkedOddly = true
		}
	}
	return j + 1, nil
}

// isHydrogen reports whether s[j] is an H that does not begin a longer symbol.
func isHydrogen(s []byte, j int) bool {
	if s[j] != 'H' {
		return false
	}
	if j+1 < len(s) {
		switch s[j+1] {
		case 'e', 'o', 'f', 'g', 's':
			return false
		}
	}
	return true
}

// number reads a decimal number without leading zeros; a lone 0 is one.
func (r *Reader) number(j, end int) (n int32, next int, err error) {
	s := r.input[:end]
	if s[j] == '0' {
		return 0, j + 1, nil
	}
	from := j
	for ; j < end && isDigit(s[j]); j++ {
		d := int32(s[j] - '0')
		if n >= math.MaxInt32/10 || n*10 >= math.MaxInt32-d {
			return 0, 0, r.fail(from, "number too large")
		}
		n = n*10 + d
	}
	return n, j, nil
}

// element reads the symbol at offset j, longest name first, or #number.
func (r *Reader) element(a *mol.Atom, j, end int) (next int, err error) {
	s := r.input[:end]
	if j >= end {
		return 0, r.fail(j, "an element symbol is missing")
	}
	if s[j] == '#' {
		if j+1 >= end || !isDigit(s[j+1]) {
			return 0, r.fail(j, "an atomic number is missing")
		}
		n, next, err := r.number(j+1, end)
		if err != nil {
			return 0, err
		}
		if uint8(n) > mol.MaxAtomicNumber {
			return 0, r.fail(j, "no element has atomic number %d", n)
		}
		a.Z = uint8(n)
		return next, nil
	}
	if o := organic[s[j]]; o != 0 && (j+1 >= end || s[j+1] < 'a' || s[j+1] > 'z') {
		a.Z = o&0x7f - 1
		if o >= 0x80 {
			a.Flags |= mol.Aromatic
		}
		return j + 1, nil
	}
	for width := min(4, end-j); width > 0; width-- {
		z, ok := symbols[string(s[j:j+width])]
		if !ok {
			continue
		}
		if z >= aromaticName {
			z -= aromaticName
			a.Flags |= mol.Aromatic
		}
		a.Z = uint8(z)
		return j + width, nil
	}
	return 0, r.fail(j, "unknown element symbol")
}

// chirality reads the mark at offset j: @, @@ or @ and a class.
func (r *Reader) chirality(a *mol.Atom, j, end int) (next int, err error) {
	s := r.input[:end]
	k := j + 1
	for k < end && s[k] == '\'' {
		k++
	}
	if k+1 < end {
		var class mol.Chirality
		limit := int32(0)
		switch string(s[k : k+2]) {
		case "TH":
			class, limit = mol.CounterClockwise, 2
		case "AL":
			class, limit = mol.Allene, 2
		case "SP":
			class, limit = mol.SquarePlanar, 3
		case "TB":
			class, limit = mol.TrigonalBipyramidal, 20
		case "OH":
			class, limit = mol.Octahedral, 30
		}
		if class != mol.NoChirality {
			return r.chiralClass(a, class, limit, k+2, end)
		}
	}
	a.Chirality = mol.CounterClockwise
	if j+1 < end && s[j+1] == '@' {
		a.Chirality = mol.Clockwise
		return j + 2, nil
	}
	return j + 1, nil
}

// chiralClass reads the permutation number behind a class name.
func (r *Reader) chiralClass(a *mol.Atom, class mol.Chirality, limit int32, j, end int) (int, error) {
	a.Chirality = class
	n := int32(0)
	if j < end && isDigit(r.input[j]) {
		var err error
		from := j
		if n, j, err = r.number(j, end); err != nil {
			return 0, err
		}
		if n == 0 || n > limit {
			return 0, r.fail(from, "the class has permutations 1 to %d", limit)
		}
	}
	if class == mol.CounterClockwise {
		if n == 2 {
			a.Chirality = mol.Clockwise
		}
		a.Perm = classForm
		return j, nil
	}
	a.Perm = uint8(n)
	return j, nil
}

// charge reads +, ++, +n, -, -- or -n at offset j, if any.
func (r *Reader) charge(a *mol.Atom, j, end int) (next int, err error) {
	s := r.input[:end]
	if j >= end || s[j] != '+' && s[j] != '-' {
		return j, nil
	}
	sign, n := s[j], int32(1)
	j++
	if j < end {
		switch {
		case s[j] == sign:
			n = 2
			j++
		case isDigit(s[j]):
			if n, j, err = r.number(j, end); err != nil {
				return 0, err
			}
		}
	}
	if sign == '-' {
		n = -n
	}
	a.Charge = int8(n)
	return j, nil
}
