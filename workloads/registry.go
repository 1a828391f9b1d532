package workloads

import (
	"fmt"
	"slices"
)

// Registry is a set of workloads by name; immutable, safe for concurrent use.
type Registry struct {
	byName map[string]Workload
	names  []string
	more   Source // nil if there is none
}

// Source knows workloads that may come while the program runs.
type Source interface {
	Get(name string) (Workload, bool)
	Names() []string
}

// With returns a registry that also knows the workloads of a source. Those of r come first.
func (r *Registry) With(more Source) *Registry {
	return &Registry{byName: r.byName, names: r.names, more: more}
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
	if !ok && r.more != nil {
		return r.more.Get(name)
	}
	return w, ok
}

// BuiltIn reports whether the workload is not one of a source.
func (r *Registry) BuiltIn(name string) bool {
	_, ok := r.byName[name]
	return ok
}

// Names returns all names in ascending order. The caller must not change the slice.
func (r *Registry) Names() []string {
	if r.more == nil {
		return r.names
	}
	names := append(slices.Clone(r.names), r.more.Names()...)
	slices.Sort(names)
	return slices.Compact(names)
}
