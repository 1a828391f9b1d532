package reconcile

import (
	"errors"
	"fmt"
	"runtime/debug"

	"go.uber.org/zap"
)

// TerminalError marks err as one that no retry can heal: a user must act. The
// key is recorded as failed and left alone until its next event, which a
// periodic resync is too. TerminalError(nil) is nil.
func TerminalError(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// IsTerminal reports whether err is, or wraps, a TerminalError.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*terminalError](err)
	return ok
}

// Conflict marks err as a lost race: somebody else changed the object between
// the read and the guarded write. The key is retried with back-off, logged at
// Info, and does not count as an error. Conflict(nil) is nil.
func Conflict(err error) error {
	if err == nil {
		return nil
	}
	return &conflictError{err}
}

type conflictError struct{ err error }

func (e *conflictError) Error() string  { return e.err.Error() }
func (e *conflictError) Unwrap() error  { return e.err }
func (e *conflictError) Conflict() bool { return true }

// IsConflict reports whether err is, or wraps, an error whose method
// Conflict() bool returns true: those of Conflict, and those of packages that
// do not import this one.
func IsConflict(err error) bool {
	c, ok := errors.AsType[interface {
		error
		Conflict() bool
	}](err)
	return ok && c.Conflict()
}

// panicError is a recovered panic with the stack of the goroutine it stopped.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// recoverAs stores a panic of the calling function in err. It is to be deferred.
func recoverAs(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{value: v, stack: debug.Stack()}
	}
}

// errorFields are the log fields of err, with the stack if it is a panic.
func errorFields(err error) []zap.Field {
	fields := []zap.Field{zap.Error(err)}
	if p, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", p.stack))
	}
	return fields
}
