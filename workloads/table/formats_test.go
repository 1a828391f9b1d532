package table

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"scimesh.dev/scimesh/workloads"
)

const fpsHeader = "#FPS1\n#num_bits=64\n#type=RDKit-Morgan/1 radius=2 fpSize=64\n#software=RDKit/2022.09.4\n"

func TestFormats(t *testing.T) {
	long := strings.Repeat("C", 200)
	for name, tc := range map[string]struct {
		in     string
		o      Options
		layout string
		want   string // rows joined by a blank
	}{
		"TSV with usual names": {in: "x\tSmiles\tName\n1\tC\tA\n", want: "1|A|C",
			layout: `TSV with a header, id in column 3 "Name", SMILES in column 2 "Smiles"`},
		"the preferred name wins": {in: "name\tmolecule_chembl_id\tsmiles\nn\tA\tC\n", want: "1|A|C",
			layout: `TSV with a header, id in column 2 "molecule_chembl_id", SMILES in column 3 "smiles"`},
		"TSV with named columns": {in: "a\tb\nA\tC\n", o: Options{IDColumn: "a", SMILESColumn: "b"}, want: "1|A|C",
			layout: `TSV with a header, id in column 1 "a", SMILES in column 2 "b"`},
		"TSV with numbered columns": {in: "C\tA\nCC\tB\n", o: Options{IDColumn: "2", SMILESColumn: "1"}, want: "1|A|C 2|B|CC",
			layout: `TSV without a header, id in column 2, SMILES in column 1`},
		"numbered columns and a header": {in: "structure,no\nCC,B\n", o: Options{IDColumn: "2", SMILESColumn: "1"}, want: "1|B|CC",
			layout: `CSV with a header, id in column 2 "no", SMILES in column 1 "structure"`},
		"CSV": {in: "chembl_id,x,canonical_smiles\r\nA,1,C\r\n\r\n\"B \"\"b\"\"\",\"1,5\",\"CC\"\r\n", want: `1|A|C 2|B "b"|CC`,
			layout: `CSV with a header, id in column 1 "chembl_id", SMILES in column 3 "canonical_smiles"`},
		"CSV, a field of several lines": {in: "id,note,smiles\nA,\"one\n\ntwo\",C\nB,,CC", want: "1|A|C 2|B|CC",
			layout: `CSV with a header, id in column 1 "id", SMILES in column 3 "smiles"`},
		"CSV that is broken": {in: "id,smiles\nA,C\"\n\"B\"x,C\nD,C\n\"E\n,C\n", want: "1||!MalformedCSV 2||!MalformedCSV 3|D|C 4||!MalformedCSV",
			layout: `CSV with a header, id in column 1 "id", SMILES in column 2 "smiles"`},
		"CSV with control characters": {in: "id,smiles\n\"A\nA\",C\nB,\"C\tC\"\nC,C\n",
			want:   "1|A\nA|!ControlCharacter 2|B|!ControlCharacter 3|C|C",
			layout: `CSV with a header, id in column 1 "id", SMILES in column 2 "smiles"`},
		"CSV, few columns and no UTF-8": {in: "id,smiles\nA\nB\xff,C\n", want: "1|A|!TooFewColumns 2|B\xff|!InvalidUTF8",
			layout: `CSV with a header, id in column 1 "id", SMILES in column 2 "smiles"`},
		"CSV, long lines and records": {in: "id,smiles\nA," + long + "\n\"B\n" + long[:95] + "\nxxxxxxx\",C\nD,C\n", want: "1||!LineTooLong 2||!LineTooLong 3|D|C",
			layout: `CSV with a header, id in column 1 "id", SMILES in column 2 "smiles"`},
		"CSV in a single column of others": {in: "chembl_id,canonical_smiles\n", layout: `CSV with a header, id in column 1 "chembl_id", SMILES in column 2 "canonical_smiles"`},
		"SMI": {in: "CCO ethyl alcohol \nC1CC1\tring\tmore\n\nC\n", want: "1|ethyl alcohol|CCO 2|ring|C1CC1 3||C",
			layout: "SMI without a header, SMILES first, then the title as id"},
		"SMI with a header": {in: "SMILES Name\nC A\n", want: "1|A|C", layout: "SMI with a header, SMILES first, then the title as id"},
		"SMI that is told to be": {in: "what A\nC B\n", o: Options{Format: SMI}, want: "1|A|what 2|B|C",
			layout: "SMI without a header, SMILES first, then the title as id"},
		"SMI with extensions": {in: "C |^1:0| A b\nC |broken\n  CC\t|$;$|\n", want: "1|A b|C |^1:0| 2||broken|C 3||CC\t|$;$|",
			layout: "SMI without a header, SMILES first, then the title as id"},
		"SMI, white space and long lines": {in: "C A\n \t\nC " + long + "\nC\xff B\n", want: "1|A|C 2||!LineTooLong 3|B|!InvalidUTF8",
			layout: "SMI without a header, SMILES first, then the title as id"},
		"FPS": {in: fpsHeader + "0180000000000000\tA\n01\tB\n0180000000000000\n0180000000000000\tC\xff\n" + long + strings.Repeat(long, 300) + "\n",
			want:   "1|A|[8001] 2|B|!InvalidFingerprint 3||!TooFewColumns 4|C\xff|!InvalidUTF8 5||!LineTooLong",
			layout: `FPS, fingerprints of 64 bits, type "RDKit-Morgan/1 radius=2 fpSize=64", software "RDKit/2022.09.4"`},
		"FPS without anything": {in: "#FPS1\n01\tA\n", want: "1|A|[1]", layout: "FPS, fingerprints of 8 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.o
			o.MaxLineBytes = 100
			for _, r := range []io.Reader{
				strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)), strings.NewReader(compressGzip(tc.in)),
			} {
				table, err := NewReader(r, o)
				if err != nil {
					t.Fatal(err)
				}
				layout := strings.Replace(table.Layout().String(), " (gzip)", "", 1)
				table.Close()
				if layout != tc.layout {
					t.Errorf("layout is %s\nwant      %s", layout, tc.layout)
				}
			}
			rows, err := readAll(iotest.DataErrReader(strings.NewReader(tc.in)), o)
			if got := strings.Join(rows, " "); err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestFormatsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		in, want string
		o        Options
	}{
		"a column that is not there":  {"a,b\n", `the header has no column c; columns found: "a", "b"`, Options{IDColumn: "a", SMILESColumn: "c"}},
		"a column with an odd name":   {"a,b\n", `the header has no column "x y"; columns`, Options{IDColumn: "x y", SMILESColumn: "b"}},
		"a number beyond the columns": {"a,b\n", `the header has no column 1; columns found`, Options{IDColumn: "1", SMILESColumn: "3"}},
		"two usual names":             {"smiles\tSMILES\tid\n", `the header has 2 columns smiles, one is needed`, Options{}},
		"neither header nor SMILES":   {"hello world\n", `the header has no column chembl_id; columns found: "hello world"`, Options{}},
		"names and a SMILES":          {"CCO ethanol\n", `the header has no column a; columns found: "CCO ethanol"`, Options{IDColumn: "a"}},
		"FPS of another version":      {"#FPS2\n", "FPS line 1: the first line is not #FPS1", Options{}},
		"told to be FPS":              {"C A\n", "FPS line 1: the first line is not #FPS1", Options{Format: FPS}},
		"FPS with a bad header":       {"#FPS1\n#num_bits=x\n", "FPS line 2: #num_bits", Options{}},
		"an empty SMI":                {"\n", "the input is empty", Options{Format: SMI}},
		"an empty CSV":                {"", "the input is empty", Options{Format: CSV}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(strings.NewReader(tc.in), tc.o)
			if e, ok := errors.AsType[*workloads.Error](err); !ok || e.Reason != workloads.ReasonInputInvalid || !strings.Contains(e.Message, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A quotation mark that is never closed costs one record, of bounded size, and time
// that grows with the input.
func TestOpenQuoteIsBounded(t *testing.T) {
	in := "id,smiles\n\"A,C\n" + strings.Repeat("B,C\n", 1_000_000)
	rows, err := readAll(bytes.NewReader([]byte(in)), Options{MaxLineBytes: 1000})
	if err != nil || len(rows) < 999_000 || rows[0] != "1||!LineTooLong" || rows[1] != "2|B|C" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
