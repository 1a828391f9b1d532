package v1

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ParseSelector reads a label selector in the syntax of Kubernetes, such as
// "target=EGFR,stage notin (test)". The empty one selects everything.
func ParseSelector(selector string) (labels.Selector, error) {
	s, err := labels.Parse(selector, field.WithPath(field.NewPath("labelSelector")))
	if err != nil {
		return nil, &InvalidError{Errors: field.ErrorList{field.Invalid(field.NewPath("labelSelector"), Quote(selector), err.Error())}}
	}
	return s, nil
}
