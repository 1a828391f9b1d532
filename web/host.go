package web

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// hostList are the names by which this coordinator is known. A page that got
// its own name to resolve to this machine's address is not among them, and so
// cannot speak to it through a visitor's browser.
type hostList map[string]bool

func newHostList(cfg Config) (hostList, error) {
	list := hostList{"localhost": true}
	for _, host := range cfg.Hosts {
		list[strings.ToLower(host)] = true
	}
	if cfg.PublicURL != "" {
		u, err := url.Parse(cfg.PublicURL)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("public URL: names no host")
		}
		list[strings.ToLower(u.Hostname())] = true
	}
	return list, nil
}

// known reports whether a Host header, with or without a port, is to be
// answered. IP addresses are: nobody else's name leads to them.
func (l hostList) known(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(host), "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return l[strings.TrimSuffix(host, ".")]
}

// forwarded returns scheme and host as the client sees them.
func (d *Dashboard) forwarded(r *http.Request) (scheme, host string) {
	scheme, host = "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if d.cfg.TrustForwarded {
		if v := firstOf(r.Header.Get("X-Forwarded-Proto")); v == "http" || v == "https" {
			scheme = v
		}
		if v := firstOf(r.Header.Get("X-Forwarded-Host")); v != "" {
			host = v
		}
	}
	return scheme, host
}

// firstOf is the first entry of a list in a header: the client's end of a chain of proxies.
func firstOf(list string) string {
	v, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(v)
}

// securityPolicy is the Content-Security-Policy of pages.
const securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
	"connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers of every answer. Without https browsers ignore the
// policy of openers, and complain of it.
func secure(h http.Header, https bool) {
	h.Set("Content-Security-Policy", securityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	if https {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// sameOrigin refuses what a page of another origin makes a browser send. Safe
// methods change nothing, and pass.
func (d *Dashboard) sameOrigin(r *http.Request) error {
	if d.cfg.TrustForwarded {
		_, host := d.forwarded(r)
		r = r.Clone(r.Context())
		r.Host = host
	}
	return d.origin.Check(r)
}
