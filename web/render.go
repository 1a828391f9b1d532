package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

//go:embed templates
var templateFiles embed.FS

// page is what every template is given.
type page struct {
	Title string
	// Section is the entry of the navigation that the page belongs to.
	Section string
	// Topic is what GET /ui/live is asked for: a Job's id, "all", or nothing.
	Topic string
	Data  any

	// The rest is filled in by render.
	Regions  regions
	SignedIn bool
	Version  string
	Now      time.Time
	status   int
}

// regionsHeader names the parts of a page that are to be rendered again.
const regionsHeader = "Ui-Regions"

// regions are the live parts of a page that a request wants; nil wants all.
type regions []string

func regionsOf(r *http.Request) regions {
	list := r.Header.Get(regionsHeader)
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Has reports whether a part is wanted.
func (l regions) Has(id string) bool { return l == nil || slices.Contains(l, id) }

// All reports whether the whole page is wanted.
func (l regions) All() bool { return l == nil }

// render writes a page. Nothing is written if the template fails.
func (d *Dashboard) render(w http.ResponseWriter, r *http.Request, name string, p page) error {
	p.Regions, p.SignedIn, p.Version, p.Now = regionsOf(r), signedIn(r.Context()), d.cfg.Version, time.Now()
	var out bytes.Buffer
	if err := d.templates[name].ExecuteTemplate(&out, "layout", p); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Cookie, "+regionsHeader)
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_, _ = w.Write(out.Bytes()) // a client that left gets no page
	return nil
}

// parseTemplates reads every page with the layout and the parts that pages share.
func (d *Dashboard) parseTemplates() (map[string]*template.Template, error) {
	base, err := template.New("layout").Funcs(d.functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	out := map[string]*template.Template{}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		t, err := template.Must(base.Clone()).ParseFS(templateFiles, file)
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

// functions are what templates can call.
func (d *Dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"asset": d.assets.url,
		"count": count[int64], "bytes": byteSize, "ago": ago, "span": span, "between": between, "utc": utcText, "machine": machineTime,
		"short": shortDigest, "percent": percent, "plural": plural, "decimal": decimal, "isZero": func(t time.Time) bool { return t.IsZero() },
		"time": func(t *v1.Time) time.Time {
			if t == nil {
				return time.Time{}
			}
			return t.Time
		},
		"join": strings.Join, "lower": strings.ToLower, "text": func(v any) string { return fmt.Sprint(v) },
		"jobsIn": func(s store.QueueStats, phase string) int64 { return s.JobsByPhase[v1.JobPhase(phase)] },
		"kind":   kindName, "failing": failing,
		"hundred": func(v *float64) float64 { return *v * 100 }, "int64": func(v int32) int64 { return int64(v) },
		"len64":  func(rows [][]cell) int64 { return int64(len(rows)) },
		"len64n": func(list []neighbour) int64 { return int64(len(list)) }, "wide": func(v int) int64 { return int64(v) },
		"minus": func(a, b int64) int64 { return a - b }, "brief": brief,
		"pair": func(a, b any) [2]any { return [2]any{a, b} },
	}
}
