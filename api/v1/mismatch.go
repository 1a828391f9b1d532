package v1

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// mismatches compares a decoded JSON value with the type that into points to
// and returns every field that does not fit.
func mismatches(value, into any) field.ErrorList {
	return fits("", reflect.TypeOf(into).Elem(), value)
}

func fits(path string, t reflect.Type, value any) field.ErrorList {
	if value == nil {
		return nil // null leaves the zero value
	}
	if t.Kind() == reflect.Pointer {
		return fits(path, t.Elem(), value)
	}
	if reflect.PointerTo(t).Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return fitsItself(path, t, value)
	}
	switch t.Kind() {
	case reflect.Struct:
		return fitsStruct(path, t, value)
	case reflect.Map:
		return fitsMap(path, t, value)
	case reflect.Slice:
		return fitsSlice(path, t, value)
	default:
		return fitsScalar(path, t, value)
	}
}

// fitsItself asks a type that decodes itself, such as a UUID or a time.
func fitsItself(path string, t reflect.Type, value any) field.ErrorList {
	err := json.Unmarshal(remarshal(value), reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	what := "a valid " + t.Name()
	if t.Name() == "Time" {
		what = "a time such as 2026-07-23T12:05:00Z"
	}
	return field.ErrorList{mustBe(path, what, value)}
}

func fitsStruct(path string, t reflect.Type, value any) field.ErrorList {
	object, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{mustBe(path, "an object", value)}
	}
	fields := jsonFields(t)
	known := slices.Sorted(maps.Keys(fields))
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		child := join(path, Quote(name))
		if ft, ok := fields[name]; ok {
			errs = append(errs, fits(child, ft, object[name])...)
		} else {
			errs = append(errs, unknownField(child, Quote(name), known))
		}
	}
	return errs
}

func fitsMap(path string, t reflect.Type, value any) field.ErrorList {
	object, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{mustBe(path, "an object", value)}
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(object)) {
		errs = append(errs, fits(fmt.Sprintf("%s[%s]", path, Quote(key)), t.Elem(), object[key])...)
	}
	return errs
}

func fitsSlice(path string, t reflect.Type, value any) field.ErrorList {
	list, ok := value.([]any)
	if !ok {
		return field.ErrorList{mustBe(path, "a list", value)}
	}
	var errs field.ErrorList
	for i, item := range list {
		errs = append(errs, fits(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item)...)
	}
	return errs
}

func fitsScalar(path string, t reflect.Type, value any) field.ErrorList {
	var ok bool
	var what string
	switch t.Kind() {
	case reflect.String:
		_, ok = value.(string)
		what = "a string"
	case reflect.Bool:
		_, ok = value.(bool)
		what = "true or false"
	case reflect.Int32:
		n, isInt := value.(int64)
		ok = isInt && n >= math.MinInt32 && n <= math.MaxInt32
		what = "a whole number of at most 32 bits"
	case reflect.Int64:
		_, ok = value.(int64)
		what = "a whole number of at most 64 bits"
	case reflect.Float64:
		switch value.(type) {
		case int64, float64:
			ok = true
		}
		what = "a number"
	default:
		return nil // any
	}
	if ok {
		return nil
	}
	return field.ErrorList{mustBe(path, what, value)}
}

// jsonFields are the types of a struct's fields by JSON name, with those of
// embedded structs among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			maps.Copy(out, jsonFields(f.Type))
		case name == "":
			out[f.Name] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
