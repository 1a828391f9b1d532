package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

type loginView struct {
	Next    string
	Message string
}

func (d *Dashboard) loginPage(w http.ResponseWriter, r *http.Request) error {
	return d.render(w, r, "login", page{Title: "Sign in", Data: loginView{Next: nextPage(r.URL.Query().Get("next"))}})
}

// login signs a person in with the operator's token.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(w, r); err != nil {
		return err
	}
	view := loginView{Next: nextPage(r.PostForm.Get("next"))}
	client := clientOf(r)
	if wait, ok := d.signIns.admit(client); !ok {
		seconds := strconv.Itoa(int(wait.Seconds()) + 1)
		w.Header().Set("Retry-After", seconds)
		view.Message = "Too many attempts. Try again in " + seconds + " seconds."
		return d.render(w, r, "login", page{Title: "Sign in", Data: view, status: http.StatusTooManyRequests})
	}
	if !d.sessions.opens(strings.TrimSpace(r.PostForm.Get("token"))) {
		d.signIns.failed(client)
		d.log.Warn("sign-in refused", zap.String("remote", r.RemoteAddr))
		view.Message = "That is not the operator token."
		return d.render(w, r, "login", page{Title: "Sign in", Data: view, status: http.StatusUnauthorized})
	}
	if err := d.sessions.begin(r.Context(), w, d.https(r)); err != nil {
		return err
	}
	d.log.Info("signed in", zap.String("remote", r.RemoteAddr))
	http.Redirect(w, r, view.Next, http.StatusSeeOther)
	return nil
}

// logout ends this session, or with the field everywhere, all of them.
func (d *Dashboard) logout(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(w, r); err != nil {
		return err
	}
	if err := d.sessions.end(w, r, d.https(r)); err != nil {
		return err
	}
	if r.PostForm.Get("everywhere") != "" {
		n, err := d.store.DeleteSessions(r.Context())
		if err != nil {
			return err
		}
		d.log.Info("all sessions ended", zap.Int("sessions", n+1), zap.String("remote", r.RemoteAddr))
	}
	http.Redirect(w, r, Prefix+"/login", http.StatusSeeOther)
	return nil
}

func (d *Dashboard) https(r *http.Request) bool {
	scheme, _ := d.forwarded(r)
	return scheme == "https"
}

// nextPage is where to go after signing in: a page of the dashboard, wherever
// the address that was given leads.
func nextPage(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, Prefix+"/") || strings.Contains(raw, `\`) || strings.HasPrefix(u.Path, Prefix+"/api/") {
		return Prefix + "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// parseForm reads the form of a request, which is small.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &pageError{status: http.StatusBadRequest, title: "Not understood", message: "The form is malformed or too large."}
	}
	for _, values := range r.PostForm {
		for _, v := range values {
			if !isText(v) {
				return &pageError{status: http.StatusBadRequest, title: "Not understood", message: "The form holds a zero byte or invalid UTF-8."}
			}
		}
	}
	return nil
}
