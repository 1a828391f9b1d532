package table

import (
	"bytes"
	"errors"
	"io"

	"scimesh.dev/scimesh/chem/fps"
)

// sniffed is how much of the input is looked at to find out its format. A first
// line that is longer has no format but TSV.
const sniffed = 64 << 10

// ahead is a reader whose beginning has been looked at.
type ahead struct {
	start []byte
	err   error // that came after start; returned once
	r     io.Reader
}

// lookAhead reads until the first line that is not blank is there, or the limit.
func lookAhead(r io.Reader) *ahead {
	a := &ahead{r: r}
	for empty := 0; len(a.start) < sniffed && a.err == nil && firstOf(a.start, false) == nil; {
		if cap(a.start)-len(a.start) < 512 {
			a.start = append(make([]byte, 0, 2*cap(a.start)+4096), a.start...)
		}
		n, err := r.Read(a.start[len(a.start):cap(a.start)])
		a.start, a.err = a.start[:len(a.start)+n], err
		if empty++; n > 0 {
			empty = 0
		}
		if empty > maxEmptyReads {
			a.err = io.ErrNoProgress
		}
	}
	return a
}

func (a *ahead) Read(p []byte) (int, error) {
	switch {
	case len(a.start) > 0:
		n := copy(p, a.start)
		a.start = a.start[n:]
		return n, nil
	case a.err != nil:
		err := a.err
		if !errors.Is(err, io.EOF) {
			a.err = nil
		}
		return 0, err
	}
	return a.r.Read(p)
}

// firstOf returns the first line that is not blank, nil if its end is not there
// unless all of the text is.
func firstOf(text []byte, all bool) []byte {
	text = bytes.TrimPrefix(text, byteOrderMark)
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		if !ended && !all {
			return nil
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
			return line
		}
		text = rest
	}
	return nil
}

// detect finds out the format: FPS by its mark, TSV and CSV by a header with both
// columns, SMI by a SMILES at the beginning. A line that is none of them is
// refused later, as a header, by the separator that it holds.
func (a *ahead) detect(o Options) Format {
	if fps.IsFPS(a.start) {
		return FPS
	}
	line := firstOf(a.start, errors.Is(a.err, io.EOF))
	fromCSV, _ := splitCSV(nil, line, nil)
	if _, err := findColumns(bytes.Split(line, []byte{'\t'}), o); err == nil {
		return TSV
	}
	if _, err := findColumns(fromCSV, o); err == nil {
		return CSV
	}
	named := o.IDColumn != "" || o.SMILESColumn != ""
	first, _ := splitSMI(line)
	tabs := bytes.IndexByte(line, '\t') >= 0
	switch {
	case !named && (isSMILES(first) || isHeaderOfSMI(first) && !tabs):
		return SMI
	case !tabs && bytes.IndexByte(line, ',') >= 0:
		return CSV
	}
	return TSV
}
