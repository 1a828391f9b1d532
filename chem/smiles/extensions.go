package smiles

import (
	"bytes"
	"strconv"

	"scimesh.dev/scimesh/chem/mol"
)

// extensions reads what follows the SMILES from offset i: a name, which is
// ignored, or CXSMILES between two bars. Applied are the sections C, H and Z
// (bond types), ^ (radicals) and labels of query atoms. Everything else, such as
// coordinates, other labels, stereo groups, polymer and data groups, has no
// bearing on the graph and is skipped, wedges and stereo groups after a check of
// their numbers. Polymer and data groups, which protect hydrogen atoms from
// being folded, are refused in molecules that have such atoms.
func (r *Reader) extensions(i int) error {
	s := r.input
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i == len(s) || s[i] != '|' {
		return nil
	}
	r.m.Plain = false
	x := &extension{Reader: r, i: i + 1, labelled: map[int]bool{}}
	for x.i < len(s) && s[x.i] != '|' {
		if err := x.section(); err != nil {
			return err
		}
	}
	if x.i >= len(s) {
		return r.fail(i, "the CXSMILES part is never closed")
	}
	if x.written != nil {
		r.m.RefreshAromaticBonds()
	}
	for a := range r.m.Atoms {
		if at := &r.m.Atoms[a]; at.Z == 0 && at.Isotope == 0 && !x.labelled[a] {
			makeDummy(at)
		}
	}
	return nil
}

