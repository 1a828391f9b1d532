package similaritysearch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/morgan"
	"scimesh.dev/scimesh/workloads/params"
)

// fingerprintType returns the fingerprint that a Job asks for, nil for the default.
func fingerprintType(f *params.Fields) *typeShape {
	if !f.Has("fingerprint") {
		return nil
	}
	inner := f.Object("fingerprint", "radius", "bits")
	shape := typeShape{
		Radius: int(inner.Int("radius", 0, morgan.MaxRadius, chem.DefaultRadius)),
		Bits:   int(inner.Int("bits", morgan.MinBits, morgan.MaxBits, chem.DefaultBits)),
	}
	if shape.Bits%64 != 0 {
		inner.Invalid("bits", "must be a multiple of 64")
	}
	f.Errors = append(f.Errors, inner.Errors...)
	if shape == typeShape(defaultType) || len(inner.Errors) > 0 {
		return nil
	}
	return &shape
}

// weighted returns the measure, "" for the default, and its weights in their
// shortest form.
func weighted(f *params.Fields) (kind, alpha, beta string) {
	kind = f.Choice("measure", measureTanimoto, measureDice, measureCosine, measureTversky)
	if kind != measureTversky {
		for _, name := range []string{"alpha", "beta"} {
			if f.Has(name) {
				f.Invalid(name, "goes with measure tversky only")
			}
		}
		if kind == measureTanimoto {
			kind = ""
		}
		return kind, "", ""
	}
	faults := len(f.Errors)
	a, b := weight(f, "alpha"), weight(f, "beta")
	if len(f.Errors) == faults && a == 0 && b == 0 {
		f.Invalid("beta", "must not be 0 beside an alpha of 0")
	}
	return kind, weightText(a), weightText(b)
}

// weight returns a weight times weightScale.
func weight(f *params.Fields, name string) int64 {
	if !f.Has(name) {
		f.Required(name, "measure tversky needs it")
		return 0
	}
	n, err := parseWeight(f.Number(name))
	if err != nil {
		f.Invalid(name, "%s", err)
	}
	return n
}

var errWeight = fmt.Errorf("must be a decimal from 0 to %d with at most %d digits after the point", maxWeight, weightPlaces)

// parseWeight reads a decimal without an exponent.
func parseWeight(text string) (int64, error) {
	whole, places, _ := strings.Cut(text, ".")
	places = strings.TrimRight(places, "0")
	digits := whole + places
	if whole == "" || len(whole) > 4 || len(places) > weightPlaces || strings.Trim(digits, "0123456789") != "" {
		return 0, errWeight
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", weightPlaces-len(places)), 10, 64)
	if err != nil || n > maxWeight*weightScale {
		return 0, errWeight
	}
	return n, nil
}

func weightText(n int64) string {
	text := fmt.Sprintf("%d.%06d", n/weightScale, n%weightScale)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// newMeasure returns the measure of a task.
func newMeasure(kind, alpha, beta string) (measure, error) {
	switch kind {
	case "", measureDice, measureCosine:
		if alpha != "" || beta != "" {
			return measure{}, errors.New("alpha and beta go with measure tversky only")
		}
		return measure{kind: kind}, nil
	case measureTversky:
		a, err1 := parseWeight(alpha)
		b, err2 := parseWeight(beta)
		if err := errors.Join(err1, err2); err != nil || a == 0 && b == 0 {
			return measure{}, errors.New("alpha and beta are no weights of measure tversky")
		}
		return measure{kind: kind, alpha: a, beta: b}, nil
	}
	return measure{}, errors.New("measure is unknown")
}
