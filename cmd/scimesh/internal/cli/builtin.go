package cli

import (
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

// builtin are the workloads compiled into this binary.
func builtin() *workloads.Registry {
	return workloads.NewRegistry(similaritysearch.New())
}
