package printer

import "io"

// Stream prints rows as they come. Columns keep the width that they have
// reached, so that later rows stand below earlier ones.
type Stream struct {
	Columns []Column
	Wide    bool
	Header  bool // still to be printed
	widths  []int
}

// Print writes rows, and the header before the first.
func (s *Stream) Print(w io.Writer, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	lines := Table{Columns: s.Columns, Rows: rows}.lines(s.Wide, s.Header)
	s.Header = false
	for i, width := range columnWidths(lines) {
		if i == len(s.widths) {
			s.widths = append(s.widths, 0)
		}
		s.widths[i] = max(s.widths[i], width)
	}
	return writeAligned(w, lines, s.widths)
}
