package similaritysearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/params"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// Bounds of many queries. All of them travel with every task.
const (
	maxQueries = 10_000
	// maxQueriesBytes bounds them as JSON.
	maxQueriesBytes = 3 << 20
	// maxHits bounds the queries times top_k, which are held in memory.
	maxHits = 1_000_000
)

// querySpec is one of many queries. It has a SMILES or a fingerprint.
type querySpec struct {
	ID     string  `json:"id"`
	SMILES *string `json:"smiles,omitempty"`
	// Fingerprint is in hexadecimal, as in FPS; only tasks have it.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// querySource is the parameter queries: a list, or in a Job the digest of a file.
type querySource struct {
	List   []querySpec
	SHA256 string
}

// MarshalJSON writes the list, or an object with the digest.
func (s querySource) MarshalJSON() ([]byte, error) {
	if s.SHA256 != "" {
		return json.Marshal(map[string]string{"sha256": s.SHA256})
	}
	return json.Marshal(s.List)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *querySource) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return dec.Decode(&s.List)
	}
	var file struct {
		SHA256 string `json:"sha256"`
	}
	err := dec.Decode(&file)
	s.SHA256 = file.SHA256
	return err
}

// queries reads the parameter of a Job.
func (w *Workload) queries(f *params.Fields, kind fps.Type, topK int64) *querySource {
	const name = "queries"
	if !f.Has(name) {
		return nil
	}
	if f.IsList(name) {
		return w.listed(f, kind, topK)
	}
	file := f.Object(name, "sha256", "path")
	s := &querySource{SHA256: file.String("sha256")}
	switch {
	case file.Has("path"):
		file.Errors = append(file.Errors, field.Forbidden(file.Path("path"), "only the command line reads files: upload it and name its sha256"))
	case s.SHA256 != "":
		file.Errors = append(file.Errors, v1.ValidateSHA256(s.SHA256, file.Path("sha256"))...)
	case len(file.Errors) == 0:
		file.Required("sha256", "the SHA-256 of an uploaded file of queries, or give a list of them")
	}
	f.Errors = append(f.Errors, file.Errors...)
	return s
}

func (w *Workload) listed(f *params.Fields, kind fps.Type, topK int64) *querySource {
	s := &querySource{}
	seen, e := map[string]bool{}, w.newEngine(kind)
	for _, item := range f.List("queries", "id", "smiles") {
		smiles := item.String("smiles")
		q := querySpec{ID: item.String("id"), SMILES: &smiles}
		if !item.Has("id") {
			item.Required("id", "the result names it")
		}
		if !item.Has("smiles") {
			item.Required("smiles", "the query molecule")
		}
		if len(item.Errors) == 0 {
			if err := checkQueryID(q.ID, seen); err != nil {
				item.Invalid("id", "%s", err)
			}
			if _, err := queryBy(e, kind, nil, smiles); err != nil {
				item.Invalid("smiles", "%s", err)
			}
		}
		f.Errors = append(f.Errors, item.Errors...)
		s.List = append(s.List, q)
	}
	if err := s.checkSize(topK); err != nil && len(f.Errors) == 0 {
		f.Errors = append(f.Errors, field.Forbidden(f.Path("queries"), err.Error()))
	}
	return s
}

// checkQueryID checks an id of a query, and that none before it had it.
func checkQueryID(id string, seen map[string]bool) error {
	switch {
	case id == "":
		return errors.New("must not be empty")
	case strings.ContainsAny(id, "\t\n\x00"):
		return errors.New("must not contain a tab, a line feed or NUL")
	case len(id) > maxIDBytes:
		return fmt.Errorf("must have at most %d bytes", maxIDBytes)
	case seen[id]:
		return errors.New("another query has this id")
	}
	seen[id] = true
	return nil
}

func (s *querySource) checkSize(topK int64) error {
	n := len(s.List)
	switch {
	case n == 0:
		return errors.New("there are no queries")
	case n > maxQueries:
		return fmt.Errorf("there are more than %d queries", maxQueries)
	case int64(n)*topK > maxHits:
		return fmt.Errorf("%d queries with a top_k of %d are more than %d hits", n, topK, maxHits)
	}
	return nil
}

