package workloads

import "fmt"

// Reasons of Error that more than one workload uses.
const (
	ReasonInvalidParameters = "InvalidParameters"
	ReasonInputInvalid      = "InputInvalid"
	ReasonInputCorrupt      = "InputCorrupt"
	ReasonPartialCorrupt    = "PartialCorrupt"
	ReasonLedgerMismatch    = "LedgerMismatch"
)

// Error is a failure that the user can act on. Trying again gives the same
// error. Any other error of a workload is taken for a fault of the machine and
// retried.
type Error struct {
	// Reason is a CamelCase word, shown as the reason of a condition.
	Reason string
	// Message is a sentence for the user: no path, no token, no raw input but short quotes.
	Message string
}

func (e *Error) Error() string { return e.Reason + ": " + e.Message }

// Errorf returns an Error with a formatted message.
func Errorf(reason, format string, args ...any) error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// PartialError says that the partial result of one task cannot be used. The
// control plane computes that task again.
type PartialError struct {
	ChunkIndex int32
	Err        error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("partial result of chunk %d: %v", e.ChunkIndex, e.Err)
}

func (e *PartialError) Unwrap() error { return e.Err }
