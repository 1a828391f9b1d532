// Package progress shows how far something is: on a terminal as one line that
// is written over, elsewhere as plain lines now and then.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// State is what there is to show.
type State struct {
	// Label says what it is, Step what is happening: a new step is a new plain line.
	Label, Step string
	// Done of Total; a Total of 0 is not known yet.
	Done, Total int64
	// Detail follows: counts, speed, time left.
	Detail string
}

// Options say where and how often.
type Options struct {
	Out io.Writer
	// Columns is the width of the terminal; 0 asks for plain lines.
	Columns int
	Now     func() time.Time
	// Redraw is the least time between two drawings on a terminal, 100 ms by
	// default; Plain that between two plain lines of one step, 10 s.
	Redraw, Plain time.Duration
}

// Display shows States.
type Display struct {
	opts  Options
	shown State
	at    time.Time
	open  bool // the terminal's line is not ended
}

// New returns a Display on which nothing is shown yet.
func New(o Options) *Display {
	if o.Redraw == 0 {
		o.Redraw = 100 * time.Millisecond
	}
	if o.Plain == 0 {
		o.Plain = 10 * time.Second
	}
	return &Display{opts: o}
}

// Show shows s, unless it is too soon after what was shown. A new step, and
// the end of all there is to do, are always shown.
func (d *Display) Show(s State) {
	now := d.opts.Now()
	wait := d.opts.Plain
	if d.opts.Columns > 0 {
		wait = d.opts.Redraw
	}
	first := d.at.IsZero()
	turn := s.Step != d.shown.Step || s.Label != d.shown.Label || s.Total > 0 && s.Done == s.Total && d.shown.Done != s.Done
	if !first && !turn && (now.Sub(d.at) < wait || s == d.shown) {
		return
	}
	d.shown, d.at = s, now
	if d.opts.Columns == 0 {
		fmt.Fprintln(d.opts.Out, s.plain())
		return
	}
	fmt.Fprint(d.opts.Out, "\r"+cut(s.bar(d.opts.Columns), d.opts.Columns-1)+"\x1b[K")
	d.open = true
}

// Begin says what is about to be shown. What ends soon after is shown only at its end.
func (d *Display) Begin(s State) { d.shown, d.at = s, d.opts.Now() }

// Line writes a line above what is shown.
func (d *Display) Line(text string) {
	d.Clear()
	fmt.Fprintln(d.opts.Out, text)
}

// Clear takes away what is shown, so that others can write a line. What is
// shown next is drawn at once.
func (d *Display) Clear() {
	if d.open {
		fmt.Fprint(d.opts.Out, "\r\x1b[K")
		d.open, d.at = false, time.Time{}
	}
}

// Close ends the line on a terminal.
func (d *Display) Close() {
	if d.open {
		fmt.Fprintln(d.opts.Out)
		d.open = false
	}
}

func (s State) plain() string {
	parts := []string{s.Label}
	if s.Step != "" {
		parts = append(parts, s.Step)
	}
	if s.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", s.percent()))
	}
	if s.Detail != "" {
		parts = append(parts, s.Detail)
	}
	return strings.Join(parts, "  ")
}

// Widths of the bar, which takes what the text leaves.
const (
	minBar = 10
	maxBar = 40
)

func (s State) bar(columns int) string {
	if s.Total <= 0 {
		return s.plain()
	}
	head := s.Label
	if s.Step != "" {
		head += "  " + s.Step
	}
	tail := fmt.Sprintf("%3d%%", s.percent())
	if s.Detail != "" {
		tail += "  " + s.Detail
	}
	width := min(maxBar, columns-1-utf8.RuneCountInString(head+tail)-6)
	if width < minBar {
		return s.plain()
	}
	full := int(int64(width) * s.percent() / 100)
	return head + "  [" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "]  " + tail
}

// percent is rounded down: 100 is the end and nothing less.
func (s State) percent() int64 {
	return int64(100 * float64(min(s.Done, s.Total)) / float64(s.Total))
}

// cut keeps the first n characters.
func cut(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:max(n, 0)])
}
