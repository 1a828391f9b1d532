package mol

// MaxAtomicNumber is the highest element in the table (oganesson).
const MaxAtomicNumber = 118

// Element is a row of the periodic table as RDKit's valence model sees it.
type Element struct {
	Symbol         string
	OuterElectrons int8
	valences       [4]int8
	numValences    uint8
	CommonIsotope  int16
	weight         float64
}

// massCorrection adjusts the mass difference of isotopes first..last of element z.
type massCorrection struct {
	z           uint8
	first, last uint16
	delta       int8
}

// ElementOf returns the table row of atomic number z, which must not exceed
// MaxAtomicNumber.
func ElementOf(z uint8) *Element { return &elements[z] }

// Valences lists the allowed valences in ascending order. A final -1 accepts any
// higher valence; a list of only -1 is an element without a valence model.
func (e *Element) Valences() []int8 { return e.valences[:e.numValences] }

// DefaultValence is the first listed valence, -1 for elements without a model.
func (e *Element) DefaultValence() int { return int(e.valences[0]) }

// MaxValence is the last listed valence, -1 when any is accepted.
func (e *Element) MaxValence() int { return int(e.valences[e.numValences-1]) }

// HasValenceModel reports whether the element restricts its valence at all.
func (e *Element) HasValenceModel() bool { return e.numValences > 1 || e.valences[0] != -1 }

// MassDifference is the mass of the isotope minus the atomic weight, truncated
// toward zero: 0 for no isotope and for the dummy atom.
func MassDifference(z uint8, isotope uint16) int {
	if isotope == 0 || z == 0 {
		return 0
	}
	d := int(float64(isotope) - elements[z].weight)
	for i := range massCorrections {
		c := &massCorrections[i]
		if c.z == z && c.first <= isotope && isotope <= c.last {
			return d + int(c.delta)
		}
	}
	return d
}

// MoreElectronegative reports whether a attracts electrons more than b in RDKit's
// crude order: more outer electrons, or as many and the lighter element.
func MoreElectronegative(a, b uint8) bool {
	oa, ob := elements[a].OuterElectrons, elements[b].OuterElectrons
	return oa > ob || oa == ob && a < b
}

// metalSet has a bit for every element that counts as a metal.
var metalSet = func() (s [2]uint64) {
	for z := range MaxAtomicNumber + 1 {
		switch {
		case z <= 2, z >= 5 && z <= 10, z >= 14 && z <= 18, z >= 33 && z <= 36,
			z >= 52 && z <= 54, z == 85, z == 86:
		default:
			s[z>>6] |= 1 << (z & 63)
		}
	}
	return s
}()

// IsMetal reports whether element z is a metal; metalloids from germanium on count.
func IsMetal(z uint8) bool { return metalSet[z>>6]>>(z&63)&1 != 0 }

// IsEarly reports whether element z lies left of carbon, where a positive charge
// lowers the valence instead of raising it.
func IsEarly(z uint8) bool {
	switch {
	case z >= 3 && z <= 5, z >= 11 && z <= 13, z >= 19 && z <= 22, z >= 30 && z <= 32,
		z >= 37 && z <= 41, z >= 48 && z <= 51, z >= 55 && z <= 61, z == 72, z == 73,
		z >= 80 && z <= 83, z >= 87 && z <= 93, z >= 104 && z <= MaxAtomicNumber:
		return true
	}
	return false
}
