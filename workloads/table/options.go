package table

import (
	"fmt"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/fps"
)

// Format is how a table is written.
type Format string

// The formats. An empty Format stands for finding out.
const (
	TSV Format = "tsv" // tab-separated columns with a header
	CSV Format = "csv" // comma-separated, quoted as in RFC 4180, with a header
	SMI Format = "smi" // a SMILES, white space, and a title, which is the id
	FPS Format = "fps" // fingerprints with ids, see package fps
)

// Formats are all formats.
var Formats = []Format{TSV, CSV, SMI, FPS}

// Options of a Reader; the zero value has the defaults.
type Options struct {
	// MaxLineBytes is the longest line that is held, without its end; 0 is
	// DefaultMaxLineBytes. Lines of FPS are held up to fps.DefaultMaxLine.
	MaxLineBytes int
	// Format is that of the input; "" finds it out from the first line.
	Format Format
	// IDColumn and SMILESColumn name the columns of TSV and CSV, or number them
	// from 1. Empty ones are looked for by their usual names.
	IDColumn, SMILESColumn string
}

// Layout is what a Reader found its input to be.
type Layout struct {
	Compression string // "gzip", "zstd", or "" for none
	Format      Format
	// Header reports whether the first line was a header. FPS always has one.
	Header bool
	// IDColumn and SMILESColumn are positions from 1 in TSV and CSV, otherwise 0;
	// the names are the header's.
	IDColumn, SMILESColumn int
	IDName, SMILESName     string
	// Fingerprints is the header of FPS, otherwise nil.
	Fingerprints *fps.Header
}

// String describes the layout to a user.
func (l Layout) String() string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(string(l.Format)))
	if l.Compression != "" {
		b.WriteString(" (" + l.Compression + ")")
	}
	switch {
	case l.Fingerprints != nil:
		h := l.Fingerprints
		fmt.Fprintf(&b, ", fingerprints of %d bits", h.Bits)
		b.WriteString(described(", type ", h.Type) + described(", software ", h.Software))
	case l.Format == SMI:
		b.WriteString(without(l.Header) + ", SMILES first, then the title as id")
	default:
		b.WriteString(without(l.Header))
		fmt.Fprintf(&b, ", id in column %d%s, SMILES in column %d%s",
			l.IDColumn, described(" ", l.IDName), l.SMILESColumn, described(" ", l.SMILESName))
	}
	return b.String()
}

func without(header bool) string {
	if header {
		return " with a header"
	}
	return " without a header"
}

func described(before, text string) string {
	if text == "" {
		return ""
	}
	return before + list([][]byte{[]byte(text)})
}

// OptionsFor are the options that a Job's input asks for.
func OptionsFor(l v1.InputLayout) Options {
	return Options{Format: Format(l.Format), IDColumn: l.IDColumn, SMILESColumn: l.SMILESColumn}
}
