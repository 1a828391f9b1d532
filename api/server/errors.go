package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
)

// apiError is an error whose status, code and message are known.
type apiError struct {
	status     int
	code       wire.ErrorCode
	message    string
	details    []wire.ErrorDetail
	retryAfter int // seconds; 0 for none
}

func (e *apiError) Error() string { return e.message }

// statusOf are the statuses of the codes.
var statusOf = map[wire.ErrorCode]int{
	wire.CodeInvalidRequest:       http.StatusBadRequest,
	wire.CodeUnauthorized:         http.StatusUnauthorized,
	wire.CodeForbidden:            http.StatusForbidden,
	wire.CodeNotFound:             http.StatusNotFound,
	wire.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	wire.CodeTimeout:              http.StatusRequestTimeout,
	wire.CodeConflict:             http.StatusConflict,
	wire.CodeLeaseLost:            http.StatusConflict,
	wire.CodeTooLarge:             http.StatusRequestEntityTooLarge,
	wire.CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	wire.CodeRangeNotSatisfiable:  http.StatusRequestedRangeNotSatisfiable,
	wire.CodeTooManyRequests:      http.StatusTooManyRequests,
	wire.CodeInternal:             http.StatusInternalServerError,
	wire.CodeUnavailable:          http.StatusServiceUnavailable,
	wire.CodeInsufficientStorage:  http.StatusInsufficientStorage,
}

func apiErrorf(code wire.ErrorCode, format string, args ...any) *apiError {
	return &apiError{status: statusOf[code], code: code, message: fmt.Sprintf(format, args...)}
}

// busyf is a refusal to be tried again in a moment.
func busyf(format string, args ...any) *apiError {
	e := apiErrorf(wire.CodeTooManyRequests, format, args...)
	e.retryAfter = 2
	return e
}

var (
	errUnauthorized = apiErrorf(wire.CodeUnauthorized, "a valid bearer token is needed")
	errForbidden    = apiErrorf(wire.CodeForbidden, "this endpoint needs the operator's token")
	errInternal     = apiErrorf(wire.CodeInternal, "internal error")
)

// categories turn errors of the packages beneath into codes. A message that is
// not empty stands in for the error's own. The first that matches counts.
var categories = []struct {
	target  error
	code    wire.ErrorCode
	message string
}{
	{store.ErrLeaseLost, wire.CodeLeaseLost, "the lease on this task is not held by this worker and attempt"},
	{store.ErrNotFound, wire.CodeNotFound, ""},
	{store.ErrConflict, wire.CodeConflict, ""},
	{store.ErrDamaged, wire.CodeConflict, "the stored object is damaged; its condition Damaged says more"},
	{store.ErrInvalid, wire.CodeInvalidRequest, ""},
	{store.ErrUnavailable, wire.CodeUnavailable, "the database cannot be reached now"},
	{store.ErrSchemaVersion, wire.CodeUnavailable, "the database holds another version of the schema"},
	{artifacts.ErrDigestMismatch, wire.CodeInvalidRequest, "the bytes received do not have the SHA-256 announced"},
	{artifacts.ErrInvalidDigest, wire.CodeInvalidRequest, "not a SHA-256 digest of 64 lowercase hexadecimal digits"},
	{artifacts.ErrTooLarge, wire.CodeTooLarge, "the file is larger than this coordinator accepts"},
	{artifacts.ErrNoSpace, wire.CodeInsufficientStorage, "no space left in the artifact store"},
	{os.ErrDeadlineExceeded, wire.CodeTimeout, "the body did not arrive in time"},
	{io.ErrUnexpectedEOF, wire.CodeInvalidRequest, "the body ended early"},
	{context.DeadlineExceeded, wire.CodeUnavailable, "the request took too long"},
}

