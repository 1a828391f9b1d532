package smiles

import "scimesh.dev/scimesh/chem/mol"

// Reader reads SMILES strings. Its memory is reused from string to string; it
// must not be used by two goroutines at once. The zero value is ready.
type Reader struct {
	input    []byte
	m        *mol.Mol
	branches []branch
	closures closures
	cut      bool // a name may follow
	tail     int  // where it begins, 0 if there is none
	marked   bool // a tetrahedral mark was read
	colon    bool // a bond was written as aromatic
}

type branch struct {
	atom   int32
	offset int // of the opening parenthesis
}

// state says what the grammar allows next.
type state uint8

const (
	atStart         state = iota // an atom
	complete                     // anything but a second dot or bond
	afterBond                    // an atom or a ring number
	afterBranch                  // an atom or a bond
	afterBranchBond              // an atom
	afterDot                     // an atom
)

// bondMark is a bond symbol that waits for its second atom.
type bondMark struct {
	symbol byte // 0: none written
	offset int
}

// Read replaces the contents of m with the molecule that s spells. The empty
// string is a molecule without atoms. Text after the first space or tab is a
// name, or CXSMILES if it starts with '|'. The error is a *SyntaxError.
func (r *Reader) Read(m *mol.Mol, s []byte) error {
	m.Reset()
	r.input, r.m = s, m
	if len(s) == 0 {
		m.Finish()
		return nil
	}
	start := 0
	for start < len(s) && outside(s[start]) {
		start++
	}
	if start == len(s) {
		return r.fail(0, "no atoms")
	}
	r.cut, r.tail = s[0] != ' ' && s[0] != '\t', 0
	if err := r.chain(start, len(s)); err != nil {
		return err
	}
	if err := r.closeRings(); err != nil {
		return err
	}
	m.MarkedOddly = m.MarkedOddly || r.marked && r.colon
	if r.tail > 0 {
		return r.extensions(r.tail)
	}
	return nil
}

// ends reports whether the chain ends at offset i: with a newline, or with bytes
// to strip up to the end or to the space or tab that begins the name. A string
// that begins with a space or tab has no name.
func (r *Reader) ends(i int) bool {
	s := r.input
	newline := s[i] == '\n'
	for ; i < len(s); i++ {
		if r.cut && (s[i] == ' ' || s[i] == '\t') {
			r.tail = i
			return true
		}
		if !newline && !outside(s[i]) {
			return false
		}
	}
	return true
}

// outside reports bytes that are stripped from both ends.
func outside(c byte) bool { return c <= ' ' || c >= 0x80 }

// organic maps a byte to the atomic number of the one-letter atom it writes
// outside brackets, plus one; the high bit marks aromatic atoms.
var organic = [256]uint8{
	'B': 6, 'C': 7, 'N': 8, 'O': 9, 'F': 10, 'P': 16, 'S': 17, 'I': 54, '*': 1,
	'b': 0x80 | 6, 'c': 0x80 | 7, 'n': 0x80 | 8, 'o': 0x80 | 9, 'p': 0x80 | 16, 's': 0x80 | 17,
}

