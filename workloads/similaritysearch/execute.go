package similaritysearch

import (
	"context"
	"fmt"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/table"
)

// Execute searches one shard.
func (w *Workload) Execute(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
	s, err := decodeSearch(req.Parameters)
	if err != nil {
		return workloads.TaskResult{}, err
	}
	queries, err := w.all(&s)
	if err != nil {
		return workloads.TaskResult{}, workloads.Errorf(ReasonQueryInvalid, "%s", err)
	}
	var layout v1.InputLayout
	if s.Input != nil {
		layout = *s.Input
	}
	r, err := table.NewReader(&shards.ContextReader{Ctx: ctx, R: req.Input}, table.OptionsFor(layout))
	if err != nil {
		return workloads.TaskResult{}, err
	}
	defer r.Close()
	if err := shards.CheckType(r.Layout().Fingerprints, s.kind); err != nil {
		return workloads.TaskResult{}, err
	}

	if s.Queries != nil {
		c := newCollector(s.order, s.TopK, req)
		c.logf("%d queries; top_k %d, threshold_direction %s", len(queries), s.TopK, s.ThresholdDirection)
		if err := w.executeMany(ctx, &s, c, r, queries); err != nil {
			return workloads.TaskResult{}, err
		}
		return c.finish()
	}
	q := queries[0]
	order, limits := s.of(q)
	c := newCollector(order, s.TopK, req)
	c.logf("query has %d bits on; top_k %d, threshold_direction %s", q.bits.ones(), s.TopK, s.ThresholdDirection)
	newScorer := func() *scorer {
		return &scorer{engine: w.newEngine(s.kind), query: q, limits: limits, bits: make(fingerprint, len(q.bits))}
	}
	if err := run(ctx, r, newScorer, max(1, req.Threads), c.collect); err != nil {
		return workloads.TaskResult{}, err
	}
	return c.finish()
}

// collector takes scored batches in the order of the shard.
type collector struct {
	req     workloads.TaskRequest
	hits    *topK
	block   *blockSearch // takes the rows where there are many queries
	all     [][]hit      // of many queries, once they are known
	ledger  v1.Ledger
	rejects []byte
	logged  int
}

func newCollector(o order, k int, req workloads.TaskRequest) *collector {
	return &collector{req: req, hits: newTopK(o, k), ledger: shards.NewLedger()}
}

// queryMolecule is the reason why rows are excluded.
const queryMolecule = "QueryMolecule"

// maxLoggedRejects bounds the rejected rows that the log names one by one.
const maxLoggedRejects = 20

func (c *collector) collect(b *batch) {
	for i := range b.rows {
		r := &b.rows[i]
		c.ledger.RowsRead++
		switch r.outcome {
		case rejected:
			c.reject(b, r)
		case excluded:
			c.ledger.Excluded[queryMolecule]++
		case candidate:
			c.ledger.Scored++
			if c.block != nil {
				c.block.add(b, r)
				continue
			}
			c.hits.offer(r.common, r.union, b.id(r), b.smiles(r))
		case scored:
			c.ledger.Scored++
		}
	}
	if c.req.Progress != nil && c.req.InputSize > 0 {
		c.req.Progress(min(1, float64(b.offset)/float64(c.req.InputSize)))
	}
}

func (c *collector) reject(b *batch, r *row) {
	c.ledger.Rejected[r.reason]++
	c.rejects = appendReject(c.rejects, r.number, shards.ValidText(b.id(r)), r.reason)
	c.logged++
	switch {
	case c.logged <= maxLoggedRejects:
		c.logf("row %d rejected: %s", r.number, r.reason)
	case c.logged == maxLoggedRejects+1:
		c.logf("further rejected rows are only counted here; all are in the result")
	}
}

func (c *collector) finish() (workloads.TaskResult, error) {
	many, count := c.all, 0
	if c.block == nil {
		many = [][]hit{c.hits.sorted()}
	}
	for _, hits := range many {
		count += len(hits)
	}
	if err := writePartial(c.req.Output, many, c.block != nil, c.rejects, c.ledger); err != nil {
		return workloads.TaskResult{}, fmt.Errorf("write partial result: %w", err)
	}
	if c.req.Progress != nil {
		c.req.Progress(1)
	}
	var rejects int64
	for _, n := range c.ledger.Rejected {
		rejects += n
	}
	c.logf("read %d rows: %d scored, %d excluded, %d rejected; %d hits",
		c.ledger.RowsRead, c.ledger.Scored, c.ledger.Excluded[queryMolecule], rejects, count)
	return workloads.TaskResult{
		ContentType: shards.CSVType,
		Metrics: map[string]any{
			"processed_rows": c.ledger.RowsRead,
			"scored_rows":    c.ledger.Scored,
			"rejected_rows":  rejects,
			"hits":           count,
		},
	}, nil
}

func (c *collector) logf(format string, args ...any) {
	if c.req.Logf != nil {
		c.req.Logf(format, args...)
	}
}
