package v1

import (
	"time"

	"github.com/google/uuid"
)

// APIVersion is the group version of every resource in this package.
const APIVersion = "scimesh.dev/v1"

// Kinds of resources.
const (
	KindJob      = "Job"
	KindTask     = "Task"
	KindWorker   = "Worker"
	KindArtifact = "Artifact"
	KindWorkload = "Workload"
	KindEvent    = "Event"
	KindList     = "List"
)

// TypeMeta says what an object is.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// ObjectMeta is what every stored object has. A user sets Name, Labels and
// Annotations; the coordinator sets the rest.
type ObjectMeta struct {
	// Name is a DNS label (RFC 1123), unique among objects of its kind. A name
	// that has the form of a UUID is refused, so that a path may hold either.
	Name        string            `json:"name"`
	UID         uuid.UUID         `json:"uid,omitzero"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Generation counts the changes of the spec, from 1.
	Generation int64 `json:"generation,omitempty"`
	// ResourceVersion changes with every write of the object; compare for equality only.
	ResourceVersion   string `json:"resourceVersion,omitempty"`
	CreationTimestamp Time   `json:"creationTimestamp,omitzero"`
	DeletionTimestamp *Time  `json:"deletionTimestamp,omitempty"`
}

// Time is a UTC instant that prints as RFC 3339 with six fraction digits, the
// precision of PostgreSQL and what every JSON and Python reader accepts.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// NewTime returns t as a Time in UTC, truncated to microseconds.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// NewTimePtr is NewTime for an optional instant: nil for the zero time.
func NewTimePtr(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	v := NewTime(t)
	return &v
}

// MarshalJSON writes the instant as a quoted RFC 3339 string, null if zero.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}
