package workloads

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
)

// ValidateFormats checks that a workload makes each of the formats, below path.
func ValidateFormats(w Workload, path *field.Path, formats []string) field.ErrorList {
	var errs field.ErrorList
	var known []string
	for _, f := range w.Describe().Formats {
		known = append(known, f.Name)
	}
	for i, name := range formats {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, field.NotSupported(path.Index(i), v1.Quote(name), known))
		case slices.Contains(formats[:i], name):
			errs = append(errs, field.Duplicate(path.Index(i), v1.Quote(name)))
		}
	}
	return errs
}
