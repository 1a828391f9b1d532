package server

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	x := &exchange{id: s.requestID(r.Header)}
	x.log = s.log.WithLazy(zap.String("request_id", x.id))
	x.w = &recorder{ResponseWriter: w, control: http.NewResponseController(w), stall: s.cfg.StallTimeout}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.r = r
	_ = x.w.control.SetReadDeadline(start.Add(s.cfg.RequestTimeout)) // a writer without deadlines is a test's
	x.w.extend()
	h := w.Header()
	h.Set("X-Request-ID", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")

	pattern, rt, known := s.match(r)
	s.metrics.inFlight.Inc()
	defer func() {
		s.metrics.inFlight.Dec()
		abort := s.recovered(x, recover())
		s.finish(x, r, pattern, rt, time.Since(start))
		if abort {
			panic(http.ErrAbortHandler)
		}
	}()
	if !known {
		s.refuseRoute(x, r)
		return
	}
	if err := s.admit(x.w, r, rt); err != nil {
		s.fail(x.w, r, err)
		return
	}
	s.mux.ServeHTTP(x.w, r)
}

// match finds the route of a request, and its pattern without the prefix.
func (s *Server) match(r *http.Request) (pattern string, rt route, known bool) {
	_, pattern = s.mux.Handler(r)
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		return "", route{}, false
	}
	pattern = method + " " + strings.TrimPrefix(path, apiPrefix)
	rt, known = routes[pattern]
	return pattern, rt, known
}

// refuseRoute answers a request for which there is no route: 405 where another
// method would have one, else 404.
func (s *Server) refuseRoute(x *exchange, r *http.Request) {
	h, _ := s.mux.Handler(r)
	probe := &headerOnly{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		x.w.Header().Set("Allow", probe.header.Get("Allow"))
		s.writeError(x.w, x, apiErrorf(wire.CodeMethodNotAllowed, "%s is not allowed here", v1.Quote(r.Method)))
		return
	}
	s.writeError(x.w, x, apiErrorf(wire.CodeNotFound, "there is no such endpoint"))
}

// headerOnly takes what the ServeMux answers when nothing matches.
type headerOnly struct {
	header http.Header
	status int
}

func (w *headerOnly) Header() http.Header         { return w.header }
func (w *headerOnly) WriteHeader(status int)      { w.status = status }
func (w *headerOnly) Write(p []byte) (int, error) { return len(p), nil }

// recovered deals with a panic of a handler. It reports whether the
// connection must be cut, because the response cannot be completed.
func (s *Server) recovered(x *exchange, p any) (abort bool) {
	if p == nil {
		return false
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	x.log.Error("handler panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	if x.w.wroteHeader {
		return true
	}
	s.writeError(x.w, x, errInternal)
	return false
}

// finish writes the access log and the metrics.
func (s *Server) finish(x *exchange, r *http.Request, pattern string, rt route, took time.Duration) {
	status := x.w.status
	if status == 0 {
		status = http.StatusOK
	}
	s.metrics.observe(pattern, r.Method, status, took)
	line := x.log.Check(logLevel(status, rt.quiet), "request")
	if line == nil {
		return
	}
	fields := append([]zap.Field{
		zap.String("operation", x.operation), zap.String("method", v1.Quote(r.Method)), zap.String("path", loggedPath(r)),
		zap.Int("status", status), zap.Int64("bytes", x.w.bytes), zap.Duration("took", took), zap.String("remote", r.RemoteAddr),
	}, x.fields...)
	if x.err != nil {
		fields = append(fields, zap.String("error", x.err.Error()))
	}
	for i := range fields {
		if fields[i].Type == zapcore.StringType {
			fields[i].String = s.tokens.redact(fields[i].String) // clients choose names and paths
		}
	}
	line.Write(fields...)
}

// loggedPath is the path as it was sent, without the query, cut.
func loggedPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if len(path) > 256 {
		path = path[:256] + "…"
	}
	return path
}
