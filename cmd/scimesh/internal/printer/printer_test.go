package printer

import (
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	table := Table{
		Columns: []Column{{Name: "NAME"}, {Name: "ENGINE", Wide: true}, {Name: "AGE"}},
		Rows:    [][]string{{"gefitinib", "chem", "3m"}, {"µ\x1b[31m", "", ""}},
	}
	for name, tc := range map[string]struct {
		wide bool
		want string
	}{
		"plain": {want: "NAME          AGE\ngefitinib     3m\nµ\\u001b[31m   <none>\n"},
		"wide":  {wide: true, want: "NAME          ENGINE   AGE\ngefitinib     chem     3m\nµ\\u001b[31m   <none>   <none>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := table.Print(&b, tc.wide, true); err != nil {
				t.Fatal(err)
			}
			if b.String() != tc.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), tc.want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "119s": 119 * time.Second, "2m": 2 * time.Minute, "3m10s": 190 * time.Second,
		"179m": 179 * time.Minute, "3h": 3 * time.Hour, "7h59m": 8*time.Hour - time.Minute,
		"47h": 47 * time.Hour, "2d": 48 * time.Hour, "7d23h": 191 * time.Hour, "8d": 192 * time.Hour,
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for want, n := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.5 KiB": 1536, "17 MiB": 17 << 20, "8192 PiB": 1<<63 - 1} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	object := struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Big int64 `json:"big"`
	}{Big: 1<<60 + 1}
	object.Metadata.Name = "a<b"
	for format, want := range map[string]string{
		"json":                      "{\n    \"metadata\": {\n        \"name\": \"a<b\"\n    },\n    \"big\": 1152921504606846977\n}\n",
		"yaml":                      "big: 1152921504606846977\nmetadata:\n  name: a<b\n",
		"jsonpath={.metadata.name}": "a<b",
		"jsonpath={.big}":           "1152921504606846977",
		"jsonpath={.nothing}":       "",
	} {
		f, err := ParseFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := f.Object(&b, object); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s: got %q, want %q", format, b.String(), want)
		}
	}
	for _, bad := range []string{"xml", "jsonpath={", "json=x"} {
		if _, err := ParseFormat(bad); err == nil {
			t.Errorf("ParseFormat(%q) gives no error", bad)
		}
	}
}
