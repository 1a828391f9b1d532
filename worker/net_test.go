package worker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// network is a set of hosts in memory: real net/http on both ends of pipes,
// which a synctest bubble can wait for.
type network struct {
	mu    sync.Mutex
	hosts map[string]*host
	dials int
}

type host struct {
	conns chan net.Conn
	srv   *http.Server
	up    bool
	open  map[net.Conn]bool
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func newNetwork() *network { return &network{hosts: make(map[string]*host)} }

// serve puts a handler at addr ("name:port").
func (n *network) serve(t testing.TB, addr string, h http.Handler) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Hour}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	n.mu.Lock()
	n.hosts[addr] = &host{conns: l.conns, srv: srv, up: true, open: make(map[net.Conn]bool)}
	n.mu.Unlock()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
}

// down cuts every connection to the coordinator and refuses new ones until up.
func (n *network) down() {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[coordinatorAddr]
	h.up = false
	for c := range h.open {
		_ = c.Close()
		delete(h.open, c)
	}
}

func (n *network) up() {
	n.mu.Lock()
	n.hosts[coordinatorAddr].up = true
	n.mu.Unlock()
}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	h := n.hosts[addr]
	if h == nil || !h.up {
		n.mu.Unlock()
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	h.open[client] = true
	n.mu.Unlock()
	select {
	case h.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// transport returns a transport over the network.
func (n *network) transport(t testing.TB) *http.Transport {
	tr := newTransport(8)
	tr.Proxy = nil
	tr.DialContext = n.dial
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}
