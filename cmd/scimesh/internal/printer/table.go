package printer

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Column is one column of a Table. Wide ones show with --output wide only.
type Column struct {
	Name string
	Wide bool
}

// Table is rows of cells under columns.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// gap stands between two columns.
const gap = "   "

// Print writes the table with aligned columns. Control characters in a cell
// are escaped: what a user named a thing must not steer a terminal.
func (t Table) Print(w io.Writer, wide, header bool) error {
	lines := t.lines(wide, header)
	return writeAligned(w, lines, columnWidths(lines))
}

func writeAligned(w io.Writer, lines [][]string, widths []int) error {
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			b.WriteString(cell)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) lines(wide, header bool) [][]string {
	var keep []int
	var names []string
	for i, c := range t.Columns {
		if wide || !c.Wide {
			keep = append(keep, i)
			names = append(names, c.Name)
		}
	}
	var lines [][]string
	if header {
		lines = append(lines, names)
	}
	for _, row := range t.Rows {
		line := make([]string, len(keep))
		for j, i := range keep {
			line[j] = cell(row[i])
		}
		lines = append(lines, line)
	}
	return lines
}

func columnWidths(lines [][]string) []int {
	var widths []int
	for _, line := range lines {
		for i, c := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return widths
}

// cell makes s safe for a terminal; an empty cell shows as <none>.
func cell(s string) string {
	if s == "" {
		return "<none>"
	}
	return Safe(s)
}

// Safe escapes what is not printable in s.
func Safe(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u%04x", r)
	}
	return b.String()
}

// SafeLines is Safe for a text of several lines: line feeds and tabs stay.
func SafeLines(s string) string {
	unsafe := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if strings.IndexFunc(s, unsafe) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafe(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Age is how long ago t was, at now, in kubectl's form: 42s, 3m10s, 5h, 12d.
// The zero time has the age <unknown>.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return Duration(max(now.Sub(t), 0))
}

// Duration prints d in the two largest units that matter at its size.
func Duration(d time.Duration) string {
	s := int64(d / time.Second)
	m, h, days := s/60, s/3600, s/86400
	switch {
	case s < 120:
		return fmt.Sprintf("%ds", s)
	case m < 10:
		return withRest(m, "m", s%60, "s")
	case m < 180:
		return fmt.Sprintf("%dm", m)
	case h < 8:
		return withRest(h, "h", m%60, "m")
	case h < 48:
		return fmt.Sprintf("%dh", h)
	case days < 8:
		return withRest(days, "d", h%24, "h")
	}
	return fmt.Sprintf("%dd", days)
}

func withRest(n int64, unit string, rest int64, restUnit string) string {
	if rest == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s%d%s", n, unit, rest, restUnit)
}

// Bytes prints n with a binary unit: 512 B, 1.5 KiB, 17 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), -1
	for value >= 1024 && unit < 4 {
		value, unit = value/1024, unit+1
	}
	name := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
	if value < 10 {
		return fmt.Sprintf("%.1f %s", value, name)
	}
	return fmt.Sprintf("%.0f %s", value, name)
}
