package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"scimesh.dev/scimesh/store"
)

// handler serves a request, or says why it cannot.
type handler func(w http.ResponseWriter, r *http.Request) error

const (
	readTimeout  = 30 * time.Second
	writeTimeout = time.Minute
	maxForm      = 1 << 20
)

// routes declares every address. All but signing in and static files need a session.
func (d *Dashboard) routes() {
	open := func(pattern string, h handler) { d.mux.Handle(pattern, d.wrap(h)) }
	for pattern, h := range map[string]handler{
		"GET /ui/login": d.loginPage, "POST /ui/login": d.login,
		"GET /ui/static/{path...}": d.static,
	} {
		open(pattern, h)
	}
	for pattern, h := range map[string]handler{
		"GET /ui/{$}":                         d.overview,
		"POST /ui/logout":                     d.logout,
		"GET /ui/jobs":                        d.jobs,
		"GET /ui/jobs.csv":                    d.jobsCSV,
		"GET /ui/cancel":                      d.cancelPage,
		"POST /ui/cancel":                     d.cancelAll,
		"GET /ui/jobs/{name}":                 d.job,
		"POST /ui/jobs/{name}/cancel":         d.cancelJob,
		"GET /ui/jobs/{name}/manifest.yaml":   d.manifest,
		"GET /ui/jobs/{name}/result":          d.result,
		"GET /ui/jobs/{name}/tasks/{index}":   d.task,
		"GET /ui/workers":                     d.workers,
		"GET /ui/workers/{id}":                d.worker,
		"GET /ui/controllers":                 d.controllers,
		"GET /ui/artifacts":                   d.artifacts,
		"GET /ui/artifacts/{id}":              d.artifact,
		"GET /ui/workloads":                   d.workloadList,
		"GET /ui/workloads/{name}":            d.workload,
		"GET /ui/new":                         d.newPage,
		"POST /ui/new":                        d.newSubmit,
		"GET /ui/live":                        d.live,
		"GET /ui/api/jobs/{name}/result":      d.forward,
		"GET /ui/api/jobs/{name}/rejects":     d.forward,
		"GET /ui/api/artifacts/{id}/download": d.forward,
		"GET /ui/api/tasks/{id}/logs":         d.forward,
		"POST /ui/api/artifacts":              d.forward,
		Prefix + "/":                          d.nowhere,
	} {
		open(pattern, d.needSession(h))
	}
}

// ServeHTTP serves one request.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// wrap does for every request what has to be done before and after its handler.
func (d *Dashboard) wrap(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(readTimeout)) // a writer without deadlines is a test's
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		secure(w.Header(), d.https(r))
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			d.log.Error("page panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			d.fail(w, r, errors.New("panic"))
		}()
		err := d.admit(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	})
}

// admit checks what can be told of every request.
func (d *Dashboard) admit(r *http.Request) error {
	if _, host := d.forwarded(r); !d.hosts.known(host) {
		return &pageError{status: http.StatusMisdirectedRequest, title: "Unknown host",
			message: "This coordinator is not known under the name that your browser used.",
			hint:    "Its operator can add it: COORDINATOR_PUBLIC_URL=https://NAME"}
	}
	if err := d.sameOrigin(r); err != nil {
		return &pageError{status: http.StatusForbidden, title: "Refused", message: "The request came from a page of another origin."}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	ok := err == nil && isText(r.URL.Path)
	for _, values := range query {
		for _, v := range values {
			ok = ok && isText(v)
		}
	}
	if !ok {
		return &pageError{status: http.StatusBadRequest, title: "Malformed address", message: "The address holds what no name can hold."}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// needSession sends those who are not signed in to sign in. A page that asks for
// its own refreshment is told so instead.
func (d *Dashboard) needSession(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := d.sessions.find(r)
		switch {
		case err == nil:
			return h(w, r.WithContext(context.WithValue(r.Context(), personKey{}, true)))
		case !errors.Is(err, store.ErrNotFound):
			return err
		case r.Method != http.MethodGet || r.Header.Get(regionsHeader) != "" || strings.HasPrefix(r.URL.Path, Prefix+"/api/") || r.URL.Path == Prefix+"/live":
			return &pageError{status: http.StatusUnauthorized, title: "Signed out", message: "You are signed out.", hint: "Sign in again."}
		}
		target := Prefix + "/login"
		if r.URL.Path != Prefix+"/" || r.URL.RawQuery != "" {
			target += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
		}
		http.Redirect(w, r, target, http.StatusSeeOther)
		return nil
	}
}

func (d *Dashboard) nowhere(http.ResponseWriter, *http.Request) error {
	return &pageError{status: http.StatusNotFound, title: "Not found", message: "There is no such page."}
}
