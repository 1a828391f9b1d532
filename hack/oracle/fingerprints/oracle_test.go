package fingerprints

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/stereo"
)

// root is the repository.
const root = "../../.."

// python finds the interpreter that has RDKit.
func python(t *testing.T) string {
	t.Helper()
	if p := os.Getenv("ORACLE_PYTHON"); p != "" {
		return p
	}
	p, err := filepath.Abs(filepath.Join(root, ".cache/venv/bin/python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI needs RDKit: %v (hack/bootstrap python)", err)
		}
		t.Skip("no RDKit in .cache/venv: run hack/bootstrap python, or name an interpreter in ORACLE_PYTHON")
	}
	return p
}

// tally compares answers and counts.
type tally struct {
	t         *testing.T
	engine    *chem.Engine
	fp        [32]uint64
	lines     [][]byte
	valid     int
	validity  int // differences in validity
	refused   int // pairs too symmetrical to compare within the work limit
	bits      int // differences in bits
	sameness  int // differences in sameness
	pairs     int
	groups    map[[32]uint64][]int // strings by fingerprint
	canonical []string
}

// compare asks RDKit about all lines and reports every difference. Of strings
// with equal fingerprints, each is compared with the previous one.
func compare(t *testing.T, lines [][]byte, respell bool) *tally {
	t.Helper()
	c := &tally{t: t, engine: chem.New(chem.Options{}), lines: lines,
		groups: map[[32]uint64][]int{}, canonical: make([]string, len(lines))}
	version, err := Ask(python(t), Question{Radius: chem.DefaultRadius, Bits: chem.DefaultBits, Respell: respell}, lines, c.answer)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(chem.EngineName, "rdkit-model/"+version) {
		t.Errorf("RDKit is %s, the engine is %s", version, chem.EngineName)
	}
	t.Logf("%d strings, %d valid, %d pairs of equal fingerprints: %d differences in validity, %d in bits, %d in sameness",
		len(lines), c.valid, c.pairs, c.validity, c.bits, c.sameness)
	return c
}

func (c *tally) answer(i int, a *Answer) error {
	err := c.engine.Fingerprint(c.fp[:], c.lines[i])
	if (err == nil) != a.Valid {
		c.validity++
		c.report("%q: RDKit accepts it: %v; error %v", c.lines[i], a.Valid, err)
		return nil
	}
	if !a.Valid {
		return nil
	}
	c.valid++
	if c.fp != [32]uint64(a.Bits) {
		c.bits++
		c.report("%q: other bits than RDKit", c.lines[i])
		return nil
	}
	if a.Canonical == "" {
		return nil
	}
	c.canonical[i] = a.Canonical
	if g := c.groups[c.fp]; len(g) > 0 {
		last := g[len(g)-1]
		c.same(c.lines[last], c.lines[i], c.canonical[last] == a.Canonical)
	}
	c.groups[c.fp] = append(c.groups[c.fp], i)
	if a.Spelling != "" {
		c.same(c.lines[i], []byte(a.Spelling), a.SameAgain)
		if err := c.engine.Fingerprint(c.fp[:], []byte(a.Spelling)); err != nil || c.fp != [32]uint64(a.Bits) {
			c.bits++
			c.report("%q: other bits than the other spelling %q (error %v)", a.Spelling, c.lines[i], err)
		}
	}
	return nil
}

func (c *tally) same(a, b []byte, want bool) {
	c.pairs++
	got, err := c.engine.Same(a, b)
	if errors.Is(err, stereo.ErrWorkLimit) { // refused, which is no wrong answer; see docs/chem-differences.md
		c.t.Logf("refused: %q and %q", a, b)
		if c.refused++; c.refused*10_000 > c.pairs+10_000 {
			c.t.Errorf("%d of %d pairs refused", c.refused, c.pairs)
		}
		return
	}
	if err != nil || got != want {
		c.sameness++
		c.report("%q and %q: same %v (error %v), RDKit says %v", a, b, got, err, want)
	}
}

// report logs the first differences.
func (c *tally) report(format string, args ...any) {
	if c.validity+c.bits+c.sameness <= 50 {
		c.t.Logf(format, args...)
	}
}

// exact fails the test on any difference.
func (c *tally) exact() {
	c.t.Helper()
	if c.validity+c.bits+c.sameness > 0 {
		c.t.Errorf("%d differences", c.validity+c.bits+c.sameness)
	}
}

