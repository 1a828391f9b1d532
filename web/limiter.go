package web

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of failed sign-ins. A token of 16 characters is out of reach of any
// number of guesses; the limit keeps guessing from costing the coordinator anything.
const (
	signInsPerClient = 10
	signInsPerMinute = 100 // of all clients
	signInWindow     = time.Minute
	maxClients       = 10_000
)

// limiter counts failed sign-ins within a window that starts with the first.
type limiter struct {
	now func() time.Time

	mu      sync.Mutex
	started time.Time
	clients map[netip.Prefix]int
	all     int
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, clients: map[netip.Prefix]int{}}
}

// admit reports whether a client may try, and if not, when it may.
func (l *limiter) admit(client netip.Prefix) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	if l.clients[client] < signInsPerClient && l.all < signInsPerMinute {
		return 0, true
	}
	return max(time.Second, signInWindow-l.now().Sub(l.started)), false
}

// failed counts a failed try.
func (l *limiter) failed(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	l.all++
	if len(l.clients) < maxClients {
		l.clients[client]++
	}
}

// turn begins a new window when the old one has passed.
func (l *limiter) turn() {
	if now := l.now(); now.Sub(l.started) >= signInWindow {
		l.started, l.all = now, 0
		clear(l.clients)
	}
}

// clientOf is the address that a request came from: one IPv4 address, or the
// IPv6 network of one subscriber.
func clientOf(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
