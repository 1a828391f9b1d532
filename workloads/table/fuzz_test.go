package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// naive reads a plain table in the simplest way: all lines at once.
func naive(in string, limit int) ([]string, bool) {
	var rows []string
	id, smiles := -1, -1
	for i, line := range strings.Split(in, "\n") {
		line = strings.TrimSuffix(line, "\r")
		long := len(line) > limit // the mark counts
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if line == "" {
			continue
		}
		columns := strings.Split(line, "\t")
		if id < 0 {
			if strings.Count("\t"+line+"\t", "\t"+IDColumn+"\t") != 1 || strings.Count("\t"+line+"\t", "\t"+SMILESColumn+"\t") != 1 || long {
				return nil, false
			}
			for i, c := range columns {
				switch c {
				case IDColumn:
					id = i
				case SMILESColumn:
					smiles = i
				}
			}
			continue
		}
		n := len(rows) + 1
		tooLong := len(line) > limit
		if tooLong {
			columns = strings.Split(line[:limit], "\t")
			columns[len(columns)-1] = "" // its end was not seen
			if id >= len(columns)-1 {
				columns[min(id, len(columns)-1)] = ""
			}
		}
		found := ""
		if id < len(columns) {
			found = columns[id]
		}
		switch {
		case tooLong:
			rows = append(rows, fmt.Sprintf("%d|%s|!LineTooLong", n, found))
		case max(id, smiles) >= len(columns):
			rows = append(rows, fmt.Sprintf("%d|%s|!TooFewColumns", n, found))
		case !utf8.ValidString(found) || !utf8.ValidString(columns[smiles]):
			rows = append(rows, fmt.Sprintf("%d|%s|!InvalidUTF8", n, found))
		default:
			rows = append(rows, fmt.Sprintf("%d|%s|%s", n, found, columns[smiles]))
		}
	}
	return rows, id >= 0
}

// pieces returns its bytes in reads of changing sizes.
type pieces struct {
	data  []byte
	sizes []byte
	at    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(p.sizes) > 0 {
		n = 1 + int(p.sizes[p.at%len(p.sizes)])
		p.at++
	}
	n = copy(b[:min(n, len(b))], p.data)
	p.data = p.data[n:]
	return n, nil
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(header+"A\tC\n\nB\nC\xff\tC\r\n"), []byte{3, 200}, uint8(50))
	f.Add([]byte("\ufeffx\tcanonical_smiles\tchembl_id\r\n"+strings.Repeat("C", 300)+"\tA\t\n"), []byte{}, uint8(60))
	f.Add([]byte(compressGzip(header+"A\tC\n")), []byte{0}, uint8(60))
	f.Add([]byte(compressZstd(header+"A\tC\n")), []byte{9}, uint8(60))
	f.Fuzz(func(t *testing.T, in, sizes []byte, limit uint8) {
		o := Options{MaxLineBytes: max(1, int(limit)), Format: TSV, IDColumn: IDColumn, SMILESColumn: SMILESColumn}
		got, err := readAll(&pieces{data: in, sizes: sizes}, o)
		again, errAgain := readAll(bytes.NewReader(in), o)
		if strings.Join(got, "\n") != strings.Join(again, "\n") || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("depends on how it is read:\n%q, %v\n%q, %v", got, err, again, errAgain)
		}
		start := in[:min(6, len(in))]
		if bytes.HasPrefix(in, []byte{0x1f, 0x8b}) || isZstd(start) || refuseForeign(start) != nil {
			return
		}
		want, ok := naive(string(in), o.MaxLineBytes)
		if ok != (err == nil) || ok && strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got %q, %v; want %q, %v", got, err, want, ok)
		}
	})
}

// FuzzFormats reads anything as any format: the rows do not depend on how the input
// is cut into reads, and what the reader finds out by itself it also finds when told.
func FuzzFormats(f *testing.F) {
	f.Add([]byte("id,smiles\r\n\"A\"\"B\",C\r\n\"x\ny\",\"C,C\"\r\nz,\"C\n"), []byte{3, 200}, uint8(1))
	f.Add([]byte("CCO ethanol\n\nC1CC1 |a:0| ring x\ty\n \n"), []byte{}, uint8(2))
	f.Add([]byte("#FPS1\n#num_bits=64\n0180000000000000\tA\n01\tB\n"), []byte{0}, uint8(3))
	f.Add([]byte("1\tC\n2\tCC\n"), []byte{9}, uint8(4))
	f.Fuzz(func(t *testing.T, in, sizes []byte, choice uint8) {
		o := Options{MaxLineBytes: 80}
		if choice%5 > 0 {
			o.Format = Formats[choice%5-1]
		}
		if choice&0x80 != 0 {
			o.IDColumn, o.SMILESColumn = "1", "2"
		}
		got, err := readAll(&pieces{data: in, sizes: sizes}, o)
		again, errAgain := readAll(bytes.NewReader(in), o)
		if strings.Join(got, "\n") != strings.Join(again, "\n") || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("depends on how it is read:\n%q, %v\n%q, %v", got, err, again, errAgain)
		}
		r, err := NewReader(bytes.NewReader(in), o)
		if err != nil {
			return
		}
		defer r.Close()
		o.Format = r.Layout().Format
		told, err := readAll(bytes.NewReader(in), o)
		if err == nil && strings.Join(told, "\n") != strings.Join(got, "\n") {
			t.Fatalf("as %s:\n%q\nby itself:\n%q", o.Format, told, got)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	row := "CHEMBL412515\tCN(CC(=O)O)C(=O)COc1c(C(C)(C)C)ccc(SC(C)(C)Sc2cc(C(C)(C)C)c(O)c(C(C)(C)C)c2)c1C(C)(C)C\t" +
		"InChI=1S/C35H53NO5S2/c1-31(2,3)23-15-16-28(26(20-23)34(10,11)12)43\tXYZABCDEFGHIJK-UHFFFAOYSA-N\n"
	plain := "chembl_id\tcanonical_smiles\tstandard_inchi\tstandard_inchi_key\n" + strings.Repeat(row, 100_000)
	for _, bm := range []struct{ name, stored string }{
		{"plain", plain}, {"gzip", compressGzip(plain)}, {"zstd", compressZstd(plain)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(strings.NewReader(bm.stored), Options{})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
}
