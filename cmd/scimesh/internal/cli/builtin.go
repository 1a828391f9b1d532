package cli

import (
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/similaritygraph"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

// builtin are the workloads compiled into this binary.
func builtin() *workloads.Registry { return builtinWith(0) }

// builtinWith are the workloads for a coordinator that allows a Job so many
// edges; 0 is the default.
func builtinWith(maxEdges int64) *workloads.Registry {
	return workloads.NewRegistry(similaritygraph.New(similaritygraph.Options{MaxEdges: maxEdges}), similaritysearch.New())
}
