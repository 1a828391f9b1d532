package store

import (
	"errors"
	"fmt"
)

// Categories of errors, matched with errors.Is. No error of this package
// carries a driver's text.
var (
	// ErrNotFound: there is no such object.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the object is in a state, or held by another, such that the
	// operation does not apply; or the name is taken.
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the arguments can never be accepted.
	ErrInvalid = errors.New("invalid")
	// ErrLeaseLost: the lease or step named has expired, ended, or belongs to another.
	ErrLeaseLost = errors.New("lease lost")
	// ErrUnavailable: the database cannot be reached or did not answer in
	// time. Whether a change was made is not known; every operation may be repeated.
	ErrUnavailable = errors.New("database unavailable")
	// ErrSchemaVersion: the database holds another version of the schema than
	// this program needs.
	ErrSchemaVersion = errors.New("wrong schema version")
	// ErrDamaged: the row of this object cannot be decoded, or breaks a rule
	// of the schema. Other objects are not concerned.
	ErrDamaged = errors.New("damaged")
)

// ImmutableError is the ErrConflict of an apply that would change fields which
// are fixed once the Job exists.
type ImmutableError struct {
	// Fields are paths such as "spec.workload", in the order of the resource.
	Fields []string
}

func (e *ImmutableError) Error() string {
	return fmt.Sprintf("fields cannot be changed: %v", e.Fields)
}

// Is makes an ImmutableError an ErrConflict.
func (e *ImmutableError) Is(target error) bool { return target == ErrConflict }

// PhaseError is the ErrConflict of a transition that the object's phase does not allow.
type PhaseError struct {
	Phase string
}

func (e *PhaseError) Error() string { return "not possible in phase " + e.Phase }

// Is makes a PhaseError an ErrConflict.
func (e *PhaseError) Is(target error) bool { return target == ErrConflict }

// FieldError is an ErrInvalid that one field of a resource is to blame for.
type FieldError struct {
	Field   string
	Message string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Is makes a FieldError an ErrInvalid.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }
