package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"scimesh.dev/scimesh/api/wire"
)

// Categories of errors, matched with errors.Is.
var (
	ErrInvalid      = errors.New("invalid request")
	ErrUnauthorized = errors.New("unauthorized")
	ErrForbidden    = errors.New("forbidden")
	ErrNotFound     = errors.New("not found")
	ErrConflict     = errors.New("conflict")
	// ErrLeaseLost: the task is no longer this worker's. It is an ErrConflict too.
	ErrLeaseLost = errors.New("lease lost")
	ErrTooLarge  = errors.New("too large")
	// ErrUnavailable: the coordinator could not be reached, or cannot serve
	// now. The call may be tried again later.
	ErrUnavailable = errors.New("coordinator unavailable")
	// ErrChecksum: the bytes that arrived are not those announced.
	ErrChecksum = errors.New("SHA-256 differs from the one expected")
)

// Error is an error response of the coordinator, or of what answered in its place.
type Error struct {
	// Operation is what was called, such as "claim task".
	Operation string
	Status    int
	// Code is empty if the response was not the coordinator's.
	Code    wire.ErrorCode
	Message string
	Details []wire.ErrorDetail
	// RequestID finds the request in the coordinator's log.
	RequestID string
	// RetryAfter is how long the coordinator asks to wait; 0 if it does not.
	RetryAfter time.Duration
}

// Error tells the operation, the message and the request id.
func (e *Error) Error() string {
	s := e.Operation + ": " + e.Message
	if e.Code == "" {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.RequestID != "" && e.Status >= 500 {
		s += " (request " + e.RequestID + ")"
	}
	return s
}

// Is compares with the categories.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrLeaseLost:
		return e.Code == wire.CodeLeaseLost
	case ErrUnavailable:
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout ||
			e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	return target != nil && categories[e.Status] == target
}

// categories of statuses that mean one thing.
var categories = map[int]error{
	http.StatusBadRequest:            ErrInvalid,
	http.StatusUnsupportedMediaType:  ErrInvalid,
	http.StatusUnauthorized:          ErrUnauthorized,
	http.StatusForbidden:             ErrForbidden,
	http.StatusNotFound:              ErrNotFound,
	http.StatusConflict:              ErrConflict,
	http.StatusRequestEntityTooLarge: ErrTooLarge,
}

// transportError is a call that got no response. It is ErrUnavailable.
type transportError struct {
	operation string
	err       error
}

func (e *transportError) Error() string        { return e.operation + ": " + e.err.Error() }
func (e *transportError) Unwrap() error        { return e.err }
func (e *transportError) Is(target error) bool { return target == ErrUnavailable }

// responseError reads an error response.
func responseError(operation string, resp *http.Response) *Error {
	e := &Error{
		Operation:  operation,
		Status:     resp.StatusCode,
		Message:    http.StatusText(resp.StatusCode),
		RequestID:  resp.Header.Get("X-Request-ID"),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return e // a proxy, or not a coordinator at all
	}
	var body wire.ErrorResponse
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body); err != nil || body.Error.Code == "" {
		return e
	}
	e.Code, e.Message, e.Details = body.Error.Code, body.Error.Message, body.Error.Details
	return e
}

// retryAfter reads the header, which holds seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
