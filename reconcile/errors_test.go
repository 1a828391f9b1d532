package reconcile_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"scimesh.dev/scimesh/reconcile"
)

// maybe is an error that says itself whether it is a conflict.
type maybe bool

func (m maybe) Error() string  { return "maybe" }
func (m maybe) Conflict() bool { return bool(m) }

func TestErrorClasses(t *testing.T) {
	tests := map[string]struct {
		err          error
		wantTerminal bool
		wantConflict bool
	}{
		"nil":                          {err: nil},
		"plain":                        {err: io.EOF},
		"terminal":                     {err: reconcile.TerminalError(io.EOF), wantTerminal: true},
		"wrapped terminal":             {err: fmt.Errorf("job j: %w", reconcile.TerminalError(io.EOF)), wantTerminal: true},
		"conflict":                     {err: reconcile.Conflict(io.EOF), wantConflict: true},
		"wrapped conflict":             {err: fmt.Errorf("job j: %w", reconcile.Conflict(io.EOF)), wantConflict: true},
		"conflict of another package":  {err: fmt.Errorf("job j: %w", maybe(true)), wantConflict: true},
		"says that it is no conflict":  {err: maybe(false)},
		"terminal nil is no error":     {err: reconcile.TerminalError(nil)},
		"conflict of nil is no error":  {err: reconcile.Conflict(nil)},
		"a terminal conflict is ended": {err: reconcile.TerminalError(reconcile.Conflict(io.EOF)), wantTerminal: true, wantConflict: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reconcile.IsTerminal(tc.err); got != tc.wantTerminal {
				t.Errorf("IsTerminal is %v", got)
			}
			if got := reconcile.IsConflict(tc.err); got != tc.wantConflict {
				t.Errorf("IsConflict is %v", got)
			}
		})
	}
	for _, mark := range []func(error) error{reconcile.TerminalError, reconcile.Conflict} {
		err := mark(io.EOF)
		if !errors.Is(err, io.EOF) || err.Error() != "EOF" {
			t.Errorf("%v hides or changes the error it marks", err)
		}
		if mark(nil) != nil {
			t.Error("nil became an error")
		}
	}
}
