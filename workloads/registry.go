package workloads

import (
	"fmt"
	"slices"
)

// Registry is a set of workloads by name; immutable, safe for concurrent use.
type Registry struct {
	byName map[string]Workload
	names  []string
}

// NewRegistry returns a registry of the given workloads. Two of one name are
// a programming error and panic.
func NewRegistry(ws ...Workload) *Registry {
	r := &Registry{byName: make(map[string]Workload, len(ws))}
	for _, w := range ws {
		if _, ok := r.byName[w.Name()]; ok {
			panic(fmt.Sprintf("workloads: %q registered twice", w.Name()))
		}
		r.byName[w.Name()] = w
		r.names = append(r.names, w.Name())
	}
	slices.Sort(r.names)
	return r
}

// Get returns the workload of that name.
func (r *Registry) Get(name string) (Workload, bool) {
	w, ok := r.byName[name]
	return w, ok
}

// Names returns all names in ascending order. The caller must not change the slice.
func (r *Registry) Names() []string { return r.names }