// chain reads the atoms, bonds, branches and ring numbers of input[i:end].
func (r *Reader) chain(i, end int) error {
	s := r.input[:end]
	r.branches = r.branches[:0]
	r.closures.reset()
	r.marked, r.colon = false, false
	st, prev := atStart, int32(-1)
	var mark bondMark
	for i < end {
		c := s[i]
		if o := organic[c]; o != 0 {
			a := r.m.AddAtom()
			a.Z = o&0x7f - 1
			i++
			if o >= 0x80 {
				a.Flags = mol.Aromatic
			} else if i < end && s[i] >= 'l' {
				switch {
				case c == 'C' && s[i] == 'l':
					a.Z = 17
					i++
				case c == 'B' && s[i] == 'r':
					a.Z = 35
					i++
				}
			}
			prev = r.join(prev, st, mark)
			st, mark.symbol = complete, 0
			continue
		}
		switch c {
		case '[':
			next, err := r.bracket(i, end)
			if err != nil {
				return err
			}
			prev = r.join(prev, st, mark)
			st, mark.symbol = complete, 0
			i = next
			continue
		case '(':
			if st != complete {
				return r.fail(i, "a branch must follow an atom")
			}
			r.branches = append(r.branches, branch{prev, i})
			st = afterBranch
		case ')':
			if st != complete {
				return r.fail(i, "a branch must end after an atom")
			}
			if len(r.branches) == 0 {
				return r.fail(i, "no branch is open")
			}
			prev = r.branches[len(r.branches)-1].atom
			r.branches = r.branches[:len(r.branches)-1]
		case '.':
			if st != complete {
				return r.fail(i, "a dot must follow an atom")
			}
			st = afterDot
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '%':
			if st != complete && st != afterBond {
				return r.fail(i, "a ring number must follow an atom")
			}
			number, next := int32(c-'0'), i+1
			if c == '%' {
				var err error
				if number, next, err = r.ringNumber(i, end); err != nil {
					return err
				}
			}
			r.ringDigit(number, i, prev, mark)
			st, mark.symbol = complete, 0
			i = next
			continue
		default:
			if outside(c) && r.ends(i) {
				return r.finish(i, st, mark)
			}
			symbol, width := bondSymbol(s, i)
			if symbol == 0 {
				return r.fail(i, "unexpected %q", c)
			}
			switch st {
			case complete:
				st = afterBond
			case afterBranch:
				st = afterBranchBond
			default:
				return r.fail(i, "a bond must follow an atom")
			}
			mark = bondMark{symbol, i}
			switch symbol {
			case ':':
				r.colon, r.m.Plain = true, false
			case '$', '~', dativeRight, dativeLeft:
				r.m.Plain = false
			}
			i += width
			continue
		}
		i++
	}
	return r.finish(end, st, mark)
}

// finish checks that nothing is pending at offset i, the end of the chain.
func (r *Reader) finish(i int, st state, mark bondMark) error {
	switch st {
	case complete:
	case atStart:
		return r.fail(i, "no atoms")
	case afterBond, afterBranchBond:
		return r.fail(mark.offset, "bond without a second atom")
	default:
		return r.fail(i, "an atom is missing at the end")
	}
	if n := len(r.branches); n > 0 {
		return r.fail(r.branches[n-1].offset, "branch is never closed")
	}
	return nil
}

// Symbols of the two-character bonds, as kept in bondMark.
const (
	dativeRight = 'R'
	dativeLeft  = 'L'
)

// bondSymbol returns the bond written at s[i] and its width, or 0.
func bondSymbol(s []byte, i int) (symbol byte, width int) {
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch c := s[i]; c {
	case '=', '#', '$', ':', '~', '/':
		return c, 1
	case '-':
		if next == '>' {
			return dativeRight, 2
		}
		return c, 1
	case '<':
		if next == '-' {
			return dativeLeft, 2
		}
	case '\\':
		if next == '\\' {
			return c, 2
		}
		return c, 1
	}
	return 0, 0
}

// bondOf makes the bond that the mark writes from atom a to atom b. Where the
// mark leaves the type open it follows from the atoms' aromatic flags.
func bondOf(symbol byte, a, b int32, bothAromatic bool) mol.Bond {
	bond := mol.Bond{A: a, B: b}
	switch symbol {
	case '-':
		bond.Type = mol.Single
	case '=':
		bond.Type = mol.Double
	case '#':
		bond.Type = mol.Triple
	case '$':
		bond.Type = mol.Quadruple
	case ':':
		bond.Type, bond.Flags = mol.AromaticType, mol.Aromatic
	case '~':
		bond.Type = mol.Unspecified
	case dativeRight:
		bond.Type = mol.Dative
	case dativeLeft:
		bond.A, bond.B, bond.Type = b, a, mol.Dative
	default:
		bond.Type = mol.Single
		if bothAromatic {
			bond.Type, bond.Flags = mol.AromaticType, mol.Aromatic
		}
		switch symbol {
		case '/':
			bond.Direction = mol.Up
		case '\\':
			bond.Direction = mol.Down
		}
	}
	return bond
}

// join bonds the atom that was added last to prev, unless the state says that it
// starts a component, and returns its index.
func (r *Reader) join(prev int32, st state, mark bondMark) int32 {
	m := r.m
	i := int32(len(m.Atoms) - 1)
	switch {
	case st == atStart || st == afterDot:
		m.Atoms[i].Flags |= mol.Start
		return i
	case mark.symbol == 0:
		m.Chain(prev)
	default:
		m.AddBond(bondOf(mark.symbol, prev, i, m.Atoms[prev].Flags&m.Atoms[i].Flags&mol.Aromatic != 0))
	}
	m.ChainBonds++
	return i
}
