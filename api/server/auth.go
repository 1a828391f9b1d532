package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// tokens are the digests of the tokens that are accepted.
type tokens struct {
	operator, worker [sha256.Size]byte
	values           []string // to keep out of what others write
}

func newTokens(operator, worker string) tokens {
	t := tokens{operator: sha256.Sum256([]byte(operator)), values: []string{operator}}
	t.worker = t.operator
	if worker != "" {
		t.worker = sha256.Sum256([]byte(worker))
		t.values = append(t.values, worker)
	}
	return t
}

// role returns what the token of a request opens; roleNone if it has none
// that is known. Digests of equal length are compared in constant time, so that
// the time tells nothing of a token.
func (t tokens) role(h http.Header) role {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return roleNone
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return roleNone
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	isOperator := subtle.ConstantTimeCompare(sum[:], t.operator[:])
	isWorker := subtle.ConstantTimeCompare(sum[:], t.worker[:])
	switch {
	case isOperator == 1:
		return roleOperator
	case isWorker == 1:
		return roleWorker
	default:
		return roleNone
	}
}

// authorize checks that the request's token opens a route of role need.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, need role) error {
	if need == roleNone {
		return nil
	}
	switch has := s.tokens.role(r.Header); {
	case has >= need:
		return nil
	case has == roleNone:
		w.Header().Set("WWW-Authenticate", `Bearer realm="scimesh"`)
		return errUnauthorized
	default:
		return errForbidden
	}
}

// redact removes tokens from a text that somebody else wrote.
func (t tokens) redact(s string) string {
	for _, v := range t.values {
		s = strings.ReplaceAll(s, v, "[redacted]")
	}
	return s
}
