package similaritysearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

func TestIdenticalFingerprints(t *testing.T) {
	// Same bits: the molecule itself in two spellings is left out, others stay.
	in := header + "A\t1.2~\nB\t1.2x\nC\t1.2\nD\t2.1\nE\t1.2y\n"
	j := workloadtest.Start(t, synthetic(), []byte(in), `{"query_smiles":"1.2"}`, 10)
	o := j.MustReduce(j.ExecuteAll(nil, 1))
	want := "rank,chembl_id,canonical_smiles,similarity\r\n1,B,1.2x,1.000000\r\n2,D,2.1,1.000000\r\n3,E,1.2y,1.000000\r\n"
	if o.ResultBytes != want || o.Ledger.Excluded[queryMolecule] != 2 {
		t.Errorf("%+v", o)
	}
}

func TestEmptyFingerprints(t *testing.T) {
	in := header + "Q\t\nA\tx\nB\t1\nC\t~\n"
	for parameters, want := range map[string]string{
		`{"query_id":"Q"}`:                                                 "1,A,x,1.000000\r\n2,B,1,0.000000\r\n",
		`{"query_id":"Q","threshold":1}`:                                   "1,A,x,1.000000\r\n",
		`{"query_id":"Q","threshold_direction":"less"}`:                    "1,B,1,0.000000\r\n2,A,x,1.000000\r\n",
		`{"query_id":"Q","threshold_direction":"less","threshold":"0.99"}`: "1,B,1,0.000000\r\n",
		`{"query_smiles":"1"}`:                                             "1,Q,,0.000000\r\n2,C,~,0.000000\r\n",
	} {
		for _, rows := range []int64{1, 10} {
			j := workloadtest.Start(t, synthetic(), []byte(in), parameters, rows)
			o := j.MustReduce(j.ExecuteAll(nil, 1))
			got := strings.TrimPrefix(o.ResultBytes, "rank,chembl_id,canonical_smiles,similarity\r\n")
			if parameters == `{"query_smiles":"1"}` {
				want = "1,A,x,0.000000\r\n2,C,~,0.000000\r\n3,Q,,0.000000\r\n"
			}
			if got != want {
				t.Errorf("%s in shards of %d: got %q, want %q", parameters, rows, got, want)
			}
		}
	}
}

func TestBoundaryOfTheThreshold(t *testing.T) {
	// Ratios of exactly 1/3, 1/10 and 7/10 with the query, and their neighbours.
	q := span(0, 9)
	in := header +
		"seven of ten\t" + span(0, 6) + "\n" +
		"1433 of 2047\t" + span(0, 6) + "." + span(100, 100) + "\n" + // 7/11
		"one of ten\t" + span(0, 0) + "\n" +
		"one third\t" + span(0, 4) + "." + span(100, 104) + "\n" // 5/15
	for parameters, want := range map[string]string{
		`"threshold":0.7`:                                               "seven of ten",
		`"threshold":"0.700000000000000001"`:                            "",
		`"threshold":0.333333333333333333`:                              "seven of ten,1433 of 2047,one third",
		`"threshold":0.333333333333333334`:                              "seven of ten,1433 of 2047",
		`"threshold":0.1`:                                               "seven of ten,1433 of 2047,one third,one of ten",
		`"threshold":1e-1,"threshold_direction":"less"`:                 "one of ten",
		`"threshold":0.333333333333333333,"threshold_direction":"less"`: "one of ten",
		`"threshold":0.333333333333333334,"threshold_direction":"less"`: "one of ten,one third",
		`"threshold":0.7,"threshold_direction":"less"`:                  "one of ten,one third,1433 of 2047,seven of ten",
	} {
		j := workloadtest.Start(t, synthetic(), []byte(in), `{"query_smiles":"`+q+`",`+parameters+`}`, 2)
		o := j.MustReduce(j.ExecuteAll(nil, 1))
		var ids []string
		for _, line := range strings.Split(strings.TrimSpace(o.ResultBytes), "\r\n")[1:] {
			ids = append(ids, strings.Split(line, ",")[1])
		}
		if got := strings.Join(ids, ","); got != want {
			t.Errorf("%s: got %s, want %s", parameters, got, want)
		}
	}
}

