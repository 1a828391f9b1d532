package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// admit checks what can be checked of every request before its handler runs.
// Bodies that are read whole are in memory afterwards; streams have a deadline
// for each of their parts.
func (s *Server) admit(w *recorder, r *http.Request, rt route) error {
	if err := s.authorize(w, r, rt.role); err != nil {
		return err
	}
	if err := checkText(r); err != nil {
		return err
	}
	if rt.body == bodyNone {
		if r.ContentLength == 0 {
			w.clearReadDeadline() // a body that nobody reads keeps its deadline
		}
		return nil
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return apiErrorf(wire.CodeUnsupportedMediaType, "Content-Encoding must be left out")
	}
	if err := checkMedia(r, rt.body); err != nil {
		return err
	}
	if rt.body == bodyMultipart || rt.body == bodyRaw {
		r.Body = &progressReader{ReadCloser: r.Body, w: w}
		return nil
	}
	return s.readWhole(w, r, rt)
}

// checkText refuses paths and queries that no name in the database can match
// and that the database refuses to compare.
func checkText(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return apiErrorf(wire.CodeInvalidRequest, "the query of the URL is malformed")
	}
	ok := isText(r.URL.Path)
	for _, values := range query {
		for _, v := range values {
			ok = ok && isText(v)
		}
	}
	if !ok {
		return apiErrorf(wire.CodeInvalidRequest, "the URL holds a zero byte or invalid UTF-8")
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// media are the types that the bodies may have.
var media = map[body][]string{
	bodyJSON:      {"application/json"},
	bodyJob:       {"application/json", "application/yaml"},
	bodyText:      {"text/plain"},
	bodyMultipart: {"multipart/form-data"},
}

// yamlTypes are other names of application/yaml.
var yamlTypes = []string{"application/x-yaml", "text/yaml", "text/x-yaml", "application/vnd.yaml"}

// checkMedia checks the Content-Type, and writes a type that is read whole as the contract does.
func checkMedia(r *http.Request, b body) error {
	if b == bodyRaw {
		return nil
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if slices.Contains(yamlTypes, kind) {
		kind = "application/yaml"
	}
	charset := params["charset"]
	if err != nil || !slices.Contains(media[b], kind) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return apiErrorf(wire.CodeUnsupportedMediaType, "Content-Type must be %s", strings.Join(media[b], " or "))
	}
	if b != bodyMultipart {
		r.Header.Set("Content-Type", kind)
	}
	return nil
}

// readWhole reads a small body within the request's deadline.
func (s *Server) readWhole(w *recorder, r *http.Request, rt route) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rt.limit))
	if err != nil {
		return bodyError(err)
	}
	w.clearReadDeadline()
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.ContentLength = int64(len(data))
	switch {
	case rt.body == bodyText:
		return nil
	case len(bytes.TrimSpace(data)) == 0:
		return apiErrorf(wire.CodeInvalidRequest, "the body is empty")
	case !utf8.Valid(data):
		return apiErrorf(wire.CodeInvalidRequest, "the body is not valid UTF-8")
	case r.Header.Get("Content-Type") != "application/json" || json.Valid(data):
		return nil
	}
	var value any
	return v1.UnmarshalStrict(data, &value) // says what is wrong, and where
}

// clearReadDeadline lets the connection be watched for the client leaving.
func (w *recorder) clearReadDeadline() { _ = w.control.SetReadDeadline(time.Time{}) }

// progressReader reads a stream, each part of which has to come in time.
type progressReader struct {
	io.ReadCloser
	w        *recorder
	deadline time.Time
}

// Read reads a part of the stream.
func (p *progressReader) Read(buf []byte) (int, error) {
	if now := time.Now(); p.deadline.Sub(now) < p.w.stall-p.w.stall/8 {
		p.deadline = now.Add(p.w.stall)
		_ = p.w.control.SetReadDeadline(p.deadline) // a writer without deadlines is a test's
	}
	n, err := p.ReadCloser.Read(buf)
	switch {
	case errors.Is(err, io.EOF):
		p.w.clearReadDeadline()
	case err != nil:
		err = bodyError(err)
	}
	return n, err
}

// bodyError is an error of reading the client's body, which is the client's
// matter: too large, too late, or cut off.
func bodyError(err error) error {
	if e := classify(err); e != errInternal {
		return e
	}
	return apiErrorf(wire.CodeInvalidRequest, "the body broke off")
}
