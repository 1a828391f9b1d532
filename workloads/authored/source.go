package authored

import (
	"context"
	"sync"
	"time"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

const (
	// sourceAge is how old the list may get.
	sourceAge = time.Second
	// missAge is how old it may be where a workload is looked for in vain.
	missAge     = 50 * time.Millisecond
	listTimeout = 5 * time.Second
)

// Source knows the workloads that workers brought to any coordinator. What
// cannot be read now is as it was.
type Source struct {
	list func(context.Context) ([]v1.Workload, error)

	mu     sync.Mutex
	read   time.Time
	byName map[string]*Workload
	names  []string
}

var _ workloads.Source = (*Source)(nil)

// NewSource returns a source that asks list.
func NewSource(list func(context.Context) ([]v1.Workload, error)) *Source { return &Source{list: list} }

// Get returns the workload of that name.
func (s *Source) Get(name string) (workloads.Workload, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(sourceAge)
	if s.byName[name] == nil {
		s.refresh(missAge)
	}
	w, ok := s.byName[name]
	return w, ok
}

// Names returns all names in ascending order.
func (s *Source) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(sourceAge)
	return s.names
}

// refresh reads the list if it is older than age. The lock is held.
func (s *Source) refresh(age time.Duration) {
	if !s.read.IsZero() && time.Since(s.read) < age {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	items, err := s.list(ctx)
	if err != nil {
		return
	}
	s.read, s.byName, s.names = time.Now(), map[string]*Workload{}, nil
	for _, item := range items {
		w, err := New(item.Metadata.Name, item.Spec)
		if err != nil {
			continue // of a coordinator that accepts more than this one
		}
		s.byName[w.name] = w
		s.names = append(s.names, w.name)
	}
}
