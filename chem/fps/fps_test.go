package fps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// show prints what is read of a file, a word for each line of it that counts.
func show(r io.Reader, limit int) string {
	f, err := NewReader(r, limit)
	if err != nil {
		return "header: " + err.Error()
	}
	var out []string
	for {
		rec, err := f.Next()
		var bad *RecordError
		switch {
		case errors.Is(err, io.EOF):
			return strings.Join(out, " ")
		case errors.As(err, &bad):
			out = append(out, fmt.Sprintf("%d!%s!%v", bad.Line, bad.ID, bad.Err))
		case err != nil:
			return strings.Join(append(out, err.Error()), " ")
		default:
			out = append(out, fmt.Sprintf("%d:%s:%x", rec.Line, rec.ID, rec.Fingerprint))
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, tc := range map[string]struct{ in, want string }{
		"bits from the lowest of each byte":  {"#FPS1\n#num_bits=64\n0180000000000000\tA\n", "3:A:[8001]"},
		"a second word":                      {"#FPS1\n#num_bits=72\n000000000000000003\tA\n", "3:A:[0 3]"},
		"capital digits":                     {"#FPS1\n#num_bits=8\nFF\tA\n", "3:A:[ff]"},
		"carriage returns":                   {"#FPS1\r\n#num_bits=8\r\n01\tA\r\n02\tB", "3:A:[1] 4:B:[2]"},
		"no length in the header":            {"#FPS1\n#x=y\n0102\tA\n01\tB\n", "3:A:[201] 4!B!the fingerprint is not of the file's length in hexadecimal"},
		"further columns":                    {"#FPS1\n#num_bits=8\n01\tA B\tC\n", "3:A B:[1]"},
		"blank lines":                        {"#FPS1\n\n#num_bits=8\n\n01\tA\n\n02\tB\n", "5:A:[1] 7:B:[2]"},
		"no records":                         {"#FPS1\n#num_bits=8\n", ""},
		"nothing at all":                     {"", "header: FPS line 1: the first line is not #FPS1"},
		"another version":                    {"#FPS2\n01\tA\n", "header: FPS line 1: the first line is not #FPS1"},
		"a header line without =":            {"#FPS1\n#hello\n", `header: FPS line 2: header line "hello" is no key=value pair`},
		"a length that is none":              {"#FPS1\n#num_bits=0\n", `header: FPS line 2: #num_bits is "0", want a number from 1 to 65536`},
		"two lengths":                        {"#FPS1\n#num_bits=8\n#num_bits=8\n", "header: FPS line 3: #num_bits is given twice"},
		"a long header line":                 {"#FPS1\n#source=" + long + "\n", "header: FPS line 2: the line is too long"},
		"no id":                              {"#FPS1\n#num_bits=8\n01\n01\t\n01\tB\n", "3!!there is no id after the fingerprint 4!!there is no id after the fingerprint 5:B:[1]"},
		"no digits":                          {"#FPS1\n#num_bits=8\n0g\tA\n01\tB\n", "3!A!the fingerprint is not of the file's length in hexadecimal 4:B:[1]"},
		"a bit beyond the last":              {"#FPS1\n#num_bits=4\n10\tA\n08\tB\n", "3!A!the fingerprint is not of the file's length in hexadecimal 4:B:[8]"},
		"a header line among records":        {"#FPS1\n#num_bits=8\n01\tA\n#x=y\n", "3:A:[1] 4!!there is no id after the fingerprint"},
		"a long line":                        {"#FPS1\n#num_bits=8\n01\tA" + long + "\n02\tB\n", "3!!the line is too long 4:B:[2]"},
		"a long line at the end":             {"#FPS1\n#num_bits=8\n02\tB\n01\t" + long, "3:B:[2] 4!!the line is too long"},
		"a line as long as may be":           {"#FPS1\n#num_bits=8\n01\t" + strings.Repeat("y", 97) + "\r\n02\tB\n", "3:" + strings.Repeat("y", 97) + ":[1] 4:B:[2]"},
		"a line longer than may be by one":   {"#FPS1\n#num_bits=8\n01\t" + strings.Repeat("y", 98) + "\r\n02\tB\n", "3!!the line is too long 4:B:[2]"},
		"a long line that would tell length": {"#FPS1\n01\t" + long + "\n", "2!!the line is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in))} {
				if got := show(r, 100); got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
			}
		})
	}
}

func TestErrorsOfTheSourceAreKept(t *testing.T) {
	broken := errors.New("connection reset")
	in := io.MultiReader(strings.NewReader("#FPS1\n#num_bits=8\n01\tA\n02"), iotest.ErrReader(broken))
	if got, want := show(in, 100), "3:A:[1] connection reset"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := NewReader(iotest.ErrReader(broken), 0); !errors.Is(err, broken) {
		t.Errorf("header: %v", err)
	}
}

