package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// small is a table whose fingerprints RDKit 2026.09.1 gave (radius 1, 64 bits).
const (
	small = "chembl_id\tcanonical_smiles\nA\tCCO\nB\tC(C\nC\nD\tC[C@H](N)C(=O)O\n\tC\nE e\tc1ccccc1\n"

	smallFPS = `#FPS1
#num_bits=64
#type=RDKit-Morgan/1 radius=1 fpSize=64 useFeatures=0 useChirality=0 useBondTypes=1
#software=scimesh-chem/0.1.0 rdkit-model/2026.09.1
#source=small.tsv
#date=2026-02-03T04:05:06
04000140c2000000	A
32040c0882001020	D
0100020000000000	E e
`
)

func TestFingerprint(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1")
	c.host.now = func() time.Time { return time.Date(2026, 2, 3, 5, 5, 6, 0, time.FixedZone("", 3600)) }
	dir := t.TempDir()
	in := write(t, dir, "small.tsv", small)
	out, rejects := filepath.Join(dir, "small.fps"), filepath.Join(dir, "rejects.csv")
	flags := []string{"--radius", "1", "--bits", "64"}

	wantErr := `input: TSV with a header, id in column 1 "chembl_id", SMILES in column 2 "canonical_smiles"
row 2 (B) rejected: InvalidSMILES
row 3 (C) rejected: TooFewColumns
row 5 () rejected: InvalidID
3 fingerprints; 3 of 6 rows rejected
`
	r := c.run(append([]string{"fingerprint", in, "-o", out}, flags...)...)
	if r.code != ExitOK || r.out != "" || r.err != wantErr {
		t.Fatalf("%+v", r)
	}
	if got := read(t, out); got != smallFPS {
		t.Errorf("got\n%s\nwant\n%s", got, smallFPS)
	}

	// From a pipe to a pipe, with a file of rejects.
	c.stdin = small
	want := strings.NewReplacer("#source=small.tsv\n", "", "#date=2026-02-03T04:05:06\n", "").Replace(smallFPS)
	if got := c.ok(append([]string{"fingerprint", "-", "-o", "-", "--no-date", "--rejects", rejects}, flags...)...); got != want {
		t.Errorf("to standard output:\n%s", got)
	}
	if got, want := read(t, rejects), "row,chembl_id,reason\r\n2,B,InvalidSMILES\r\n3,C,TooFewColumns\r\n5,,InvalidID\r\n"; got != want {
		t.Errorf("rejects:\n%s", got)
	}

	for name, open := range map[string]func([]byte) (io.Reader, error){
		"x.fps.gz":  func(b []byte) (io.Reader, error) { return gzip.NewReader(bytes.NewReader(b)) },
		"x.fps.zst": func(b []byte) (io.Reader, error) { return zstd.NewReader(bytes.NewReader(b)) },
	} {
		path := filepath.Join(dir, name)
		c.ok(append([]string{"fingerprint", in, "-o", path}, flags...)...)
		stored, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := open(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(plain); err != nil || string(got) != smallFPS {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestFingerprintThreads compares outputs of many batches and of all formats.
func TestFingerprintThreads(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1")
	dir := t.TempDir()
	var tsv, csv, smi strings.Builder
	tsv.WriteString("smiles\tid\n")
	csv.WriteString("id,smiles\r\n")
	for i := range 5000 {
		smiles := strings.Repeat("C", 1+i%40) + strings.Repeat("O", i%3)
		if i%50 == 0 {
			smiles += "("
		}
		fmt.Fprintf(&tsv, "%s\tM%d\n", smiles, i)
		fmt.Fprintf(&csv, "M%d,\"%s\"\r\n", i, smiles)
		fmt.Fprintf(&smi, "%s M%d\n", smiles, i)
	}
	want := ""
	for name, args := range map[string][]string{
		tsv.String(): {"--threads", "1"}, csv.String(): {"--threads", "7"}, smi.String(): {"--threads", "3", "--format", "smi"},
	} {
		in := write(t, dir, "in", name)
		r := c.run(append([]string{"fingerprint", in, "-o", "-", "--no-date"}, args...)...)
		if r.code != ExitOK || strings.Count(r.out, "\n") != 5+4900 || !strings.Contains(r.err, "80 further rows rejected; --rejects FILE lists them\n4900 fingerprints; 100 of 5000 rows rejected\n") {
			t.Fatalf("%v: exit code %d, %d lines\n%s", args, r.code, strings.Count(r.out, "\n"), r.err)
		}
		if want == "" {
			want = r.out
		}
		if r.out != want {
			t.Errorf("%v: another output", args)
		}
	}
}

func TestFingerprintRefuses(t *testing.T) {
	c := newCaller(t, "http://127.0.0.1:1")
	dir := t.TempDir()
	in := write(t, dir, "in.tsv", small)
	out := filepath.Join(dir, "out.fps")
	for want, args := range map[string][]string{
		"one input file is expected, got 0":         {"-o", out},
		"-o: which file":                            {in},
		"--rejects: the fingerprints go there":      {in, "-o", out, "--rejects", out},
		"--threads: at least 1":                     {in, "-o", out, "--threads", "0"},
		`--format: "fps" is none of`:                {in, "-o", out, "--format", "fps"},
		"it has no columns to name":                 {in, "-o", out, "--format", "smi", "--id-column", "x"},
		"fingerprint size 100: must be a multiple":  {in, "-o", out, "--bits", "100"},
		"fingerprint size 0: must be":               {in, "-o", out, "--bits", "0"},
		"fingerprint radius 9: must be 0 to 4":      {in, "-o", out, "--radius", "9"},
		"no such file":                              {in + "x", "-o", out},
		"in.tsv: InputInvalid: the header has no":   {in, "-o", out, "--id-column", "x"},
		"fps.tsv: it holds fingerprints already":    {write(t, dir, "fps.tsv", smallFPS), "-o", out},
		"cut.tsv: InputCorrupt: the gzip data ends": {write(t, dir, "cut.tsv", "\x1f\x8b\x08\x00"), "-o", out},
		"dir.tsv/out.fps.part: not a directory":     {in, "-o", filepath.Join(write(t, dir, "dir.tsv", ""), "out.fps")},
	} {
		r := c.run(append([]string{"fingerprint"}, args...)...)
		if r.code == ExitOK || !strings.Contains(r.err, want) {
			t.Errorf("%v: %+v, want %s", args, r, want)
		}
		if files, _ := filepath.Glob(out + "*"); len(files) > 0 {
			t.Errorf("%v: left %v", args, files)
		}
	}
}
