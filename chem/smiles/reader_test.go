package smiles

import (
	"errors"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem/mol"
)

func TestReadGraph(t *testing.T) {
	var r Reader
	for _, tc := range []struct {
		smiles       string
		atoms, bonds int
	}{
		{"", 0, 0},
		{"C", 1, 0},
		{"CCO ethanol", 3, 2},
		{"C\tname", 1, 0},
		{"C1CC1", 3, 3},
		{"C%12CC%12", 3, 3},
		{"C%(12345)CC%(12345)", 3, 3},
		{"C1CC%(01)", 3, 3},
		{"C0CC0", 3, 3},
		{"C(C.C)C", 4, 2},
		{"C(C)1CC1", 4, 4},
		{"C=1CC#1", 3, 3},
		{"[Na+].[Cl-]", 2, 0},
		{"ClBr", 2, 1},
		{"C\nignored", 1, 0},
		{"[Fe]<-1NCCN->1", 5, 5},
	} {
		var m mol.Mol
		if err := r.Read(&m, []byte(tc.smiles)); err != nil {
			t.Errorf("%q: %v", tc.smiles, err)
			continue
		}
		if len(m.Atoms) != tc.atoms || len(m.Bonds) != tc.bonds {
			t.Errorf("%q: %d atoms and %d bonds, want %d and %d", tc.smiles, len(m.Atoms), len(m.Bonds), tc.atoms, tc.bonds)
		}
	}
}

func TestReadBracketAtom(t *testing.T) {
	var r Reader
	for smiles, want := range map[string]mol.Atom{
		"[13CH4]":     {Z: 6, Isotope: 13, ExplicitH: 4},
		"[NH4+]":      {Z: 7, ExplicitH: 4, Charge: 1},
		"[O--]":       {Z: 8, Charge: -2},
		"[Fe+3]":      {Z: 26, Charge: 3},
		"[C:7]":       {Z: 6, Map: 8},
		"[nH]":        {Z: 7, ExplicitH: 1, Flags: mol.Aromatic},
		"[se]":        {Z: 34, Flags: mol.Aromatic},
		"[Se]":        {Z: 34},
		"[H][H]":      {Z: 1, Degree: 1, Twice: 2},
		"[2H]C":       {Z: 1, Isotope: 2, Degree: 1, Twice: 2},
		"[HH2]":       {Z: 1, ExplicitH: 2},
		"[C@H]":       {Z: 6, ExplicitH: 1, Chirality: mol.CounterClockwise},
		"[C@@]":       {Z: 6, Chirality: mol.Clockwise},
		"[Pt@SP2]":    {Z: 78, Chirality: mol.SquarePlanar, Perm: 2},
		"[#6]":        {Z: 6},
		"[Uun]":       {Z: 110},
		"['Rf']":      {Z: 104},
		"[Sc]":        {Z: 21},
		"[*]":         {},
		"[C+300]":     {Z: 6, Charge: 44},
		"[65536C]":    {Z: 6},
		"[#262]":      {Z: 6},
		"[12C@@H2-2]": {Z: 6, Isotope: 12, Chirality: mol.Clockwise, ExplicitH: 2, Charge: -2},
	} {
		var m mol.Mol
		if err := r.Read(&m, []byte(smiles)); err != nil {
			t.Errorf("%q: %v", smiles, err)
			continue
		}
		want.Flags |= mol.NoImplicit | mol.Start
		if m.Atoms[0] != want {
			t.Errorf("%q: %+v, want %+v", smiles, m.Atoms[0], want)
		}
	}
}

func TestSyntaxErrorOffsets(t *testing.T) {
	var r Reader
	for _, tc := range []struct {
		smiles string
		offset int
	}{
		{" ", 0}, {"C(", 2}, {"C(C", 1}, {"C)", 1}, {"C()C", 2}, {"(C)C", 0}, {"C((C))", 2},
		{"C1CC", 1}, {"C11", 2}, {"C12CC12", 6}, {"C(1CC1)C", 2}, {"C(.C)C", 2}, {"C(=1)C", 3},
		{".C", 0}, {"C.", 2}, {"C..C", 2}, {"=C", 0}, {"C=", 1}, {"C==C", 2}, {"C=(C)", 2}, {"C=.C", 2},
		{"C%1CC%1", 1}, {"C%01", 1}, {"C%()", 3}, {"C%(123456)", 8}, {"C>>C", 1}, {"C{C", 1}, {"CHC", 1},
		{"C[", 2}, {"[]", 1}, {"[C", 0}, {"[013C]", 2}, {"[C+-]", 3}, {"[C+++]", 4}, {"[C:]", 2}, {"[Zz]", 1},
		{"[D]", 1}, {"[#119]", 1}, {"[C@TH3]", 5}, {"[C@TH0]", 5}, {"[C@@@]", 4}, {"[H@]", 2}, {"[CHo]", 2}, {"[3000000000C]", 1},
		{"C\x80C", 1}, {"CC |", 3}, {"CC |C:0.5,C:1.x|", 14},
	} {
		var m mol.Mol
		err := r.Read(&m, []byte(tc.smiles))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: error %v, want a syntax error", tc.smiles, err)
			continue
		}
		if syntax.Offset != tc.offset {
			t.Errorf("%q: %v, want byte %d", tc.smiles, err, tc.offset)
		}
	}
}

func TestCaretStaysInItsColumn(t *testing.T) {
	long := strings.Repeat("C", 200)
	for _, tc := range []struct{ smiles, want string }{
		{"CC?C", "CC?C\n  ^"},
		{"C\x01é(C)", "C???(C)\n ^"},
		{long + "?" + long, "..." + long[:30] + "?" + long[:29] + "...\n" + strings.Repeat(" ", 33) + "^"},
	} {
		var r Reader
		var m mol.Mol
		var syntax *SyntaxError
		if err := r.Read(&m, []byte(tc.smiles)); !errors.As(err, &syntax) || syntax.Caret() != tc.want {
			t.Errorf("%q: %v\n%s\nwant\n%s", tc.smiles, err, syntax.Caret(), tc.want)
		}
	}
}

func TestReaderForgetsOpenRings(t *testing.T) {
	var r Reader
	var m mol.Mol
	for _, s := range []string{"C1CC", "C%(500)C", "C1CC1"} {
		err := r.Read(&m, []byte(s))
		if (err == nil) != (s == "C1CC1") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if err := r.Read(&m, []byte("C%(500)CC%(500)")); err != nil {
		t.Error(err)
	}
}

func TestHostileNesting(t *testing.T) {
	const n = 100_000
	var r Reader
	var m mol.Mol
	if err := r.Read(&m, []byte("C"+strings.Repeat("(C", n)+strings.Repeat(")", n))); err != nil {
		t.Fatal(err)
	}
	if len(m.Atoms) != n+1 || len(m.Bonds) != n {
		t.Errorf("%d atoms and %d bonds", len(m.Atoms), len(m.Bonds))
	}
	if err := r.Read(&m, []byte("C"+strings.Repeat("(C", n))); err == nil {
		t.Error("unclosed branches are accepted")
	}
}
