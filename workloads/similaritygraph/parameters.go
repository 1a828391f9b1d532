package similaritygraph

import (
	"bytes"
	"encoding/json"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/tanimoto"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/decimal"
	"scimesh.dev/scimesh/workloads/params"
)

// Values of threshold_direction.
const (
	directionGreater = "greater"
	directionLess    = "less"
)

const (
	defaultThreshold = "0.7"
	// maxBlockSize bounds the memory of a task.
	maxBlockSize = 1_000_000
)

// parameters of a Job.
type parameters struct {
	// Threshold is a decimal string.
	Threshold          string `json:"threshold"`
	ThresholdDirection string `json:"threshold_direction"`
	BlockSize          int64  `json:"block_size,omitempty"`
	MaxRows            int64  `json:"max_rows,omitempty"`
}

// Validate checks a Job's parameters and fills in the defaults.
func (w *Workload) Validate(path *field.Path, raw json.RawMessage) (json.RawMessage, field.ErrorList) {
	f := params.Decode(path, raw, "threshold", "threshold_direction", "block_size", "max_rows")
	p := parameters{
		Threshold:          threshold(f),
		ThresholdDirection: f.Choice("threshold_direction", directionGreater, directionLess),
		BlockSize:          f.Int("block_size", 1, maxBlockSize, 0),
		MaxRows:            f.Int("max_rows", 1, math.MaxInt64, 0),
	}
	if len(f.Errors) > 0 {
		return nil, f.Errors
	}
	return encode(p), nil
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return raw
}

// threshold returns the decimal in its shortest form.
func threshold(f *params.Fields) string {
	if !f.Has("threshold") {
		return defaultThreshold
	}
	text := f.Number("threshold")
	if text == "" && len(f.Errors) > 0 {
		return ""
	}
	d, err := decimal.Parse(text)
	if err != nil {
		f.Invalid("threshold", "%s", err)
		return ""
	}
	return d.String()
}

// taskParameters are what a worker gets: those that all tasks share, and, in the
// second stage, the pair of blocks.
type taskParameters struct {
	Threshold          string `json:"threshold"`
	ThresholdDirection string `json:"threshold_direction"`
	// MaxEdges fails a task with more edges than the Job may have.
	MaxEdges int64 `json:"max_edges,omitempty"`
	// Input is what the Job says of the form of a chunk, nil for a shard.
	Input *v1.InputLayout `json:"input,omitempty"`
	// Pair is nil in the first stage.
	Pair *pair `json:"pair,omitempty"`
}

// pair is a pair of blocks, Left ≤ Right, and the numbers of their first molecules.
type pair struct {
	Left       int   `json:"left"`
	Right      int   `json:"right"`
	LeftFirst  int64 `json:"left_first"`
	RightFirst int64 `json:"right_first"`
}

// criterion says which pairs are edges.
type criterion struct {
	threshold tanimoto.Threshold
	less      bool
}

func (c criterion) accepts(s tanimoto.Score) bool {
	order := c.threshold.Compare(s)
	return order == 0 || order > 0 != c.less
}

// decodeTask reads the parameters of a task. They come from the plan, so
// anything unexpected is another version's doing.
func decodeTask(raw json.RawMessage) (p taskParameters, c criterion, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	bad := func(what string) (taskParameters, criterion, error) {
		return p, c, workloads.Errorf(workloads.ReasonInvalidParameters, "task parameters: %s", what)
	}
	if err := dec.Decode(&p); err != nil {
		return bad(err.Error())
	}
	if c, err = newCriterion(p.Threshold, p.ThresholdDirection); err != nil {
		return bad(err.Error())
	}
	if q := p.Pair; q != nil && (q.Left < 0 || q.Left > q.Right || q.LeftFirst < 0 || q.RightFirst < q.LeftFirst) {
		return bad("left and right are no pair of blocks")
	}
	return p, c, nil
}

func newCriterion(threshold, direction string) (c criterion, err error) {
	if direction != directionGreater && direction != directionLess {
		return c, workloads.Errorf(workloads.ReasonInvalidParameters, "threshold_direction is neither greater nor less")
	}
	c.less = direction == directionLess
	c.threshold, err = tanimoto.ParseThreshold(threshold)
	return c, err
}