// debianFolder holds the molecules of Debian's package rdkit-data.
const debianFolder = "/usr/share/RDKit/Data/"

func TestDebianMolecules(t *testing.T) {
	nci, err := os.ReadFile(debianFolder + "NCI/first_5K.smi")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the package rdkit-data is not installed")
	}
	wehi, err2 := os.ReadFile(debianFolder + "Pains/test_data/wehi_mols.csv")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for _, l := range split(nci) {
		lines = append(lines, bytes.Fields(l)[0])
	}
	for _, l := range split(wehi) {
		s, _, _ := bytes.Cut(bytes.TrimPrefix(l, []byte(`"`)), []byte(`"`))
		lines = append(lines, s)
	}
	if len(lines) < 14000 {
		t.Fatalf("only %d molecules", len(lines))
	}
	compare(t, lines, true).exact()
}

// TestGeneratedRadiiAndSizes compares fingerprints of other than the default parameters.
func TestGeneratedRadiiAndSizes(t *testing.T) {
	lines := append(Mutants(seeds(t), 1_500, 7), bytes.Repeat([]byte("CC(N)C(=O)O"), 20))
	for _, q := range []Question{{Radius: 0, Bits: 64}, {Radius: 1, Bits: 1024}, {Radius: 3, Bits: 192}, {Radius: 4, Bits: 8192}} {
		o := chem.Options{Radius: q.Radius, Bits: q.Bits}
		if q.Radius == 0 {
			o.Radius = chem.RadiusZero
		}
		e := chem.New(o)
		fp := make([]uint64, e.Words())
		_, err := Ask(python(t), q, lines, func(i int, a *Answer) error {
			err := e.Fingerprint(fp, lines[i])
			if (err == nil) != a.Valid || a.Valid && !slices.Equal(fp, a.Bits) {
				t.Errorf("%+v, %q: other bits than RDKit (error %v)", q, lines[i], err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func split(data []byte) (lines [][]byte) {
	for l := range bytes.Lines(data) {
		if l = bytes.TrimRight(l, "\r\n"); len(l) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// TestGeneratedStrings compares strings that are nearly molecules.
func TestGeneratedStrings(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	compare(t, Mutants(seeds(t), n, 1), false).exact()
}

// seeds are the strings of the table of vectors of package chem.
func seeds(t *testing.T) (lines [][]byte) {
	data, err := os.ReadFile(filepath.Join(root, "chem/testdata/vectors.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range split(data)[1:] {
		s, _, _ := bytes.Cut(l, []byte("\t"))
		lines = append(lines, s)
	}
	return lines
}

// sharedData is a folder of large tables beside the repository, or ORACLE_DATA.
func sharedData() string {
	if dir := os.Getenv("ORACLE_DATA"); dir != "" {
		return dir
	}
	return root + "/../shared/data"
}

// whole reports whether the large tables are to be compared in full.
func whole() bool { return os.Getenv("ORACLE_WHOLE") != "" }

func TestSharedMolecules(t *testing.T) {
	lines := sharedTable(t, "chembl.tsv.gz", 1, true)
	if !whole() {
		lines = sample(lines, 40_000)
	}
	compare(t, lines, !whole()).exact()
}

// TestSharedHardStrings allows for the differences that docs/chem-differences.md
// lists: they are in CXSMILES and in non-tetrahedral stereochemistry.
func TestSharedHardStrings(t *testing.T) {
	c := compare(t, sharedTable(t, "nasty.tsv", 1, true), false)
	if c.validity*1000 > len(c.lines) || c.bits > 0 || c.sameness*100 > c.pairs {
		t.Error("more differences than are known")
	}
}

func TestSharedSameStructures(t *testing.T) {
	compare(t, sharedTable(t, "same_structure.tsv.gz", 1, false), false).exact()
}

// sharedTable reads one column of a table, or skips the test if there is none.
func sharedTable(t *testing.T, name string, column int, header bool) (lines [][]byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("long")
	}
	data, err := os.ReadFile(filepath.Join(sharedData(), name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no " + name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	rows := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if header {
		rows = rows[1:]
	}
	for _, r := range rows {
		if f := bytes.Split(bytes.TrimSuffix(r, []byte("\r")), []byte("\t")); len(f) > column {
			lines = append(lines, f[column])
		}
	}
	return lines
}

// sample takes n lines, always the same ones.
func sample(lines [][]byte, n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines[:min(n, len(lines))]
}
