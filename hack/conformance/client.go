package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client sends requests as they are: it knows nothing of SciMesh but the words of the contract.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base, token string) *client {
	return &client{
		base: strings.TrimSuffix(base, "/"), token: token,
		http: &http.Client{
			Timeout:       time.Minute,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// with returns a client that sends another token; "" sends none.
func (c *client) with(token string) *client {
	other := *c
	other.token = token
	return &other
}

// answer is a whole response.
type answer struct {
	request string
	status  int
	header  http.Header
	body    []byte
}

// fields of a request: its JSON body.
type fields map[string]any

// merge returns f with the fields of more on top; nil values are left out.
func (f fields) merge(more fields) fields {
	out := fields{}
	for _, layer := range []fields{f, more} {
		for k, v := range layer {
			if out[k] = v; v == nil {
				delete(out, k)
			}
		}
	}
	return out
}

// send sends a body as it is. headers are pairs of names and values.
func (c *client) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (answer, error) {
	url := path
	if strings.HasPrefix(path, "/") {
		url = c.base + path
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{request: method + " " + path, status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return a, err
}

// post sends JSON.
func (c *client) post(ctx context.Context, path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return c.send(ctx, http.MethodPost, path, bytes.NewReader(raw), "Content-Type", "application/json")
}

// want checks the status, and of an error its shape too.
func (a answer) want(statuses ...int) error {
	for _, status := range statuses {
		if a.status == status {
			if status >= 400 {
				return a.wantErrorShape()
			}
			return nil
		}
	}
	return fmt.Errorf("%s: status %d, want one of %v; body %.300s", a.request, a.status, statuses, a.body)
}

// wantErrorShape checks the one form of errors, and that nothing of the inside shows.
func (a answer) wantErrorShape() error {
	var e struct {
		Error struct {
			Code    string
			Message string
		}
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(a.body, &e); err != nil || e.Error.Code == "" || e.Error.Message == "" || e.RequestID == "" {
		return fmt.Errorf("%s: the error has not the form {error: {code, message}, request_id}: %.300s", a.request, a.body)
	}
	if id := a.header.Get("X-Request-ID"); id != e.RequestID {
		return fmt.Errorf("%s: X-Request-ID is %q, request_id %q", a.request, id, e.RequestID)
	}
	for _, inside := range []string{"goroutine ", ".go:", "SQLSTATE", "pgx", "Traceback", "panic:"} {
		if bytes.Contains(a.body, []byte(inside)) {
			return fmt.Errorf("%s: the error shows the inside: %.300s", a.request, a.body)
		}
	}
	return nil
}

// decode reads the JSON of a success.
func (a answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s: %w: %.300s", a.request, err, a.body)
	}
	return nil
}

// mentions checks that an error names what is wrong.
func (a answer) mentions(what string) error {
	if !strings.Contains(string(a.body), what) {
		return fmt.Errorf("%s: the answer does not name %s: %.300s", a.request, what, a.body)
	}
	return nil
}