// load replaces the digest of a file by the queries that it holds.
func (w *Workload) load(ctx context.Context, p *parameters, open func(context.Context, string) (io.ReadCloser, error)) error {
	if p.Queries == nil {
		return nil
	}
	if digest := p.Queries.SHA256; digest != "" {
		if open == nil {
			return workloads.Errorf(workloads.ReasonInvalidParameters, "queries: files cannot be opened here")
		}
		in, err := open(ctx, digest)
		if err != nil {
			return err
		}
		defer in.Close()
		if p.Queries, err = w.readQueries(in, p.kind()); err != nil {
			return err
		}
	}
	if err := p.Queries.checkSize(int64(p.TopK)); err != nil {
		return workloads.Errorf(ReasonQueryInvalid, "queries: %s", err)
	}
	if size := len(p.encode()); size > maxQueriesBytes {
		return workloads.Errorf(ReasonQueryInvalid, "queries: they take %d bytes, more than %d", size, maxQueriesBytes)
	}
	return nil
}

// readQueries reads a file of queries. One that cannot be used is an error.
func (w *Workload) readQueries(in io.Reader, kind fps.Type) (*querySource, error) {
	t, err := table.NewReader(in, table.Options{})
	if err != nil {
		return nil, about(err)
	}
	defer t.Close()
	if err := shards.CheckType(t.Layout().Fingerprints, kind); err != nil {
		return nil, about(err)
	}
	s := &querySource{}
	seen, e := map[string]bool{}, w.newEngine(kind)
	for {
		row, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return nil, about(err)
		case len(s.List) == maxQueries:
			return nil, workloads.Errorf(ReasonQueryInvalid, "queries: there are more than %d", maxQueries)
		}
		q, err := readQuery(e, row, kind, seen)
		if err != nil {
			return nil, workloads.Errorf(ReasonQueryInvalid, "queries: row %d (%.100q): %s", row.Number, row.ID, err)
		}
		s.List = append(s.List, q)
	}
}

func readQuery(e engine, row table.Row, kind fps.Type, seen map[string]bool) (querySpec, error) {
	if row.Reject != "" {
		return querySpec{}, errors.New(row.Reject)
	}
	q := querySpec{ID: string(row.ID)}
	if err := checkQueryID(q.ID, seen); err != nil {
		return q, fmt.Errorf("its id: %w", err)
	}
	if row.Fingerprint != nil {
		q.Fingerprint = string(fps.AppendHex(nil, row.Fingerprint, kind.Bits))
		return q, nil
	}
	smiles := string(row.SMILES)
	q.SMILES = &smiles
	if _, err := queryBy(e, kind, nil, smiles); err != nil {
		return q, fmt.Errorf("its SMILES: %w", err)
	}
	return q, nil
}

// about says that an error is of the file of queries.
func about(err error) error {
	if wrong, ok := errors.AsType[*workloads.Error](err); ok {
		return workloads.Errorf(wrong.Reason, "queries: %s", wrong.Message)
	}
	return err
}

// all makes the queries of a task: one, or those of the parameter queries.
func (w *Workload) all(s *search) ([]*query, error) {
	if s.Queries == nil {
		q, err := w.query(s)
		return []*query{q}, err
	}
	queries := make([]*query, len(s.Queries.List))
	e := w.newEngine(s.kind)
	for i := range queries {
		spec := &s.Queries.List[i]
		q := &query{id: &spec.ID, bits: make(fingerprint, fps.Words(s.kind.Bits))}
		if spec.SMILES == nil {
			if !fps.ParseHex(q.bits, []byte(spec.Fingerprint), s.kind.Bits) {
				return nil, fmt.Errorf("query %d: fingerprint: not %d bits in hexadecimal", i+1, s.kind.Bits)
			}
		} else {
			q.smiles = []byte(*spec.SMILES)
			if err := e.Fingerprint(q.bits, q.smiles); err != nil {
				return nil, fmt.Errorf("query %d: %w", i+1, explain(err))
			}
		}
		queries[i] = q
	}
	return queries, nil
}

// goal is what one query looks for.
type goal struct {
	*query
	order  order
	limits *limits
}

// goals are those of the queries; equal limits are shared.
func (s *search) goals(queries []*query) []goal {
	goals := make([]goal, len(queries))
	shared := map[int]*limits{}
	for i, q := range queries {
		ones := q.bits.ones()
		l := shared[ones]
		o := s.order
		o.measure.query = int64(ones)
		if l == nil {
			l = newLimits(o.measure, s.kind.Bits, s.threshold, o.ascending)
			shared[ones] = l
		}
		goals[i] = goal{q, o, l}
	}
	return goals
}

// sortedHits returns the hits of each goal in order. The heaps cannot be used afterwards.
func sortedHits(heaps []*topK) [][]hit {
	all := make([][]hit, len(heaps))
	for i, h := range heaps {
		all[i] = slices.Clip(h.sorted())
	}
	return all
}

func newHeaps(goals []goal, k int) []*topK {
	heaps := make([]*topK, len(goals))
	for i, g := range goals {
		heaps[i] = newTopK(g.order, k)
	}
	return heaps
}
