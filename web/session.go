package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"
)

// cookieName is the cookie of a session. Its value is a random text of 130 bits.
const cookieName = "scimesh_session"

// sessions are the people who are signed in. They live in the database.
type sessions struct {
	store sessionStore
	token string // the operator's
	ttl   time.Duration
}

// digest is what the database holds of a cookie.
func (s sessions) digest(value string) (d [32]byte) {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte(value))
	return [32]byte(mac.Sum(d[:0]))
}

// opens reports whether token is the operator's; digests of equal length are
// compared in constant time.
func (s sessions) opens(token string) bool {
	want, got := sha256.Sum256([]byte(s.token)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// begin signs a person in.
func (s sessions) begin(ctx context.Context, w http.ResponseWriter, secure bool) error {
	value := rand.Text()
	if err := s.store.CreateSession(ctx, s.digest(value), s.ttl); err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(value, int(s.ttl.Seconds()), secure))
	return nil
}

func (s sessions) cookie(value string, maxAge int, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: Prefix, MaxAge: maxAge,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// find returns an error unless the request belongs to a live session:
// store.ErrNotFound if it has none.
func (s sessions) find(r *http.Request) error {
	_, err := s.store.FindSession(r.Context(), s.digest(cookieValue(r)))
	return err
}

// end signs the person of a request out.
func (s sessions) end(w http.ResponseWriter, r *http.Request, secure bool) error {
	http.SetCookie(w, s.cookie("", -1, secure))
	return s.store.DeleteSession(r.Context(), s.digest(cookieValue(r)))
}

func cookieValue(r *http.Request) string {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	return c.Value
}
