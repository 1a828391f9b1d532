package smiles

import (
	"fmt"
	"strings"
)

// SyntaxError tells where a string stops being SMILES.
type SyntaxError struct {
	Offset  int    // byte offset of the offending byte; len of the input at its end
	Message string // what is wrong there, without the position
	input   string
}

// Error names the problem and the byte offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("SMILES syntax: %s at byte %d", e.Message, e.Offset)
}

// caretContext is how many bytes are shown on each side of the caret.
const caretContext = 30

// Caret shows the string with a caret under the offending byte, on two lines.
// Long strings are cut to the surroundings, and bytes that do not print are
// shown as '?', so that the caret stays in its column.
func (e *SyntaxError) Caret() string {
	from, to := max(0, e.Offset-caretContext), min(len(e.input), e.Offset+caretContext)
	var b strings.Builder
	lead := 0
	if from > 0 {
		b.WriteString("...")
		lead = 3
	}
	for _, c := range []byte(e.input[from:to]) {
		if c < ' ' || c > '~' {
			c = '?'
		}
		b.WriteByte(c)
	}
	if to < len(e.input) {
		b.WriteString("...")
	}
	b.WriteByte('\n')
	b.WriteString(strings.Repeat(" ", lead+e.Offset-from))
	b.WriteByte('^')
	return b.String()
}

// fail makes the error for offset i of the string that is being read.
func (r *Reader) fail(i int, format string, args ...any) error {
	return &SyntaxError{Offset: i, Message: fmt.Sprintf(format, args...), input: string(r.input)}
}
