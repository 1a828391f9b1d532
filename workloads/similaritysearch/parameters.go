package similaritysearch

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/decimal"
	"scimesh.dev/scimesh/workloads/params"
)

// Values of threshold_direction.
const (
	directionGreater = "greater"
	directionLess    = "less"
)

// Bounds of parameters.
const (
	defaultTopK = 20
	maxTopK     = 1_000_000
	// maxQueryBytes bounds the query's SMILES, which every task carries.
	maxQueryBytes = 100_000
	maxIDBytes    = 1_000
)

// parameters of a Job, and of a task. A task has QuerySMILES or QueryFingerprint
// always and MaxRows never; its QueryID says which rows are the query itself.
type parameters struct {
	QueryID     *string `json:"query_id,omitempty"`
	QuerySMILES *string `json:"query_smiles,omitempty"`
	// QueryFingerprint is the query of a task where the input has no SMILES, in
	// hexadecimal as in FPS.
	QueryFingerprint string `json:"query_fingerprint,omitempty"`
	// Queries are many queries, instead of one.
	Queries *querySource `json:"queries,omitempty"`
	// Measure, Alpha, Beta and Fingerprint are left out where they have their defaults.
	Measure     string     `json:"measure,omitempty"`
	Alpha       string     `json:"alpha,omitempty"` // decimal
	Beta        string     `json:"beta,omitempty"`
	Fingerprint *typeShape `json:"fingerprint,omitempty"`
	TopK        int        `json:"top_k"`
	// Threshold is a decimal string.
	Threshold          *string `json:"threshold,omitempty"`
	ThresholdDirection string  `json:"threshold_direction"`
	MaxRows            int64   `json:"max_rows,omitempty"`
	// Input says in a task how to read an input that the planner has not read.
	Input *v1.InputLayout `json:"input,omitempty"`
}

// typeShape is a fingerprint type as parameters have it.
type typeShape struct {
	Radius int `json:"radius"`
	Bits   int `json:"bits"`
}

// given is how many forms of a query there are.
func (p parameters) given() (n int) {
	for _, given := range []bool{p.QuerySMILES != nil, p.QueryFingerprint != "", p.Queries != nil} {
		if given {
			n++
		}
	}
	return n
}

// kind is the type of the fingerprints.
func (p parameters) kind() fps.Type {
	if p.Fingerprint == nil {
		return defaultType
	}
	return fps.Type(*p.Fingerprint)
}

// Validate checks a Job's parameters and fills in the defaults.
func (w *Workload) Validate(path *field.Path, raw json.RawMessage) (json.RawMessage, field.ErrorList) {
	f := params.Decode(path, raw, "query_id", "query_smiles", "top_k", "threshold", "threshold_direction", "max_rows",
		"measure", "alpha", "beta", "fingerprint", "queries")
	shape := fingerprintType(f)
	p := parameters{
		QueryID:            queryID(f),
		QuerySMILES:        w.querySMILES(f, parameters{Fingerprint: shape}.kind()),
		Fingerprint:        shape,
		TopK:               int(f.Int("top_k", 1, maxTopK, defaultTopK)),
		Threshold:          threshold(f),
		ThresholdDirection: f.Choice("threshold_direction", directionGreater, directionLess),
		MaxRows:            f.Int("max_rows", 1, math.MaxInt64, 0),
	}
	p.Queries = w.queries(f, p.kind(), int64(p.TopK))
	p.Measure, p.Alpha, p.Beta = weighted(f)
	switch {
	case f.Has("query_id") && f.Has("query_smiles"):
		f.Errors = append(f.Errors, field.Forbidden(f.Path("query_smiles"), "must not be set together with query_id"))
	case f.Has("queries") && (f.Has("query_id") || f.Has("query_smiles")):
		f.Errors = append(f.Errors, field.Forbidden(f.Path("queries"), "must not be set together with query_id or query_smiles"))
	case !f.Has("query_id") && !f.Has("query_smiles") && !f.Has("queries") && len(f.Errors) == 0:
		f.Errors = append(f.Errors, field.Required(path, "one of query_id, query_smiles and queries must be set"))
	}
	if len(f.Errors) > 0 {
		return nil, f.Errors
	}
	return p.encode(), nil
}

func (p parameters) encode() json.RawMessage {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return raw
}

func queryID(f *params.Fields) *string {
	id := f.String("query_id")
	switch {
	case id == "":
		return nil
	case strings.ContainsAny(id, "\t\n\x00"):
		f.Invalid("query_id", "must not contain a tab, a line feed or NUL")
	case len(id) > maxIDBytes:
		f.Invalid("query_id", "must have at most %d bytes", maxIDBytes)
	}
	return &id
}

func (w *Workload) querySMILES(f *params.Fields, kind fps.Type) *string {
	smiles := f.String("query_smiles")
	if smiles == "" {
		return nil
	}
	if _, err := w.newQuery(kind, nil, smiles); err != nil {
		f.Invalid("query_smiles", "%s", err)
	}
	return &smiles
}

// threshold returns the decimal in its shortest form.
func threshold(f *params.Fields) *string {
	text := f.Number("threshold")
	if !f.Has("threshold") || len(f.Errors) > 0 && text == "" {
		return nil
	}
	d, err := decimal.Parse(text)
	if err != nil {
		f.Invalid("threshold", "%s", err)
		return nil
	}
	text = d.String()
	return &text
}

// search is what tasks and the reducer need to know of the parameters.
type search struct {
	parameters
	kind      fps.Type
	threshold *decimal.Fraction
	order     order // its measure lacks the query
}

// of returns the order and the limits of a query.
func (s *search) of(q *query) (order, *limits) {
	o := s.order
	o.measure.query = int64(q.bits.ones())
	return o, newLimits(o.measure, s.kind.Bits, s.threshold, o.ascending)
}

// decodeSearch reads the parameters of a task. They come from Plan, so
// anything unexpected is another version's doing.
func decodeSearch(raw json.RawMessage) (search, error) {
	bad := func(what string) (search, error) {
		return search{}, workloads.Errorf(workloads.ReasonInvalidParameters, "task parameters: %s", what)
	}
	var s search
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s.parameters); err != nil {
		return bad(err.Error())
	}
	switch {
	case s.given() != 1:
		return bad("one of query_smiles, query_fingerprint and queries is needed")
	case s.Queries != nil && s.Queries.checkSize(int64(s.TopK)) != nil:
		return bad("queries: " + s.Queries.checkSize(int64(s.TopK)).Error())
	case engineOptions(s.parameters.kind()).Validate() != nil || s.parameters.kind().Bits == 0:
		return bad("fingerprint is out of range")
	case s.TopK < 1 || s.TopK > maxTopK:
		return bad("top_k is out of range")
	case s.ThresholdDirection != directionGreater && s.ThresholdDirection != directionLess:
		return bad("threshold_direction is neither greater nor less")
	}
	s.kind = s.parameters.kind()
	s.order.ascending = s.ThresholdDirection == directionLess
	var err error
	if s.order.measure, err = newMeasure(s.Measure, s.Alpha, s.Beta); err != nil {
		return bad(err.Error())
	}
	if s.Threshold != nil {
		d, err := decimal.Parse(*s.Threshold)
		if err != nil {
			return bad("threshold " + err.Error())
		}
		s.threshold = &d
	}
	return s, nil
}
