package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"scimesh.dev/scimesh/chem"
)

// source is a table of molecules.
type source struct {
	name      string
	separator string
	column    int
}

// load returns n fingerprints of the first source there is, and how many
// molecules they are of.
func load(data string, n int) (rows []uint64, molecules int, err error) {
	for _, s := range []source{
		{filepath.Join(data, "chembl.tsv.gz"), "\t", 1},
		{"/usr/share/RDKit/Data/Pains/test_data/wehi_mols.csv", `"`, 1},
		{"manifests/data/drugs.tsv", "\t", 1},
	} {
		rows = allocateRows(n * fingerprintWords)
		molecules, err = s.read(rows)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && molecules == 0 {
			err = fmt.Errorf("%s: no molecules", s.name)
		}
		if err == nil {
			repeat(rows, molecules*fingerprintWords)
		}
		return rows, molecules, err
	}
	return nil, 0, err
}

// read fills the rows with fingerprints, and returns how many there were. Lines
// that are no molecules, such as the header, are left out.
func (s source) read(rows []uint64) (n int, err error) {
	file, err := os.Open(s.name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in := io.Reader(file)
	if strings.HasSuffix(s.name, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return 0, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	e := chem.New(chem.Options{})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && n*fingerprintWords < len(rows) {
		fields := strings.Split(lines.Text(), s.separator)
		if len(fields) <= s.column {
			continue
		}
		if e.Fingerprint(rows[n*fingerprintWords:][:fingerprintWords], []byte(fields[s.column])) == nil {
			n++
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return n, nil
}

// repeat fills the rows with copies of their first words.
func repeat(rows []uint64, words int) {
	for words < len(rows) {
		words += copy(rows[words:], rows[:words])
	}
}
