package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// forward hands a request of a page to the API, with the operator's token in
// place of the session. The API sets its own deadlines and headers; the answer
// is never a page of this origin.
func (d *Dashboard) forward(w http.ResponseWriter, r *http.Request) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a writer without deadlines is a test's
	_ = control.SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	d.api.ServeHTTP(w, d.apiRequest(r, r.Method, strings.TrimPrefix(r.URL.Path, Prefix+"/api"), r.URL.RawQuery))
	return nil
}

// apiRequest is a request to the API on behalf of the person of r.
func (d *Dashboard) apiRequest(r *http.Request, method, path, query string) *http.Request {
	out := r.Clone(r.Context())
	out.Method, out.URL, out.RequestURI, out.Pattern = method, &url.URL{Path: path, RawQuery: query}, path, ""
	out.Header.Del("Cookie")
	out.Header.Set("Authorization", "Bearer "+d.cfg.OperatorToken)
	return out
}
