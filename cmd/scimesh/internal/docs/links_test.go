package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, p := range pages(t) {
		for _, l := range p.parsed() {
			if l.code {
				continue
			}
			for _, m := range linkPattern.FindAllStringSubmatch(l.text, -1) {
				if problem := checkLink(t, p, m[1]); problem != "" {
					t.Errorf("%s:%d: link %s: %s", p.path, l.number, m[1], problem)
				}
			}
		}
	}
}

func checkLink(t *testing.T, p page, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	path, anchor, _ := strings.Cut(link, "#")
	target := filepath.Join(root, p.path)
	if path != "" {
		target = filepath.Join(root, filepath.Dir(p.path), path)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return "there is no such file"
	case anchor == "" || info.IsDir():
		return ""
	case !anchors(readPage(t, target))[anchor]:
		return "there is no such heading"
	}
	return ""
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(p page) map[string]bool {
	out := map[string]bool{}
	for _, l := range p.parsed() {
		heading := strings.TrimLeft(l.text, "#")
		if l.code || heading == l.text || !strings.HasPrefix(heading, " ") {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		out[b.String()] = true
	}
	return out
}
