package perceive

import "scimesh.dev/scimesh/chem/mol"

// plainElements are the elements of quick molecules. Those that may be written
// as aromatic come first.
var plainElements = [...]uint8{6, 7, 8, 16, 9, 17, 35, 53, 15, 5, 14, 34, 1, 3, 11, 19}

// lastAromaticClass is the class of sulfur.
const lastAromaticClass = 4

// maxPlainSum bounds twice the sum of bond orders and hydrogens in the tables.
const maxPlainSum = 20

// plainClass numbers the plain elements from 1; 0 is any other.
var plainClass = func() (t [128]uint8) {
	for i, z := range plainElements {
		t[z] = uint8(i + 1)
	}
	return t
}()

// Verdicts of plainValence: fine, or in need of the general steps.
const (
	fine   = 0
	unfine = 1
)

// plainValence is what the general steps make of an atom of a plain element with
// a charge of -1 to +1, given whether it is aromatic and its sum of bond orders.
type plainValence struct {
	valence  uint8
	implicit uint8
	bare     uint8 // verdict on an atom without brackets
	bracket  uint8 // verdict on a bracket atom
	check    uint8 // suits must be asked
}

var plainValences = func() (t [len(plainElements) + 1][3][2][maxPlainSum]plainValence) {
	for i, z := range plainElements {
		for charge := range int8(3) {
			for wide := range 2 {
				for sum := range int32(maxPlainSum) {
					t[i+1][charge][wide][sum] = tabulate(z, charge-1, wide == 1, sum)
				}
			}
		}
	}
	return t
}()

// tabulate asks the general steps about one kind of atom.
func tabulate(z uint8, charge int8, wide bool, sum int32) (p plainValence) {
	a := mol.Atom{Z: z, Charge: charge, Twice: sum}
	if wide {
		a.Flags = mol.Aromatic
	}
	a.Valence = explicitValence(&a)
	p.valence = uint8(a.Valence)
	allowed := explicitAllowed(&a)
	h, ok := implicitHydrogens(&a)
	p.implicit = h
	if !allowed || !ok {
		p.bare = unfine
	}
	kekule := a
	kekule.Twice = 2 * a.Valence // bonds sum up to the valence once they alternate
	if !allowed || unpaired(&kekule) != 0 {
		p.bracket = unfine
	}
	if sum%2 == 1 && !wide {
		p.bare, p.bracket = unfine, unfine
	}
	switch z {
	case 7: // may be hypervalent as written
		if a.Valence == 5 {
			p.bare, p.bracket = unfine, unfine
		}
	case 15:
		if a.Valence == 5 {
			p.check = 1
		}
	case 17, 35, 53:
		if a.Valence > 1 {
			p.bare, p.bracket = unfine, unfine
		}
	case 1, 3, 11, 19:
		p.check = 1
	}
	return p
}

// suits decides about kinds of atoms that depend on more than the table's keys:
// phosphorus that may have to be cleaned up, and hydrogen and metals, which must
// be lone ions.
func (p *plainValence) suits(a *mol.Atom) bool {
	if a.Z == 15 {
		return a.Degree != 3
	}
	return a.Degree == 0
}
