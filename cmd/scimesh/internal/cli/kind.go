package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
)

// kind is a kind of objects as the commands name, list and print it.
type kind struct {
	singular, plural string
	short            []string
	apiKind          string
	columns          []printer.Column
	// filters are the flags of `get` that narrow this kind.
	filters []string
	// list yields the objects that a filter lets through, at most its limit.
	list func(ctx context.Context, c *client.Client, f filter) iter.Seq2[object, error]
	// get returns one object by name.
	get func(ctx context.Context, c *client.Client, name string) (object, error)
}

// object is one of a kind.
type object struct {
	kind  *kind
	name  string
	value any
	cells func(now time.Time) []string
}

// filter narrows a list. Empty fields narrow nothing.
type filter struct {
	job, worker, workload, selector string
	phases, kinds                   []string
	limit                           int
	workerID                        *uuid.UUID // of worker, once resolved
}

// resolve finds the id of the worker named.
func (f *filter) resolve(ctx context.Context, c *client.Client) error {
	if f.worker == "" {
		return nil
	}
	w, err := findWorker(ctx, c, f.worker)
	f.workerID = &w.Metadata.UID
	return err
}

// Names of the flags that fill a filter.
const (
	filterJob      = "job"
	filterWorker   = "worker"
	filterWorkload = "workload"
	filterSelector = "selector"
	filterPhase    = "phase"
	filterKind     = "kind"
)

// pageSize is how many objects a page holds at most.
const pageSize = 500

// kinds are all of them, in the order of the help.
var kinds = []*kind{jobKind, taskKind, workerKind, artifactKind, workloadKind, controllerKind, eventKind}

// findKind returns the kind of a singular, plural or short name.
func findKind(name string) (*kind, error) {
	for _, k := range kinds {
		if name == k.singular || name == k.plural || slices.Contains(k.short, name) {
			return k, nil
		}
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.plural
	}
	return nil, fmt.Errorf("there is no kind %q; there are %s", name, strings.Join(names, ", "))
}

// access is how the objects of type T of a kind are read.
type access[T any] struct {
	name  func(T) string
	cells func(T, time.Time) []string
	// page reads the page that next continues, nil for the first.
	page func(ctx context.Context, c *client.Client, f filter, limit int32, next *string) (v1.List[T], error)
	// get is nil for objects without names.
	get func(ctx context.Context, c *client.Client, name string) (T, error)
}

// newKind fills in how objects of type T are read.
func newKind[T any](k kind, a access[T]) *kind {
	out := &k
	wrap := func(v T) object {
		return object{kind: out, name: a.name(v), value: v, cells: cellsOf(v, a.cells)}
	}
	out.list = func(ctx context.Context, c *client.Client, f filter) iter.Seq2[object, error] {
		return func(yield func(object, error) bool) {
			left := f.limit
			size := int32(pageSize)
			if left > 0 {
				size = int32(min(left, pageSize))
			}
			for v, err := range client.All(func(next *string) (v1.List[T], error) { return a.page(ctx, c, f, size, next) }) {
				if err != nil {
					yield(object{}, err)
					return
				}
				if !yield(wrap(v), nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
	if a.get != nil {
		out.get = func(ctx context.Context, c *client.Client, name string) (object, error) {
			v, err := a.get(ctx, c, name)
			if err != nil {
				return object{}, err
			}
			return wrap(v), nil
		}
	}
	return out
}

// cellsOf are the cells of v at a time to come.
func cellsOf[T any](v T, cells func(T, time.Time) []string) func(time.Time) []string {
	return func(now time.Time) []string { return cells(v, now) }
}

// ref names one object.
type ref struct {
	kind *kind
	name string
}

func (r ref) String() string { return r.kind.singular + "/" + r.name }

// parseRef reads KIND/NAME; a NAME alone is of the kind given, unless that is nil.
func parseRef(arg string, of *kind) (ref, error) {
	kindName, name, both := strings.Cut(arg, "/")
	if !both {
		if of == nil {
			return ref{}, fmt.Errorf("%q is not KIND/NAME", arg)
		}
		kindName, name = of.singular, arg
	}
	k, err := findKind(kindName)
	if err != nil {
		return ref{}, err
	}
	if name == "" || strings.Contains(name, "/") {
		return ref{}, fmt.Errorf("%q is not KIND/NAME", arg)
	}
	return ref{k, name}, nil
}

// parseRefs reads references that are all of one of the kinds wanted; a NAME
// alone is of the first.
func parseRefs(args []string, wanted ...*kind) ([]ref, error) {
	refs := make([]ref, len(args))
	for i, arg := range args {
		r, err := parseRef(arg, wanted[0])
		if err != nil {
			return nil, err
		}
		if !slices.Contains(wanted, r.kind) {
			forms := make([]string, len(wanted))
			for i, k := range wanted {
				forms[i] = k.singular + "/NAME"
			}
			return nil, fmt.Errorf("%q: want %s", arg, strings.Join(forms, " or "))
		}
		refs[i] = r
	}
	return refs, nil
}