func TestHeaderIsBounded(t *testing.T) {
	got := show(strings.NewReader("#FPS1\n"+strings.Repeat("#source=x\n", 5000)), 100)
	if want := "header: FPS line 1001: the header has more than 1000 lines"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	h := Header{Bits: 64, Type: Type{2, 64}.String(), Software: "x/1 y/2", Sources: []string{"a.smi", "b.smi"}, Date: "2026-01-02T03:04:05"}
	fp := []uint64{0x8001}
	text := AppendRecord(h.Append(nil), fp, h.Bits, []byte("A"))
	f, err := NewReader(bytes.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, f.Header()); diff != "" {
		t.Error(diff)
	}
	if rec, err := f.Next(); err != nil || string(rec.ID) != "A" || !slices.Equal(rec.Fingerprint, fp) {
		t.Errorf("got %+v, %v", rec, err)
	}
	if got := string(Header{Bits: 8, Sources: []string{"a\n01\tforged"}}.Append(nil)); got != "#FPS1\n#num_bits=8\n#source=a 01 forged\n" {
		t.Errorf("got %q", got)
	}
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]Type{
		"RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=0 useChirality=0 useBondTypes=1": {2, 2048}, // ChEMBL's
		"RDKit-Morgan/1 fpSize=1024 radius=3":                                             {3, 1024},
		"RDKit-Morgan/2 fpSize=128 radius=3 useFeatures=0":                                {3, 128}, // chemfp 5
		"RDKit-Morgan/2 fpSize=2048":                                                      {3, 2048},
		Type{0, 8192}.String():                                                            {0, 8192},
	} {
		if got, err := ParseType(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                              "no fingerprint type",
		"RDKit-Fingerprint/2 minPath=1": "no RDKit-Morgan fingerprint",
		"RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=1 useChirality=0 useBondTypes=1": `"useFeatures=1" is not supported`,
		"RDKit-Morgan/1 radius=2 radius=3":                                                "no new key=value pair",
		"RDKit-Morgan/1 radius=-2":                                                        "is no number",
		"RDKit-Morgan/2 countSimulation=1":                                                "not supported",
		"RDKit-Morgan/1 includeChirality=0":                                               "not supported",
		"RDKit-Morgan radius=2 nbits=2048 fast=1":                                         "no RDKit-Morgan fingerprint",
	} {
		if got, err := ParseType(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	line := strings.Repeat("00", 255) + "01\tCHEMBL25\n"
	f, err := NewReader(strings.NewReader("#FPS1\n"+strings.Repeat(line, 5000)), 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(4000, func() {
		if _, err := f.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// naive reads a text with all of its lines at once. It returns false if the header
// is not what a reader accepts.
func naive(in string, limit int) (out string, ok bool) {
	var words []string
	bits, records := 0, false
	seen := map[string]bool{}
	lines := strings.Split(in, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		tooLong := len(line) > limit
		if i == 0 {
			if line != "#FPS1" {
				return "", false
			}
			continue
		}
		if line == "" {
			continue
		}
		if !records && line[0] == '#' {
			key, value, pair := strings.Cut(line[1:], "=")
			var n int
			if key == "num_bits" {
				if _, err := fmt.Sscanf(value+" ", "%d ", &n); err != nil || n < 1 || n > MaxBits || !plainNumber(value) {
					return "", false
				}
				bits = n
			}
			if tooLong || !pair || seen[key] && (key == "num_bits" || key == "type") {
				return "", false
			}
			seen[key] = true
			continue
		}
		digits, rest, tab := strings.Cut(line, "\t")
		if !records && bits == 0 && tab && !tooLong {
			bits = min(len(digits)/2*8, MaxBits)
		}
		records = true
		id, _, _ := strings.Cut(rest, "\t")
		fp := make([]uint64, Words(bits))
		switch {
		case tooLong:
			words = append(words, fmt.Sprintf("%d!!%v", i+1, ErrLineTooLong))
		case !tab || id == "":
			words = append(words, fmt.Sprintf("%d!!%v", i+1, ErrNoID))
		case !parseSlowly(fp, digits, bits):
			words = append(words, fmt.Sprintf("%d!%s!%v", i+1, id, ErrNotFingerprint))
		default:
			words = append(words, fmt.Sprintf("%d:%s:%x", i+1, id, fp))
		}
	}
	return strings.Join(words, " "), len(lines) > 0
}

// plainNumber reports whether strconv.Atoi reads the text.
func plainNumber(s string) bool {
	s = strings.TrimPrefix(s, "+")
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}

func parseSlowly(fp []uint64, digits string, bits int) bool {
	if len(digits) != (bits+7)/8*2 {
		return false
	}
	for i, c := range []byte(digits) {
		v := strings.IndexByte("0123456789abcdef", c|0x20)
		if v < 0 || c < '0' {
			return false
		}
		for j := range 4 {
			if v>>j&1 == 0 {
				continue
			}
			bit := i/2*8 + (1-i%2)*4 + j
			if bit >= bits {
				return false
			}
			fp[bit/64] |= 1 << (bit % 64)
		}
	}
	return true
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("#FPS1\n#num_bits=16\n#type=x\n0180\tA\n#\n01\tB\nff0"))
	f.Add([]byte("#FPS1\r\n\r\n0180\tA\tB\r\n018G\tC\r\r\n"))
	f.Add([]byte("#FPS1\n#num_bits=4\n1F\tA\n0f\t" + strings.Repeat("x", 100)))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 60
		got := show(bytes.NewReader(in), limit)
		if again := show(iotest.OneByteReader(bytes.NewReader(in)), limit); again != got {
			t.Fatalf("depends on how it is read:\n%q\n%q", got, again)
		}
		want, ok := naive(string(in), limit)
		if ok == strings.HasPrefix(got, "header: ") || ok && got != want {
			t.Fatalf("%q:\ngot  %q\nwant %q, %v", in, got, want, ok)
		}
	})
}