// classify turns an error into what the client is told. Whatever is not
// known is internal, and told without details.
func classify(err error) *apiError {
	var known *apiError
	var invalid *v1.InvalidError
	var immutable *store.ImmutableError
	var blamed *store.FieldError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &blamed):
		return invalidRequest(field.ErrorList{{Type: field.ErrorTypeForbidden, Field: blamed.Field, Detail: blamed.Message, BadValue: field.OmitValueType{}}})
	case errors.As(err, &known):
		return known
	case errors.As(err, &invalid):
		return invalidRequest(invalid.Errors)
	case errors.As(err, &immutable):
		return immutableConflict(immutable.Fields)
	case errors.As(err, &tooLarge):
		return apiErrorf(wire.CodeTooLarge, "the body exceeds %d bytes", tooLarge.Limit)
	}
	for _, c := range categories {
		if !errors.Is(err, c.target) {
			continue
		}
		e := apiErrorf(c.code, "%s", c.message)
		if c.message == "" {
			e.message = err.Error()
		}
		if c.code == wire.CodeUnavailable {
			e.retryAfter = 2
		}
		return e
	}
	return errInternal
}

// invalidRequest tells every fault with its path.
func invalidRequest(errs field.ErrorList) *apiError {
	e := apiErrorf(wire.CodeInvalidRequest, "%s", (&v1.InvalidError{Errors: errs}).Error())
	for _, f := range errs {
		e.details = append(e.details, wire.ErrorDetail{Field: f.Field, Message: v1.FieldMessage(f)})
	}
	return e
}

func immutableConflict(fields []string) *apiError {
	e := apiErrorf(wire.CodeConflict, "")
	for i, f := range fields {
		if i > 0 {
			e.message += "; "
		}
		e.message += f + ": field is immutable"
		e.details = append(e.details, wire.ErrorDetail{Field: f, Message: "field is immutable"})
	}
	return e
}

// fail answers a request with an error, and remembers the cause for the log
// where the client is not told.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	x.err = err
	if x.w.wroteHeader {
		panic(http.ErrAbortHandler) // half a response must not look like a whole one
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		x.w.status = statusClientGone
		panic(http.ErrAbortHandler) // nobody reads an answer
	}
	s.writeError(w, x, classify(err))
}

// statusClientGone is what the log and the metrics show for a request whose client left.
const statusClientGone = 499

func (s *Server) writeError(w http.ResponseWriter, x *exchange, e *apiError) {
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	writeJSON(w, e.status, wire.ErrorResponse{
		Error:     wire.ErrorBody{Code: e.code, Message: s.tokens.redact(e.message), Details: e.details},
		RequestID: x.id,
	}, x.log)
}

// badRequest answers a request whose parameters or body the generated code could not read.
func (s *Server) badRequest(w http.ResponseWriter, r *http.Request, err error) {
	s.fail(w, r, parameterError(err))
}

// parameterError names the parameter that is wrong.
func parameterError(err error) error {
	param := func(name, message string) error {
		return invalidRequest(field.ErrorList{{Type: field.ErrorTypeForbidden, Field: name, Detail: message, BadValue: field.OmitValueType{}}})
	}
	var (
		format     *InvalidParamFormatError
		required   *RequiredParamError
		header     *RequiredHeaderError
		tooMany    *TooManyValuesForParamError
		invalid    *v1.InvalidError
		tooLarge   *http.MaxBytesError
		unmarshals *UnmarshalingParamError
	)
	switch {
	case errors.As(err, &format):
		return param(format.ParamName, "has a value of the wrong form")
	case errors.As(err, &unmarshals):
		return param(unmarshals.ParamName, "has a value of the wrong form")
	case errors.As(err, &required):
		return param(required.ParamName, "is required")
	case errors.As(err, &header):
		return param(header.ParamName, "is required")
	case errors.As(err, &tooMany):
		return param(tooMany.ParamName, "is given more than once")
	case errors.As(err, &invalid), errors.As(err, &tooLarge), errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case errors.Is(err, io.EOF):
		return apiErrorf(wire.CodeInvalidRequest, "the body is empty")
	default:
		return apiErrorf(wire.CodeInvalidRequest, "the body cannot be read")
	}
}

// logLevel is how loud an outcome is.
func logLevel(status int, quiet bool) zapcore.Level {
	switch {
	case status >= 500 && status != http.StatusServiceUnavailable:
		return zap.ErrorLevel
	case status == http.StatusServiceUnavailable:
		return zap.WarnLevel
	case quiet && status < 400:
		return zap.DebugLevel
	default:
		return zap.InfoLevel
	}
}
