package server

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// exchange is one request and its answer.
type exchange struct {
	id        string
	r         *http.Request
	w         *recorder
	log       *zap.Logger // with the request id
	operation string
	fields    []zap.Field // what the handlers add to the access log
	err       error       // why it failed, if it did
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// note adds to the line of this request in the access log.
func note(ctx context.Context, fields ...zap.Field) {
	x := exchangeOf(ctx)
	x.fields = append(x.fields, fields...)
}

// nameOperation remembers the operation for the access log.
func nameOperation(next StrictHandlerFunc, operationID string) StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		exchangeOf(ctx).operation = operationID
		return next(ctx, w, r, request)
	}
}

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// requestID is the client's, if it is one, or a new one.
func (s *Server) requestID(h http.Header) string {
	if id := h.Get("X-Request-ID"); validRequestID.MatchString(id) && s.tokens.redact(id) == id {
		return id
	}
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return id.String()
}

// recorder writes a response and remembers what it was. Every write has its
// own deadline, so that a response lasts as long as its reader makes progress.
type recorder struct {
	http.ResponseWriter
	control     *http.ResponseController
	stall       time.Duration
	deadline    time.Time
	status      int
	bytes       int64
	wroteHeader bool
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the response.
func (w *recorder) WriteHeader(status int) {
	if status >= 200 && !w.wroteHeader {
		w.status, w.wroteHeader = status, true
	}
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write adds to the body.
func (w *recorder) Write(p []byte) (int, error) {
	if !w.wroteHeader {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush sends what was written.
func (w *recorder) Flush() {
	w.extend()
	_ = w.control.Flush() // what cannot be sent shows at the next write
}

// extend moves the write deadline, but not at every write of many.
func (w *recorder) extend() {
	now := time.Now()
	if w.deadline.Sub(now) > w.stall-w.stall/8 {
		return
	}
	w.deadline = now.Add(w.stall)
	_ = w.control.SetWriteDeadline(w.deadline) // a writer without deadlines is a test's
}

// writeJSON writes a response of its own accord, outside the generated code.
func writeJSON(w http.ResponseWriter, status int, v any, log *zap.Logger) {
	data, err := json.Marshal(v)
	if err != nil {
		log.Error("response does not marshal", zap.Error(err))
		data = []byte(`{"error":{"code":"internal","message":"internal error"},"request_id":""}`)
		status = http.StatusInternalServerError
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "ETag", "Cache-Control", "Accept-Ranges"} {
		h.Del(name) // of the response that was begun
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that left gets no answer
}
