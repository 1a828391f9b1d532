package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"scimesh.dev/scimesh/workloads"
)

// readAll returns the rows of a table as text: number|id|smiles or number|id|!reason.
func readAll(r io.Reader, o Options) ([]string, error) {
	t, err := NewReader(r, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var rows []string
	for {
		row, err := t.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		value := string(row.SMILES)
		if row.Fingerprint != nil {
			value = fmt.Sprintf("%x", row.Fingerprint)
		}
		if row.Reject != "" {
			value = "!" + row.Reject
		}
		rows = append(rows, fmt.Sprintf("%d|%s|%s", row.Number, row.ID, value))
	}
}

const header = "chembl_id\tcanonical_smiles\n"

func TestRows(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want string // rows joined by a blank
	}{
		"plain":                        {header + "A\tC\nB\tCC\n", "1|A|C 2|B|CC"},
		"CRLF":                         {"chembl_id\tcanonical_smiles\r\nA\tC\r\n", "1|A|C"},
		"no newline at the end":        {header + "A\tC", "1|A|C"},
		"CR but no LF at the end":      {header + "A\tC\r", "1|A|C"},
		"byte order mark":              {"\ufeff" + header + "A\tC\n", "1|A|C"},
		"columns swapped, others":      {"x\tcanonical_smiles\ty\tchembl_id\tz\n1\tC\t2\tA\t3\n", "1|A|C"},
		"the last column may be short": {"x\tcanonical_smiles\tchembl_id\tz\n1\tC\tA\n", "1|A|C"},
		"blank lines are not rows":     {"\n\r\n" + header + "\n\r\nA\tC\n\n\nB\tO\n\n", "1|A|C 2|B|O"},
		"a blank in a line is a row":   {header + " \nA\tC\n", "1| |!TooFewColumns 2|A|C"},
		"empty columns":                {header + "\t\nA\t\n\tC\n", "1|| 2|A| 3||C"},
		"too few columns":              {header + "A\nB\tC\n", "1|A|!TooFewColumns 2|B|C"},
		"too few, id not reached":      {"canonical_smiles\tchembl_id\nC\n", "1||!TooFewColumns"},
		"quotation marks are bytes":    {header + "\"A\tC\"\n\"\t\"\"\n", "1|\"A|C\" 2|\"|\"\""},
		"lone CR is a byte":            {header + "A\rB\tC\r\r\n", "1|A\rB|C\r"},
		"NUL is a byte":                {header + "A\x00\tC\x00C\n", "1|A\x00|C\x00C"},
		"invalid UTF-8":                {header + "A\xff\tC\nB\tC\xe2\x82\nC\tC\n", "1|A\xff|!InvalidUTF8 2|B|!InvalidUTF8 3|C|C"},
		"invalid UTF-8 elsewhere":      {"chembl_id\tx\tcanonical_smiles\ty\nA\t\xff\tC\t\xfe\n", "1|A|C"},
		"UTF-8 that is valid":          {header + "é\tC\U0010ffff\n", "1|é|C\U0010ffff"},
		"surrogates are invalid":       {header + "\xed\xa0\x80\tC\n", "1|\xed\xa0\x80|!InvalidUTF8"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)), iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				rows, err := readAll(r, Options{})
				if got := strings.Join(rows, " "); err != nil || got != tc.want {
					t.Errorf("got %q, %v; want %q", got, err, tc.want)
				}
			}
		})
	}
}

