package fps

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// MaxBits is the largest num_bits that is read.
const MaxBits = 1 << 16

// maxHeaderLines bounds a header: #source may be repeated.
const maxHeaderLines = 1000

// magic is the first line of a file.
const magic = "#FPS1"

// Header is what a file says of its fingerprints. All but Bits may be missing.
type Header struct {
	// Bits is #num_bits, or the length of the first fingerprint where it is
	// missing; 0 if there is neither.
	Bits int
	// Type is #type as it is written; see ParseType.
	Type string
	// Software is #software: product/version words, separated by spaces.
	Software string
	// Sources are the values of #source.
	Sources []string
	// Date is #date, in UTC as 2006-01-02T15:04:05.
	Date string
}

// Append appends the header's lines, without those that would be empty. Control
// characters in values, which could end a line, become spaces.
func (h Header) Append(dst []byte) []byte {
	dst = append(dst, magic+"\n"...)
	line := func(key, value string) {
		if value != "" {
			dst = fmt.Appendf(dst, "#%s=%s\n", key, strings.Map(plain, value))
		}
	}
	if h.Bits > 0 {
		line("num_bits", strconv.Itoa(h.Bits))
	}
	line("type", h.Type)
	line("software", h.Software)
	for _, s := range h.Sources {
		line("source", s)
	}
	line("date", h.Date)
	return dst
}

func plain(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// HeaderError is a header that cannot be read.
type HeaderError struct {
	Line    int64 // from 1
	Message string
}

func (e *HeaderError) Error() string { return fmt.Sprintf("FPS line %d: %s", e.Line, e.Message) }

// IsFPS reports whether a text that begins so is meant as an FPS file, of
// whatever version.
func IsFPS(start []byte) bool { return bytes.HasPrefix(start, []byte(magic[:4])) }

// set reads a header line after its #.
func (h *Header) set(seen map[string]bool, line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{'='})
	if !ok {
		return fmt.Errorf("header line %s is no key=value pair", quote(line))
	}
	key, text := string(name), string(value)
	if seen[key] && (key == "num_bits" || key == "type") {
		return fmt.Errorf("#%s is given twice", key)
	}
	seen[key] = true
	switch key {
	case "num_bits":
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxBits {
			return fmt.Errorf("#num_bits is %s, want a number from 1 to %d", quote(value), MaxBits)
		}
		h.Bits = n
	case "type":
		h.Type = text
	case "software":
		h.Software = text
	case "source":
		h.Sources = append(h.Sources, text)
	case "date":
		h.Date = text
	}
	return nil
}

// quote repeats the beginning of a text in a message.
func quote(text []byte) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
