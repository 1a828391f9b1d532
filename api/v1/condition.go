package v1

import "slices"

// ConditionStatus is "True", "False" or "Unknown".
type ConditionStatus string

// Values of a condition's status.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// MaxConditionMessage is the largest length in bytes of a condition's message;
// longer ones are cut.
const MaxConditionMessage = 4096

// Condition is one observation of an object, in the shape of Kubernetes'
// metav1.Condition. It is our own type because metav1 brings the whole
// serialization machinery of Kubernetes with it, and its times lack fractions.
type Condition struct {
	Type               string          `json:"type"`
	Status             ConditionStatus `json:"status"`
	ObservedGeneration int64           `json:"observedGeneration,omitempty"`
	LastTransitionTime Time            `json:"lastTransitionTime"`
	// Reason is a CamelCase word for programs, Message a sentence for people.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// SetCondition returns conditions with c put in place of the one of its type,
// or appended. The transition time of an existing condition moves only if its
// status does. The second result is false if nothing changed.
func SetCondition(conditions []Condition, c Condition) ([]Condition, bool) {
	c.Message = truncate(c.Message, MaxConditionMessage)
	for i, old := range conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if old == c {
			return conditions, false
		}
		out := append([]Condition(nil), conditions...)
		out[i] = c
		return out, true
	}
	return append(slices.Clip(conditions), c), true
}

// FindCondition returns the condition of the given type, or nil.
func FindCondition(conditions []Condition, conditionType string) *Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// truncate cuts s to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
