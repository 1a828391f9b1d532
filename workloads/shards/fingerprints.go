package shards

import (
	"fmt"

	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
)

// ReasonFingerprintTypeMismatch says that the fingerprints of the input are not
// of the type that the Job compares.
const ReasonFingerprintTypeMismatch = "FingerprintTypeMismatch"

// CheckType refuses fingerprints of another type than is compared. h is nil if the
// input has none.
func CheckType(h *fps.Header, want fps.Type) error {
	if h == nil {
		return nil
	}
	refuse := func(has string) error {
		return workloads.Errorf(ReasonFingerprintTypeMismatch,
			"the job compares fingerprints of type %q, the input has %s", want.String(), has)
	}
	if h.Type == "" {
		return refuse(fmt.Sprintf("%d bits of a type that its header does not tell", h.Bits))
	}
	got, err := fps.ParseType(h.Type)
	if err != nil {
		return refuse(fmt.Sprintf("%.200q, which cannot be compared: %s", h.Type, err))
	}
	if got != want || h.Bits != want.Bits {
		return refuse(fmt.Sprintf("%d bits of type %.200q", h.Bits, h.Type))
	}
	return nil
}
