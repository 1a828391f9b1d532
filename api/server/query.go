package server

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"scimesh.dev/scimesh/store"
)

// matches reports whether a Job that was read by name is selected by the rest of the query.
func (q jobQuery) matches(j store.Job) bool {
	return (len(q.Phases) == 0 || slices.Contains(q.Phases, j.Phase)) &&
		(q.Workload == "" || q.Workload == j.Spec.Workload) &&
		(q.Labels == nil || q.Labels.Matches(labels.Set(j.Labels)))
}
