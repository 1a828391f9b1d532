package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// static holds style and scripts, and below vendor what hack/bootstrap put
// there: RDKit's library, if it could be had when the program was built.
//
//go:embed all:static
var staticFiles embed.FS

// asset is one static file.
type asset struct {
	name, contentType string
	data              []byte
	zipped            bool // data is gzip
	digest            string
}

type assets map[string]asset

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// loadAssets reads the embedded files. What ends in .gz is served under the
// name without it.
func loadAssets() (assets, error) {
	list := assets{}
	err := fs.WalkDir(staticFiles, "static", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := staticFiles.ReadFile(file)
		if err != nil {
			return err
		}
		name, zipped := strings.CutSuffix(strings.TrimPrefix(file, "static/"), ".gz")
		kind, ok := assetTypes[path.Ext(name)]
		if !ok {
			return nil // a file that keeps a folder
		}
		sum := sha256.Sum256(data)
		list[name] = asset{name: name, contentType: kind, data: data, zipped: zipped, digest: hex.EncodeToString(sum[:8])}
		return nil
	})
	return list, err
}

// url is the address of a file, which changes with its content; empty if there is none.
func (l assets) url(name string) string {
	a, ok := l[name]
	if !ok {
		return ""
	}
	return Prefix + "/static/" + name + "?v=" + a.digest
}

// workerPolicy is the Content-Security-Policy of the worker that draws
// structures. RDKit's library makes functions from text. The worker has no
// page, no cookie and no address but its own origin's, and gets SMILES alone.
const workerPolicy = "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; connect-src 'self'"

// structureWorker is the script of that worker.
const structureWorker = "structure-worker.js"

func (d *Dashboard) static(w http.ResponseWriter, r *http.Request) error {
	a, ok := d.assets[r.PathValue("path")]
	if !ok {
		return d.nowhere(w, r)
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("ETag", `"`+a.digest+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.digest {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if a.name == structureWorker {
		h.Set("Content-Security-Policy", workerPolicy)
	}
	if r.Header.Get("If-None-Match") == `"`+a.digest+`"` {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	data := a.data
	if a.zipped {
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
		} else if data = unzip(data); data == nil {
			return &pageError{status: http.StatusInternalServerError, title: "Internal error", message: "A file of the program is damaged."}
		}
	}
	_, _ = w.Write(data) // a client that left gets nothing
	return nil
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, params, _ := strings.Cut(part, ";"); strings.TrimSpace(name) == "gzip" {
			return !strings.HasSuffix(strings.ReplaceAll(params, " ", ""), "q=0")
		}
	}
	return false
}

func unzip(data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(z); err != nil {
		return nil
	}
	return out.Bytes()
}
