package v1

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// DiffMutable says what applying desired to stored means. stored is nil if
// there is no such Job. Both have their defaults, and name an equal input in the
// same way. immutable holds the paths of
// the fields that differ although they are fixed once the Job exists; then
// nothing may be changed and the operation is "".
func DiffMutable(stored, desired *Job) (op Operation, immutable []string) {
	if stored == nil {
		return OperationCreated, nil
	}
	if immutable = immutableDiff(&stored.Spec, &desired.Spec); len(immutable) > 0 {
		return "", immutable
	}
	a, b := stored.Spec, desired.Spec
	same := maps.Equal(stored.Metadata.Labels, desired.Metadata.Labels) &&
		maps.Equal(stored.Metadata.Annotations, desired.Metadata.Annotations) &&
		a.Priority == b.Priority && a.Parallelism == b.Parallelism && a.Suspend == b.Suspend &&
		a.ActiveDeadlineSeconds == b.ActiveDeadlineSeconds && a.TTLSecondsAfterFinished == b.TTLSecondsAfterFinished
	if same {
		return OperationUnchanged, nil
	}
	return OperationConfigured, nil
}

// immutableDiff are the paths of fixed fields that differ, in the order of the resource.
func immutableDiff(a, b *JobSpec) []string {
	var out []string
	differ := func(path string, differs bool) {
		if differs {
			out = append(out, path)
		}
	}
	differ("spec.workload", a.Workload != b.Workload)
	differ("spec.input", !reflect.DeepEqual(a.Input, b.Input))
	out = append(out, parameterDiff(a.Parameters, b.Parameters)...)
	differ("spec.sharding.rows", a.Sharding.Rows != b.Sharding.Rows)
	differ("spec.output.formats", !slices.Equal(a.Output.Formats, b.Output.Formats))
	differ("spec.engine", a.Engine != b.Engine)
	differ("spec.maxAttempts", a.MaxAttempts != b.MaxAttempts)
	return out
}

// parameterDiff are the paths of parameters that differ as JSON values: the
// order of fields and white space do not count, 20 and 20.0 are the same number.
func parameterDiff(a, b json.RawMessage) []string {
	var fa, fb map[string]any
	if decodeNumbers(a, &fa) != nil || decodeNumbers(b, &fb) != nil {
		if bytes.Equal(a, b) {
			return nil
		}
		return []string{"spec.parameters"}
	}
	names := maps.Clone(fa)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, fb)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, okA := fa[name]
		vb, okB := fb[name]
		if okA != okB || !sameValue(va, vb) {
			out = append(out, "spec.parameters."+Quote(name))
		}
	}
	return out
}

func decodeNumbers(raw json.RawMessage, into *map[string]any) error {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

// sameValue compares JSON values; numbers by their value.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		fa, errA := strconv.ParseFloat(a.String(), 64)
		fb, errB := strconv.ParseFloat(b.String(), 64)
		return a == b || errA == nil && errB == nil && fa == fb && !isWhole(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	default:
		return a == b
	}
}

// isWhole reports whether both numbers are written as whole ones, which are
// the same only if their digits are: a float64 cannot tell large ones apart.
func isWhole(a, b json.Number) bool {
	_, errA := a.Int64()
	_, errB := b.Int64()
	return errA == nil && errB == nil
}
