package printer

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Description is an object told at length: fields, and below them sections
// with tables or lines.
type Description struct {
	fields   [][2]string
	sections strings.Builder
}

// Field adds a field, in its order. An empty value shows as <none>.
func (d *Description) Field(name, value string) {
	d.fields = append(d.fields, [2]string{name, cell(value)})
}

// Optional adds a field unless its value is empty.
func (d *Description) Optional(name, value string) {
	if value != "" {
		d.Field(name, value)
	}
}

// Table adds a section with a table. One without rows shows as <none>.
func (d *Description) Table(title string, t Table) error {
	if len(t.Rows) == 0 {
		d.sections.WriteString(title + ": <none>\n")
		return nil
	}
	d.sections.WriteString(title + ":\n")
	var b strings.Builder
	if err := t.Print(&b, true, true); err != nil {
		return err
	}
	d.indent(b.String())
	return nil
}

// Text adds a section with text of one or more lines.
func (d *Description) Text(title, text string) {
	d.sections.WriteString(title + ":\n")
	d.indent(SafeLines(strings.TrimRight(text, "\n")) + "\n")
}

func (d *Description) indent(text string) {
	for line := range strings.Lines(text) {
		d.sections.WriteString("  " + line)
	}
}

// Print writes the description.
func (d *Description) Print(w io.Writer) error {
	width := 0
	for _, f := range d.fields {
		width = max(width, utf8.RuneCountInString(f[0]))
	}
	var b strings.Builder
	for _, f := range d.fields {
		b.WriteString(f[0] + ":" + strings.Repeat(" ", width-utf8.RuneCountInString(f[0])+2) + f[1] + "\n")
	}
	b.WriteString(d.sections.String())
	_, err := io.WriteString(w, b.String())
	return err
}
