package v1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// JobManifest is a Job as its author sends it. Its status, and the metadata that
// the coordinator sets, are ignored.
type JobManifest struct {
	Job Job
	// Faults are fields that are unknown or given twice. Whoever decoded the
	// manifest refuses it for them, together with what is wrong with the rest.
	Faults field.ErrorList
}

// UnmarshalJSON decodes the Job. It returns an *InvalidError if there are
// faults that leave the rest unreadable.
func (m *JobManifest) UnmarshalJSON(data []byte) error {
	*m = JobManifest{}
	readable, err := unmarshalStrict(data, &m.Job)
	switch {
	case err == nil:
		return nil
	case !readable:
		return err
	}
	m.Faults = err.Errors
	return nil
}

// MarshalJSON encodes the Job.
func (m JobManifest) MarshalJSON() ([]byte, error) { return json.Marshal(m.Job) }
