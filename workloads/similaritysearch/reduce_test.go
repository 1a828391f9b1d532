package similaritysearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/local"
	"scimesh.dev/scimesh/workloads/shards"
	"scimesh.dev/scimesh/workloads/workloadtest"
)

const partialTop = "record,row,chembl_id,canonical_smiles,common,union,detail\r\n"

// search of 2 hits at 0.5 and above; Q is the query.
const strictSearch = `{"query_id":"Q","query_smiles":"C","top_k":2,"threshold":"0.5","threshold_direction":"greater"}`

func counts(pairs ...any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "count,%v,,,,,%v\r\n", pairs[i+1], pairs[i])
	}
	return b.String() + "end,,,,,,\r\n"
}

func TestPartialReader(t *testing.T) {
	ok := counts("read", 2, "scored", 2)
	for name, tc := range map[string]struct{ body, want string }{
		"two hits":                {"hit,,A,C,2,2,\r\nhit,,B,C,1,2,\r\n" + ok, ""},
		"equal hits":              {"hit,,A,C,1,2,\r\nhit,,A,C,2,4,\r\n" + ok, ""},
		"no hit, for a threshold": {ok, ""},
		"0/0 is 1":                {"hit,,A,C,0,0,\r\nhit,,B,C,1,1,\r\n" + ok, ""},
		"nothing at all":          {counts("read", 0, "scored", 0), ""},
		"everything": {"hit,,A,C,2,2,\r\nreject,3,X,,,,InvalidSMILES\r\nreject,5,,,,,TooFewColumns\r\n" +
			counts("read", 5, "scored", 2, "excluded:QueryMolecule", 1, "rejected:InvalidSMILES", 1, "rejected:TooFewColumns", 1), ""},
		"counts in another order, and zero": {counts("rejected:A", 0, "scored", 1, "read", 1), ""},

		"hits out of order by similarity": {"hit,,A,C,1,2,\r\nhit,,B,C,2,2,\r\n" + ok, "hit 2 is out of order"},
		"hits out of order by id":         {"hit,,B,C,1,2,\r\nhit,,A,C,2,4,\r\n" + ok, "hit 2 is out of order"},
		"hits out of order by SMILES":     {"hit,,A,N,1,2,\r\nhit,,A,C,2,4,\r\n" + ok, "hit 2 is out of order"},
		"too many hits":                   {"hit,,A,C,2,2,\r\nhit,,B,C,2,2,\r\nhit,,C,C,2,2,\r\n" + counts("read", 3, "scored", 3), "more than 2 hits"},
		"below the threshold":             {"hit,,A,C,1,3,\r\n" + ok, "hit 1 does not satisfy the threshold"},
		"the query":                       {"hit,,Q,C,1,1,\r\n" + ok, "hit 1 is the query"},
		"common beyond union":             {"hit,,A,C,3,2,\r\n" + ok, "hit 1 is malformed"},
		"union beyond the fingerprint":    {"hit,,A,C,2049,2049,\r\n" + ok, "hit 1 is malformed"},
		"a float":                         {"hit,,A,C,1.0,2,\r\n" + ok, "hit 1 is malformed"},
		"a sign":                          {"hit,,A,C,+1,2,\r\n" + ok, "hit 1 is malformed"},
		"a zero in front":                 {"hit,,A,C,01,2,\r\n" + ok, "hit 1 is malformed"},
		"a hit with a row":                {"hit,1,A,C,1,2,\r\n" + ok, "hit 1 is malformed"},
		"a hit after a reject":            {"reject,1,A,,,,X\r\nhit,,A,C,1,2,\r\n" + ok, "hit after other records"},
		"a hit after a count":             {"count,1,,,,,read\r\nhit,,A,C,1,2,\r\n" + ok, "hit after other records"},
		"more hits than scored":           {"hit,,A,C,2,2,\r\n" + counts("read", 1, "scored", 0, "excluded:QueryMolecule", 1), "the counts do not agree with the hits"},
		"rejects out of order":            {"reject,2,A,,,,X\r\nreject,2,A,,,,X\r\n" + ok, "reject of row 2 after that of row 2"},
		"a reject of row 0":               {"reject,0,A,,,,X\r\n" + ok, "reject of row 0 after that of row 0"},
		"a reject beyond the rows":        {"reject,3,A,,,,X\r\n" + counts("read", 2, "scored", 1, "rejected:X", 1), "a reject is beyond the last row"},
		"a reason that is text":           {"reject,1,A,,,,no good\r\n" + ok, "reject after row 0 is malformed"},
		"a reject with a SMILES":          {"reject,1,A,C,,,X\r\n" + ok, "reject after row 0 is malformed"},
		"a reject that is not counted":    {"reject,1,A,,,,X\r\n" + ok, "the counts do not agree with the rejects"},
		"a count without its reject":      {counts("read", 2, "scored", 1, "rejected:X", 1), "the counts do not agree with the rejects"},
		"a sum that is wrong":             {counts("read", 3, "scored", 2), "the counts do not add up"},
		"no count of rows":                {counts("scored", 0), "the counts do not add up"},
		"no count of scored":              {counts("read", 0), "the counts do not add up"},
		"a count twice":                   {counts("read", 2, "read", 2), `count "read" is malformed`},
		"an unknown count":                {counts("written", 2), `count "written" is malformed`},
		"a negative count":                {counts("read", -2), `count "read" is malformed`},
		"a huge count":                    {counts("read", int64(1)<<62), `count "read" is malformed`},
		"an unknown record":               {"miss,,A,C,1,2,\r\n" + ok, `record of unknown kind "miss"`},
		"too few fields":                  {"hit,A\r\n" + ok, "record of 2 fields, want 7"},
		"not UTF-8":                       {"hit,,A\xff,C,2,2,\r\n" + ok, "record that is not UTF-8"},
		"no end":                          {strings.TrimSuffix(ok, "end,,,,,,\r\n"), "unexpected EOF"},
		"an end that says something":      {strings.Replace(ok, "end,,", "end,1,", 1), "the end is malformed"},
		"something after the end":         {ok + "end,,,,,,\r\n", "records after the end"},
		"line feeds alone":                {strings.ReplaceAll(ok, "\r", ""), `record 2: unexpected '\n' in an unquoted field`},
	} {
		t.Run(name, func(t *testing.T) {
			err := readPartial(t, partialTop+tc.body, strictSearch)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if err := readPartial(t, "hit,row,chembl_id,canonical_smiles,common,union,detail\r\n"+ok, strictSearch); err == nil {
		t.Error("accepted another header")
	}
	all := `{"query_smiles":"C","top_k":2,"threshold_direction":"less"}`
	if err := readPartial(t, partialTop+"hit,,A,C,0,2,\r\n"+ok, all); err == nil || err.Error() != "the counts do not agree with the hits" {
		t.Errorf("a hit is missing: got %v", err)
	}
}

// readPartial reads a whole partial result.
func readPartial(t testing.TB, text, shared string) error {
	t.Helper()
	s, err := decodeSearch([]byte(shared))
	if err != nil {
		t.Fatal(err)
	}
	queries, err := synthetic().all(&s)
	if err != nil {
		queries, err = New().all(&s)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPartialReader(strings.NewReader(text), &s, s.goals(queries))
	for err == nil {
		_, err = p.next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func FuzzPartialReader(f *testing.F) {
	f.Add(partialTop + "hit,,A,C,2,2,\r\nreject,3,\"X,\",,,,InvalidSMILES\r\n" + counts("read", 2, "scored", 1, "rejected:InvalidSMILES", 1))
	f.Add(partialTop + counts("read", 0, "scored", 0))
	f.Fuzz(func(t *testing.T, text string) {
		if err := readPartial(t, text, strictSearch); err == nil && !strings.HasSuffix(text, "end,,,,,,\r\n") && !strings.Contains(text, `"end"`) {
			t.Errorf("accepted a partial result without an end: %q", text)
		}
	})
}

func TestLedgerMismatch(t *testing.T) {
	j := workloadtest.Start(t, New(), []byte(header+"A\tC\nx\nB\tCC\nC\tCCC\n"), `{"query_smiles":"CO"}`, 2)
	good := j.ExecuteAll(nil, 1)
	shorter := []byte(partialTop + counts("read", 0, "scored", 0))
	short := j.Partials(good)
	short[1].Open = j.Partials([][]byte{shorter})[0].Open
	noted := j.Partials(good)
	noted[1].Notes = shards.EmptyObject
	for name, change := range map[string]func(*workloads.ReduceRequest){
		"a task read too little":         func(r *workloads.ReduceRequest) { r.Partials = workloadtest.Sequence(short) },
		"the notes are gone":             func(r *workloads.ReduceRequest) { r.Partials = workloadtest.Sequence(noted) },
		"the planner read more":          func(r *workloads.ReduceRequest) { r.RowsRead++ },
		"the planner's rejects are gone": func(r *workloads.ReduceRequest) { r.PlanRejects = nil },
	} {
		req := j.ReduceRequest(good)
		change(&req)
		_, err := New().Reduce(t.Context(), req)
		var e *workloads.Error
		if !errors.As(err, &e) || e.Reason != workloads.ReasonLedgerMismatch {
			t.Errorf("%s: got %v", name, err)
		}
	}
	j.MustReduce(good)
}

// openCounter counts readers that are open at once.
type openCounter struct {
	open, most int
}

func (c *openCounter) of(text string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		c.open++
		c.most = max(c.most, c.open)
		return struct {
			io.Reader
			io.Closer
		}{strings.NewReader(text), closer(func() { c.open-- })}, nil
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestManyPartialsOpenOneAtATime(t *testing.T) {
	const tasks = 50_000
	var c openCounter
	req := workloads.ReduceRequest{
		Shared: []byte(`{"query_smiles":"C","top_k":3,"threshold_direction":"greater"}`),
		Tasks:  tasks, RowsRead: tasks, Files: local.NewDir(t.TempDir()),
		Partials: func(yield func(workloads.Partial, error) bool) {
			for i := range tasks {
				text := fmt.Sprintf("%shit,,M%05d,CC,%d,2000,\r\n%s", partialTop, i, i%2000, counts("read", 1, "scored", 1))
				notes := fmt.Sprintf(`{"first_row":%d,"rows":1,"span":1}`, i+1)
				if !yield(workloads.Partial{ChunkIndex: int32(i), Notes: []byte(notes), Open: c.of(text)}, nil) {
					return
				}
			}
		},
	}
	r, err := New().Reduce(t.Context(), req)
	if err != nil || r.Rows != 3 || r.Ledger.Scored != tasks {
		t.Errorf("%+v, %v", r, err)
	}
	if c.most != 1 || c.open != 0 {
		t.Errorf("%d were open at once, %d at the end", c.most, c.open)
	}
}

func TestReduceIsNotPartial(t *testing.T) {
	j := workloadtest.Start(t, New(), []byte(header+"A\tC\nx\nB\t(\n"), `{"query_smiles":"CO"}`, 1)
	good := j.ExecuteAll(nil, 1)
	files := &countingFiles{}
	req := j.ReduceRequest(append(good[:2:2], good[2][:20]))
	req.Files = files
	if _, err := New().Reduce(t.Context(), req); err == nil || files.open != 0 {
		t.Errorf("got %v; %d files are neither committed nor aborted", err, files.open)
	}
}
