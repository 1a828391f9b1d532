package csvfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestAppendRecord(t *testing.T) {
	for want, fields := range map[string][]string{
		"a,b,\r\n":                 {"a", "b", ""},
		",,\r\n":                   {"", "", ""},
		"\"a,b\",c\r\n":            {"a,b", "c"},
		"\"say \"\"\"\r\n":         {`say "`},
		"\"\r\",\"\n\"\r\n":        {"\r", "\n"},
		" a, b ,\t,\x00,é\r\n":     {" a", " b ", "\t", "\x00", "é"},
		`C\C=C/C,#,'x',;` + "\r\n": {`C\C=C/C`, "#", "'x'", ";"},
	} {
		if got := AppendRecord(nil, fields...); string(got) != want {
			t.Errorf("%q: got %q, want %q", fields, got, want)
		}
	}
}

func readAll(r io.Reader, limit int) ([][]string, error) {
	records := [][]string{}
	c := NewReader(r, limit)
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		record := []string{}
		for _, f := range fields {
			record = append(record, string(f))
		}
		records = append(records, record)
	}
}

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a,b":                "record 1: unexpected EOF",
		"a\r":                "record 1: unexpected EOF",
		"\"a":                "record 1: unexpected EOF",
		"\"a\"":              "record 1: unexpected EOF",
		"a\r\nb\n":           `record 2: unexpected '\n' in an unquoted field`,
		"a\rb\r\n":           "record 1: CR without LF",
		"a\"b\r\n":           `record 1: unexpected '"' in an unquoted field`,
		"\"a\"b\r\n":         "record 1: unexpected 'b' after a quoted field",
		"\"a\" ,\r\n":        "record 1: unexpected ' ' after a quoted field",
		"1234,67890\r\n":     "record 1: record too long",
		"\"1234567890\"\r\n": "record 1: record too long",
	} {
		if _, err := readAll(strings.NewReader(in), 8); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
	}
	broken := errors.New("disk gone")
	if _, err := readAll(io.MultiReader(strings.NewReader("a,"), iotest.ErrReader(broken)), 8); !errors.Is(err, broken) {
		t.Errorf("an error of the source: %v", err)
	}
}

// texts draws fields of what is special to CSV, mostly.
var texts = rapid.StringOf(rapid.SampledFrom([]rune{'"', ',', '\r', '\n', ' ', '\t', 'a', 'é', 0, '\'', '\\'}))

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.SliceOfN(texts, 2, 5)).Draw(t, "records")
		var file []byte
		for _, r := range want {
			file = AppendRecord(file, r...)
		}
		got, err := readAll(iotest.OneByteReader(bytes.NewReader(file)), 1000)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		if b, _ := json.Marshal(append([][]string{}, want...)); !bytes.Equal(a, b) {
			t.Fatalf("got %s, want %s", a, b)
		}
	})
}

func TestWritesWhatPythonWrites(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	records := rapid.SliceOfN(rapid.SliceOfN(texts, 2, 5), 500, 500).Example(1)
	in, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c",
		"import csv,io,json,sys; o=io.StringIO(newline=''); csv.writer(o).writerows(json.load(sys.stdin)); sys.stdout.buffer.write(o.getvalue().encode())")
	cmd.Stdin = bytes.NewReader(in)
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, r := range records {
		got = AppendRecord(got, r...)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes differ from those of Python's csv module")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a,\"b\"\"\"\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		records, err := readAll(bytes.NewReader(in), 1<<20)
		if err != nil {
			return
		}
		var file []byte
		for _, r := range records {
			file = AppendRecord(file, r...)
		}
		again, err := readAll(bytes.NewReader(file), 1<<20)
		a, _ := json.Marshal(records)
		if b, _ := json.Marshal(again); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%q reads as %s, then %s, %v", in, a, b, err)
		}
	})
}
