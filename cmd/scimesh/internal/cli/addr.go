package cli

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// stableAddr is --addr with a port of its own: a free one for port 0, kept in
// the data folder, so that workers find a coordinator that was started again.
func (o *upOptions) stableAddr() (string, error) {
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil || port != "0" {
		return o.addr, err
	}
	path := filepath.Join(o.dataDir, "coordinator.addr")
	raw, err := os.ReadFile(path)
	if err == nil && canListen(strings.TrimSpace(string(raw))) {
		return strings.TrimSpace(string(raw)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", err
	}
	return addr, writeFileAtomic(path, []byte(addr+"\n"), 0o644)
}

func canListen(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// dialable is the address by which a process on this machine reaches a
// listener: the loopback address in place of "all interfaces".
func dialable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