// makeDummy leaves nothing of an atom but its place and its map number.
func makeDummy(a *mol.Atom) {
	*a = mol.Atom{Degree: a.Degree, Twice: a.Twice, Map: a.Map,
		Flags: a.Flags&(mol.AromaticBond|mol.Start) | mol.NoImplicit}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// extension is a cursor in a CXSMILES part.
type extension struct {
	*Reader
	i        int
	labelled map[int]bool
	written  []int32 // bonds in the order of the string, once needed
}

func (x *extension) at(prefix string) bool {
	return bytes.HasPrefix(x.input[x.i:], []byte(prefix))
}

func (x *extension) is(c byte) bool { return x.i < len(x.input) && x.input[x.i] == c }

// section reads one section, or skips a byte between sections.
func (x *extension) section() error {
	switch c := x.input[x.i]; {
	case c == '(':
		return x.skipPast(')')
	case x.at("$_AV:"):
		x.i++
		return x.skipPast('$')
	case c == '$':
		return x.labels()
	case x.at("atomProp:"):
		for x.i < len(x.input) && !x.is('|') && !x.is(',') {
			x.i++
		}
		return nil
	case c == 'C':
		return x.bondTypes(mol.Dative)
	case c == 'H':
		return x.bondTypes(mol.HydrogenBond)
	case c == 'Z':
		return x.zeroBonds()
	case c == '^':
		return x.radicals()
	case x.at("Sg"):
		return x.group()
	case c == 'w':
		return x.wedges()
	case c == 'a', c == 'o', c == '&' && !x.at("&#"):
		return x.stereoGroup()
	case c == 'c', c == 't':
		return x.configurations()
	case c == 'u', c == 's', c == 'm', x.at("rb"), x.at("LN"):
		return x.queries()
	default:
		x.i++
		return nil
	}
}

// skipPast moves behind the next byte c after the current one.
func (x *extension) skipPast(c byte) error {
	from := x.i
	x.i++
	n := bytes.IndexByte(x.input[x.i:], c)
	if n < 0 {
		return x.fail(from, "CXSMILES section is never closed")
	}
	x.i += n + 1
	return nil
}

// configurations skips c:1,2 and the like. As in RDKit the name reaches to the
// next colon, wherever that is.
func (x *extension) configurations() error {
	from := x.i
	n := bytes.IndexByte(x.input[x.i:], ':')
	if n < 0 {
		return x.fail(from, "CXSMILES section without a colon")
	}
	for x.i += n + 1; x.atDigit(); {
		if _, err := x.int(); err != nil {
			return err
		}
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// queries skips the sections of numbers about query features, repeated atoms and
// attachments at several places, which mark atoms but leave the graph alone.
func (x *extension) queries() error {
	single := x.is('u') // u:1,2; the others pair the number with more
	attached := x.is('m')
	x.i++
	if x.is('b') || x.is('N') {
		x.i++
	}
	if !x.is(':') {
		return x.fail(x.i, "a colon is missing in CXSMILES")
	}
	x.i++
	for x.atDigit() {
		from := x.i
		a, err := x.int()
		if err != nil {
			return err
		}
		if attached && a < len(x.m.Atoms) && x.m.Atoms[a].Degree != 1 {
			return x.fail(from, "atom %d has other bonds besides the one with several places", a)
		}
		if !single {
			if !x.is(':') {
				return x.fail(x.i, "a colon is missing in CXSMILES")
			}
			x.i++
			if !x.is('*') && !x.atDigit() && !attached {
				return x.fail(x.i, "a number is missing in CXSMILES")
			}
			for x.atDigit() || x.is('.') || x.is('*') {
				x.i++
			}
		}
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// name steps over the name of a section and its colon.
func (x *extension) name() error {
	from := x.i
	for x.i < len(x.input) && !x.is(':') && !x.is('|') {
		x.i++
	}
	if !x.is(':') {
		return x.fail(from, "CXSMILES section without a colon")
	}
	x.i++
	return nil
}

// group skips a polymer or data group, whose fields may hold any text up to a
// comma that begins another section.
func (x *extension) group() error {
	from := x.i
	for i := range x.m.Atoms {
		if x.m.Atoms[i].Z == 1 {
			return x.fail(from, "CXSMILES group in a molecule with hydrogen atoms is not supported")
		}
	}
	for x.i++; x.i < len(x.input) && !x.is('|'); x.i++ {
		if x.is(',') && x.i+1 < len(x.input) && !isDigit(x.input[x.i+1]) {
			return nil
		}
	}
	return nil
}

// wedges reads wU:a.b,…: bond b must touch atom a.
func (x *extension) wedges() error {
	if err := x.name(); err != nil {
		return err
	}
	for x.atDigit() {
		from := x.i
		a, b, err := x.pair()
		if err != nil {
			return err
		}
		if a < len(x.m.Atoms) && b < len(x.m.Bonds) {
			if i := x.writtenBond(b); i < 0 || int(x.m.Bonds[i].A) != a && int(x.m.Bonds[i].B) != a {
				return x.fail(from, "atom %d has no bond %d", a, b)
			}
		}
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// stereoGroup reads a:1,2 or &1:1,2, in which no atom may stand twice.
func (x *extension) stereoGroup() error {
	x.i++
	for x.atDigit() {
		x.i++
	}
	if !x.is(':') {
		return x.fail(x.i, "a colon is missing in CXSMILES")
	}
	x.i++
	seen := map[int]bool{}
	for x.atDigit() {
		from := x.i
		a, err := x.int()
		if err != nil {
			return err
		}
		if seen[a] {
			return x.fail(from, "atom %d stands twice in a stereo group", a)
		}
		seen[a] = a < len(x.m.Atoms)
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// pair reads a.b.
func (x *extension) pair() (a, b int, err error) {
	if a, err = x.int(); err != nil {
		return 0, 0, err
	}
	if !x.is('.') {
		return 0, 0, x.fail(x.i, "a dot is missing in CXSMILES")
	}
	x.i++
	b, err = x.int()
	return a, b, err
}

// int reads a number.
func (x *extension) int() (int, error) {
	from := x.i
	for x.i < len(x.input) && isDigit(x.input[x.i]) {
		x.i++
	}
	n, err := strconv.Atoi(string(x.input[from:x.i]))
	if err != nil {
		return 0, x.fail(from, "a number is missing in CXSMILES")
	}
	return n, nil
}

// colon steps over the section name and its colon.
func (x *extension) colon() error {
	x.i++
	if !x.is(':') {
		return x.fail(x.i, "a colon is missing in CXSMILES")
	}
	x.i++
	return nil
}

func (x *extension) atDigit() bool { return x.i < len(x.input) && isDigit(x.input[x.i]) }

// bondTypes reads C:a.b,… or H:a.b,…: bond b of atom a gets the type, beginning
// at a.
func (x *extension) bondTypes(t mol.BondType) error {
	if err := x.colon(); err != nil {
		return err
	}
	for x.atDigit() {
		from := x.i
		a, b, err := x.pair()
		if err != nil {
			return err
		}
		if err := x.setBond(a, b, t, from); err != nil {
			return err
		}
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// setBond gives the bond with written number b its type if atom a begins or ends it.
func (x *extension) setBond(a, b int, t mol.BondType, offset int) error {
	if a >= len(x.m.Atoms) || b >= len(x.m.Bonds) {
		return nil
	}
	i := x.writtenBond(b)
	if i < 0 || int(x.m.Bonds[i].A) != a && int(x.m.Bonds[i].B) != a {
		return x.fail(offset, "atom %d has no bond %d", a, b)
	}
	x.m.SetType(i, mol.ZeroOrder)
	if bond := &x.m.Bonds[i]; int(bond.A) != a {
		bond.A, bond.B = bond.B, bond.A
	}
	x.m.SetType(i, t)
	return nil
}

// writtenBond finds the bond by its number in the order of the string, where a
// ring closure counts at its second digit; -1 if there is none.
func (x *extension) writtenBond(n int) int32 {
	if x.written == nil {
		x.written = make([]int32, len(x.m.Bonds))
		for i := range x.written {
			x.written[i] = -1
		}
		for i := range x.closures.all {
			x.written[x.closures.all[i].written] = int32(x.m.ChainBonds + i)
		}
		chain := int32(0)
		for i, b := range x.written {
			if b < 0 {
				x.written[i] = chain
				chain++
			}
		}
	}
	if n >= len(x.written) {
		return -1
	}
	return x.written[n]
}

// zeroBonds reads Z:b,…
func (x *extension) zeroBonds() error {
	if err := x.colon(); err != nil {
		return err
	}
	for x.atDigit() {
		b, err := x.int()
		if err != nil {
			return err
		}
		if b < len(x.m.Bonds) {
			if i := x.writtenBond(b); i >= 0 {
				x.m.SetType(i, mol.ZeroOrder)
			}
		}
		if x.is(',') {
			x.i++
		}
	}
	return nil
}

// radicals reads ^n:a,…
func (x *extension) radicals() error {
	x.i++
	if x.i >= len(x.input) || x.input[x.i] < '1' || x.input[x.i] > '7' {
		return x.fail(x.i, "radical kinds are 1 to 7")
	}
	electrons := [...]uint8{1, 2, 2, 2, 3, 3, 3}[x.input[x.i]-'1']
	if err := x.colon(); err != nil {
		return err
	}
	for {
		a, err := x.int()
		if err != nil {
			return err
		}
		if a < len(x.m.Atoms) {
			x.m.Atoms[a].Radicals = electrons
		}
		if !x.is(',') {
			return nil
		}
		x.i++
		if !x.atDigit() {
			return nil
		}
	}
}

// labels reads $label;label;…$ and turns atoms with the label of a query atom
// into dummy atoms.
func (x *extension) labels() error {
	from := x.i
	if err := x.skipPast('$'); err != nil {
		return err
	}
	for a, label := range bytes.Split(x.input[from+1:x.i-1], []byte(";")) {
		if a >= len(x.m.Atoms) {
			break
		}
		switch string(label) {
		case "":
		case "star_e", "Q_e", "QH_p", "AH_p", "X_p", "XH_p", "M_p", "MH_p":
			makeDummy(&x.m.Atoms[a])
		default:
			x.labelled[a] = true
		}
	}
	return nil
}
