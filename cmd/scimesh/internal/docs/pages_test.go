package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the repository.
const root = "../../../.."

// page is one file of the documentation.
type page struct {
	path  string // from the top of the repository
	lines []string
}

// pages are the README, the other texts at the top, and everything below docs.
func pages(t *testing.T) []page {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]page, len(paths))
	for i, path := range paths {
		out[i] = readPage(t, path)
	}
	return out
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return page{path: filepath.ToSlash(rel), lines: strings.Split(string(raw), "\n")}
}

// line is one line of a page: of its text, or of a code block in a language.
type line struct {
	number int
	text   string
	code   bool
	lang   string
}

// parsed tells for every line whether it stands in a code block. The fences are left out.
func (p page) parsed() []line {
	var out []line
	code, lang := false, ""
	for i, text := range p.lines {
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "```") {
			code, lang = !code, strings.TrimPrefix(trimmed, "```")
			continue
		}
		out = append(out, line{number: i + 1, text: text, code: code, lang: lang})
	}
	return out
}

// docs are the pages about how the program is used: without the history and the manners of its authors.
func docs(t *testing.T) []page {
	t.Helper()
	var out []page
	for _, p := range pages(t) {
		if p.path == "README.md" || strings.HasPrefix(p.path, "docs/") {
			out = append(out, p)
		}
	}
	return out
}

// text is all of a page.
func (p page) text() string { return strings.Join(p.lines, "\n") }
