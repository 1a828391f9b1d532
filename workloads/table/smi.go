package table

import (
	"bytes"
	"slices"
	"strings"
)

// smi reads lines of a SMILES and a title. Between them is white space; the title
// may hold blanks and ends before a tab. A CXSMILES extension, in bars after the
// SMILES, belongs to it.
type smi struct {
	lines  *lines
	header bool
	held   []byte // the first line, if it is a row that is still to be returned
}

func newSMI(l *lines) (*smi, error) {
	line, err := firstLine(l)
	if err != nil {
		return nil, err
	}
	s := &smi{lines: l}
	first, _ := splitSMI(line)
	if s.header = isHeaderOfSMI(first); !s.header {
		s.held = bytes.Clone(line)
	}
	return s, nil
}

func isHeaderOfSMI(first []byte) bool {
	return slices.ContainsFunc(smilesNames, func(name string) bool { return strings.EqualFold(name, string(first)) })
}

func (s *smi) next(row *Row) error {
	if s.held != nil {
		row.SMILES, row.ID = splitSMI(s.held)
		s.held = nil
		row.checkText()
		return nil
	}
	for {
		line, tooLong, err := nextLine(s.lines)
		switch {
		case err != nil:
			return err
		case tooLong:
			row.Reject = LineTooLong
			return nil
		}
		if row.SMILES, row.ID = splitSMI(line); len(row.SMILES) == 0 {
			continue // nothing but white space
		}
		row.checkText()
		return nil
	}
}

const blanks = " \t\r\v\f"

// splitSMI splits a line into its SMILES and its title.
func splitSMI(line []byte) (smiles, title []byte) {
	line = bytes.Trim(line, blanks)
	i := bytes.IndexAny(line, blanks)
	if i < 0 {
		return line, nil
	}
	smiles, title = line[:i], bytes.TrimLeft(line[i:], blanks)
	if title[0] == '|' {
		if end := bytes.IndexByte(title[1:], '|'); end >= 0 {
			smiles = line[:len(line)-len(title)+1+end+1]
			title = bytes.TrimLeft(line[len(smiles):], blanks)
		}
	}
	title, _, _ = bytes.Cut(title, []byte{'\t'})
	return smiles, bytes.TrimRight(title, blanks)
}
