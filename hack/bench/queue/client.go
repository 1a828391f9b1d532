//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// conn is one kept-alive HTTP/1.1 connection. It is written by hand because the
// load runs on the machine that it measures: net/http's client costs more
// than the coordinator.
type conn struct {
	nc    net.Conn
	r     *bufio.Reader
	out   []byte
	body  []byte
	addr  string
	token string
}

const (
	readBuffer  = 1 << 10
	callTimeout = time.Minute
)

func dial(addr, token string) (*conn, error) {
	nc, err := net.DialTimeout("tcp", addr, callTimeout)
	if err != nil {
		return nil, err
	}
	return &conn{nc: nc, r: bufio.NewReaderSize(nc, readBuffer), addr: addr, token: token}, nil
}

func (c *conn) close() { _ = c.nc.Close() } // nothing is pending

// statusError is an answer other than success.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprintf("answer %d: %s", e.status, e.body) }

// call sends one request and decodes the answer into out, unless it is nil. It
// returns the status; one that is not 2xx is an error.
func (c *conn) call(method, path, contentType, headers string, body []byte, out any) (int, error) {
	c.out = fmt.Appendf(c.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n",
		method, path, c.addr, c.token, contentType, len(body), headers)
	c.out = append(c.out, body...)
	if err := c.nc.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return 0, err
	}
	if _, err := c.nc.Write(c.out); err != nil {
		return 0, err
	}
	status, err := c.receive()
	switch {
	case err != nil:
		return status, fmt.Errorf("%s %s: %w", method, path, err)
	case status/100 != 2:
		return status, fmt.Errorf("%s %s: %w", method, path, &statusError{status, string(c.body)})
	case out != nil && status != 204:
		return status, json.Unmarshal(c.body, out)
	}
	return status, nil
}

// receive reads one response; its body is in c.body.
func (c *conn) receive() (status int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("malformed status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	if status == 204 {
		length = 0
	}
	if length < 0 {
		return 0, errors.New("answer without Content-Length")
	}
	c.body = append(c.body[:0], make([]byte, length)...)
	_, err = io.ReadFull(c.r, c.body)
	return status, err
}
