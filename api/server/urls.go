package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// baseURL is where the client of a request reaches this coordinator, without a
// slash at the end.
func (s *Server) baseURL(r *http.Request) string {
	if s.cfg.PublicURL != "" {
		return s.cfg.PublicURL
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if s.cfg.TrustForwarded {
		if v := first(r.Header.Get("X-Forwarded-Proto")); v == "http" || v == "https" {
			scheme = v
		}
		if v := first(r.Header.Get("X-Forwarded-Host")); isHost(v) {
			host = v
		}
	}
	u := url.URL{Scheme: scheme, Host: host}
	return u.String()
}

// first is the first entry of a list in a header, which is the client's end of a chain of proxies.
func first(list string) string {
	v, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(v)
}

// isHost reports whether v is a host with an optional port and nothing else.
func isHost(v string) bool {
	u, err := url.Parse("http://" + v)
	return err == nil && v != "" && u.Host == v
}

func (s *Server) artifactURI(r *http.Request, id uuid.UUID) string {
	return s.baseURL(r) + "/artifacts/" + id.String() + "/download"
}

func (s *Server) taskInputURI(r *http.Request, id uuid.UUID) string {
	return s.baseURL(r) + "/tasks/" + id.String() + "/input"
}

// checkResultURI checks the URI of a completion: one that an upload to a
// coordinator has returned for this artifact. Its host is not compared, since a
// coordinator may be reached under several names; the URI is not kept.
func checkResultURI(raw string, artifact uuid.UUID) *field.Error {
	path := field.NewPath("result", "uri")
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return field.Required(path, "the URI that the upload returned")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
		return field.Invalid(path, field.OmitValueType{}, "must be the URI that the upload returned")
	case !strings.HasSuffix(u.Path, "/artifacts/"+artifact.String()+"/download"):
		return field.Invalid(path, field.OmitValueType{}, "must be the URI that the upload of result.artifact_id returned")
	}
	return nil
}
