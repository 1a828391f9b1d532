package worker

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// What an answer of the coordinator means to a worker.
var (
	// ErrLeaseLost says that the attempt is no longer this worker's.
	ErrLeaseLost = errors.New("lease lost")
	// ErrNotFound says that the coordinator does not know the worker or the task.
	ErrNotFound = errors.New("not found")
	// ErrDenied says that the token is not accepted (now).
	ErrDenied = errors.New("token not accepted")
	// ErrRefused says that the same request will never be accepted.
	ErrRefused = errors.New("refused")
	// ErrUnavailable says that the request may be tried again.
	ErrUnavailable = errors.New("unavailable")
	// ErrInputUnavailable says that the fault is of a server that is not the
	// coordinator; together with ErrUnavailable it may pass.
	ErrInputUnavailable = errors.New("input unavailable")
)

// Why a task ends that neither completed nor failed.
var (
	errCancelled        = errors.New("cancelled by the coordinator")
	errLeaseExpired     = errors.New("lease expired without a renewal")
	errDrained          = errors.New("worker is stopping")
	errAborted          = errors.New("worker was told to stop at once")
	errInsufficientDisk = errors.New("InsufficientDisk: the work dir's limit is reached")
	errLocalStorage     = errors.New("LocalStorage: the work dir cannot be used")
)

// StatusError is an HTTP answer other than success. It never holds a token or
// the query of a URL.
type StatusError struct {
	Operation  string
	Status     int
	Code       string
	Message    string
	RequestID  string
	RetryAfter time.Duration // 0 if the server did not say
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s: status %d", e.Operation, e.Status)
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Is reports whether target is the sentinel of e's status.
func (e *StatusError) Is(target error) bool { return sentinel(e.Status) == target }

func sentinel(status int) error {
	switch {
	case status == http.StatusConflict:
		return ErrLeaseLost
	case status == http.StatusNotFound, status == http.StatusGone:
		return ErrNotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ErrDenied
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return ErrUnavailable
	default:
		return ErrRefused
	}
}

// unavailableError is a request that got no answer.
type unavailableError struct {
	operation string
	text      string
	err       error
}

func (e *unavailableError) Error() string        { return e.operation + ": " + e.text }
func (e *unavailableError) Unwrap() error        { return e.err }
func (e *unavailableError) Is(target error) bool { return target == ErrUnavailable }

// fault is the log field of an error, with the id under which the
// coordinator's log has it.
func fault(err error) zap.Field {
	return zap.Inline(zapcore.ObjectMarshalerFunc(func(enc zapcore.ObjectEncoder) error {
		enc.AddString("error", err.Error())
		var s *StatusError
		if errors.As(err, &s) && s.RequestID != "" {
			enc.AddString("request_id", s.RequestID)
		}
		return nil
	}))
}

// leaseGone reports whether err says that the task is not this worker's any more.
func leaseGone(err error) bool {
	return errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrNotFound)
}

// internalError reports whether err is a 500: the coordinator is there, and
// this request is too much for it.
func internalError(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Status == http.StatusInternalServerError
}