func TestHeaderRefused(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"empty":       {"", "InputInvalid: the input is empty; expected a header line with the columns chembl_id and canonical_smiles"},
		"blank lines": {"\n\r\n", "InputInvalid: the input is empty; expected"},
		"only a mark": {"\ufeff", "InputInvalid: the input is empty; expected"},
		"missing id": {"cid\tcanonical_smiles\nA\tC\n",
			`InputInvalid: the header has no column chembl_id; columns found: "cid", "canonical_smiles"`},
		"missing SMILES":         {"chembl_id\tstructure\n", `InputInvalid: the header has no column canonical_smiles; columns found: "chembl_id", "structure"`},
		"missing in CSV":         {"chembl_id,structure\n", `InputInvalid: the header has no column canonical_smiles; columns found: "chembl_id", "structure"`},
		"CSV with a stray quote": {"chembl_id,\"canonical_smiles\n", "InputInvalid: the header is not a CSV record"},
		"twice": {"chembl_id\tcanonical_smiles\tchembl_id\n",
			`InputInvalid: the header has 2 columns chembl_id, one is needed; columns found: "chembl_id", "canonical_smiles", "chembl_id"`},
		"many columns": {strings.Repeat("a\t", 1000), `"a", "a" and 981 more`},
		"binary":       {strings.Repeat("\x00\xff", 1000) + "\n", `columns found: "` + strings.Repeat(`\x00\xff`, 20) + `"…`},
		"zip":          {"PK\x03\x04....", "the input is a zip archive"},
		"bzip2":        {"BZh91AY", "the input is compressed with bzip2"},
		"xz":           {"\xfd7zXZ\x00..", "the input is compressed with xz"},
		"UTF-16":       {"\xff\xfec\x00h\x00", "the input is UTF-16 text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(strings.NewReader(tc.in), Options{})
			var e *workloads.Error
			if !errors.As(err, &e) || e.Reason != workloads.ReasonInputInvalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	const limit = 100
	pad := func(n int) string { return strings.Repeat("C", n) }
	for name, tc := range map[string]struct{ in, want string }{
		"just fits":               {header + "A\t" + pad(98) + "\nB\tC\n", "1|A|" + pad(98) + " 2|B|C"},
		"just fits, CRLF":         {header + "A\t" + pad(98) + "\r\nB\tC\n", "1|A|" + pad(98) + " 2|B|C"},
		"just fits, at the end":   {header + "A\t" + pad(98), "1|A|" + pad(98)},
		"one too many":            {header + "A\t" + pad(99) + "\nB\tC\n", "1|A|!LineTooLong 2|B|C"},
		"one too many, CRLF":      {header + "A\t" + pad(99) + "\r\nB\tC\n", "1|A|!LineTooLong 2|B|C"},
		"one too many at the end": {header + "A\t" + pad(99), "1|A|!LineTooLong"},
		"far too many":            {header + "A\t" + pad(100_000) + "\nB\tC\n", "1|A|!LineTooLong 2|B|C"},
		"far too many at the end": {header + "A\t" + pad(100_000), "1|A|!LineTooLong"},
		"id not within the limit": {header + pad(200) + "\tC\nB\tC\n", "1||!LineTooLong 2|B|C"},
		"two in a row":            {header + "A\t" + pad(500) + "\nB\t" + pad(101) + "\nC\tC\n", "1|A|!LineTooLong 2|B|!LineTooLong 3|C|C"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in))} {
				rows, err := readAll(r, Options{MaxLineBytes: limit})
				if got := strings.Join(rows, " "); err != nil || got != tc.want {
					t.Errorf("got %q, %v; want %q", got, err, tc.want)
				}
			}
		})
	}
	if _, err := readAll(strings.NewReader(pad(101)+"\n"), Options{MaxLineBytes: limit}); err == nil ||
		!strings.Contains(err.Error(), "the first line is longer than 100 bytes") {
		t.Errorf("header: %v", err)
	}
}

func TestTenMegabyteLine(t *testing.T) {
	long := strings.Repeat("C", 10<<20)
	rows, err := readAll(strings.NewReader(header+"A\t"+long+"\nB\tC\n"), Options{})
	if err != nil || len(rows) != 2 || rows[0] != "1|A|"+long {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// endless yields a table with one line that never ends, as far as n bytes.
type endless struct {
	prefix string
	n      int64
}

func (e *endless) Read(p []byte) (int, error) {
	if n := copy(p, e.prefix); n > 0 {
		e.prefix = e.prefix[n:]
		return n, nil
	}
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := int(min(e.n, int64(len(p))))
	for i := range p[:n] {
		p[i] = 'C'
	}
	e.n -= int64(n)
	return n, nil
}

func TestLineBeyondTheLimitIsNotHeld(t *testing.T) {
	r, err := NewReader(&endless{prefix: header + "A\t", n: 256 << 20}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Next()
	if err != nil || row.Reject != LineTooLong || string(row.ID) != "A" {
		t.Errorf("got %+v, %v", row, err)
	}
	if held := cap(r.body.(*tsv).lines.buf); held > DefaultMaxLineBytes+2 {
		t.Errorf("the buffer has grown to %d bytes", held)
	}
}

func TestSourceErrorsAreKept(t *testing.T) {
	broken := errors.New("connection reset")
	for name, in := range map[string]string{"plain": header + "A\tC\nB\tC", "gzip": compressGzip(header + "A\tC\n")[:30]} {
		rows, err := readAll(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), Options{})
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
		if len(rows) > 1 {
			t.Errorf("%s: an incomplete line became a row: %q", name, rows)
		}
	}
	if _, err := readAll(stuck{}, Options{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that returns nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestNextDoesNotAllocate(t *testing.T) {
	in := header + strings.Repeat("CHEMBL25\tCC(=O)Oc1ccccc1C(=O)O\tx\ty\n", 5000)
	r, err := NewReader(strings.NewReader(in), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(4000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a row", n)
	}
}