func TestSimilarityPrintsAsPythonDoes(t *testing.T) {
	for h, want := range map[hit]string{
		{common: 0, union: 0}:       "1.000000",
		{common: 0, union: 7}:       "0.000000",
		{common: 1, union: 3}:       "0.333333",
		{common: 2, union: 3}:       "0.666667",
		{common: 1, union: 128}:     "0.007812", // 0.0078125 exactly: to even
		{common: 3, union: 128}:     "0.023438", // 0.0234375 exactly: to even
		{common: 1, union: 640}:     "0.001563", // the double nearest to 0.0015625 is above it
		{common: 7, union: 640}:     "0.010937", // and that to 0.0109375 below
		{common: 2047, union: 2048}: "0.999512",
	} {
		if got := (measure{}).format(h.common, h.union); got != want {
			t.Errorf("%d/%d: got %s, want %s", h.common, h.union, got, want)
		}
	}
}

func TestExecuteTellsProgressAndLogs(t *testing.T) {
	j := workloadtest.Start(t, New(), []byte(header+strings.Repeat("A\tCCO\nB\tC(\n", 2000)), `{"query_smiles":"CO"}`, 10000)
	for _, threads := range []int{1, 3} {
		var log, out bytes.Buffer
		last := 0.0
		req := j.TaskRequest(0, threads, &out)
		req.Logf = func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }
		req.Progress = func(share float64) {
			if share < last || share > 1 {
				t.Errorf("progress %v after %v", share, last)
			}
			last = share
		}
		r, err := New().Execute(t.Context(), req)
		if err != nil || last != 1 {
			t.Errorf("progress ends at %v, %v", last, err)
		}
		if got := fmt.Sprint(r.Metrics); got != "map[hits:20 processed_rows:4000 rejected_rows:2000 scored_rows:2000]" {
			t.Errorf("metrics %s", got)
		}
		if n := strings.Count(log.String(), "\n"); n != maxLoggedRejects+3 || !strings.Contains(log.String(), "row 2 rejected: InvalidSMILES\n") ||
			!strings.HasSuffix(log.String(), "read 4000 rows: 2000 scored, 0 excluded, 2000 rejected; 20 hits\n") || strings.Contains(log.String(), "C(") {
			t.Errorf("log of %d lines:\n%s", n, log.String())
		}
	}
}

// endlessTable yields rows for ever.
type endlessTable struct{ started bool }

func (e *endlessTable) Read(p []byte) (int, error) {
	if !e.started {
		e.started = true
		return copy(p, header), nil
	}
	row := "CHEMBL25\tCC(=O)Oc1ccccc1C(=O)O\n"
	n := 0
	for len(p)-n >= len(row) {
		n += copy(p[n:], row)
	}
	return n, nil
}

func TestCancelEndsWithinASecond(t *testing.T) {
	for _, threads := range []int{1, 2, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		running := make(chan struct{}, 1)
		go func() {
			_, err := New().Execute(ctx, workloads.TaskRequest{
				Input: &endlessTable{}, InputSize: 1 << 40, Output: io.Discard, Threads: threads,
				Parameters: []byte(`{"query_smiles":"CCO","top_k":5,"threshold_direction":"greater"}`),
				Progress: func(float64) {
					select {
					case running <- struct{}{}:
					default:
					}
				},
			})
			ended <- err
		}()
		<-running
		cancel()
		start := time.Now()
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(start) > time.Second {
			t.Errorf("%d threads: %v after %v", threads, err, time.Since(start))
		}
	}
}

func BenchmarkExecute(b *testing.B) {
	var shard bytes.Buffer
	shard.WriteString(header)
	smiles := []string{
		"CC(=O)Oc1ccccc1C(=O)O", "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5", "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
		"COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1", "CN(CC(=O)O)C(=O)COc1c(C(C)(C)C)ccc(SC(C)(C)Sc2cc(C(C)(C)C)c(O)c(C(C)(C)C)c2)c1C(C)(C)C",
	}
	const rows = 20_000
	for i := range rows {
		fmt.Fprintf(&shard, "CHEMBL%d\t%s\n", i, smiles[i%len(smiles)])
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := New().Execute(b.Context(), workloads.TaskRequest{
					Input: bytes.NewReader(shard.Bytes()), Output: io.Discard, Threads: threads,
					Parameters: []byte(`{"query_smiles":"CCO","top_k":20,"threshold_direction":"greater"}`),
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
