package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// manyJobs makes jobs of all phases without their tasks.
const manyJobsSQL = `
INSERT INTO jobs (id, name, labels, workload, spec, status, total_tasks, completed_tasks, created_at, completed_at, result_artifact_id)
SELECT gen_random_uuid(), 'job-' || n, jsonb_build_object('target', 'T' || n % 7), 'similarity-search', j.spec,
       (ARRAY['created', 'planning', 'running', 'reducing', 'failed', 'cancelled', 'completed'])[n % 7 + 1], 8, CASE n % 7 WHEN 6 THEN 8 ELSE 3 END,
       now() - n * interval '1 second', CASE WHEN n % 7 >= 4 THEN now() END, CASE n % 7 WHEN 6 THEN j.input_artifact_id END
FROM   generate_series(1, 4999) n
CROSS JOIN jobs j`

// Pages over 5,000 jobs and a job of 20,000 tasks: the numbers are exact, and
// the times are printed.
func TestLargeListsAreExact(t *testing.T) {
	h := newHarness(t)
	storetest.MakeRunningJob(t, h.store, "large", 20_000, func(p *store.CreateJobParams) { p.Labels = map[string]string{"target": "large"} })
	conn := storetest.Conn(t, h.database)
	for _, sql := range []string{manyJobsSQL, "ANALYZE"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	w := storetest.MakeWorker(t, h.store, "w", func(p *store.RegisterWorkerParams) { p.CPUCount = 8 })
	for range 3 {
		storetest.Claim(t, h.store, w)
	}
	p := h.operator()
	tabs := regexp.MustCompile(`(\w+) <span class="n">([0-9,]+)</span>`)
	for path, want := range map[string][]string{
		"/ui/":                                    {"jobs running"},
		"/ui/jobs":                                {"1–50 of 5,000", "all 5000", "running 715", "failed 714", "completed 714", "Cancel all 2,858 open"},
		"/ui/jobs?page=100":                       {"4,951–5,000 of 5,000", "all 5000", "job-4999"},
		"/ui/jobs?phase=failed&page=15":           {"701–714 of 714"},
		"/ui/jobs?labels=target%3DT3":             {"1–50 of 714", "all 714"},
		"/ui/jobs?q=job-12":                       {"1–50 of 111", "all 111"},
		"/ui/jobs?workload=similarity-search":     {"1–50 of 5,000"},
		"/ui/jobs/large":                          {"1–50 of 20,000", "20,000 tasks: 19,997 pending, 3 leased", "a cell stands for 10 tasks", "all 20000", "pending 19997", "leased 3"},
		"/ui/jobs/large?tasks=pending&page=400":   {"19,951–19,997 of 19,997", `tasks/19999"`},
		"/ui/jobs/large/tasks/19999":              {"Task 19999"},
		"/ui/jobs/large?tasks=completed":          {"completed 0"},
		"/ui/cancel?labels=target%3DT3":           {"714 open jobs"},
		"/ui/artifacts?kind=shard":                {"shard-19999.tsv"},
		"/ui/jobs.csv?phase=failed&labels=target": {"name,phase"},
	} {
		began := time.Now()
		body := p.page(path)
		t.Logf("%7.1f ms %7d bytes %s", float64(time.Since(began).Microseconds())/1000, len(body), path)
		for _, m := range tabs.FindAllStringSubmatch(body, -1) {
			body += fmt.Sprintf("%s %s\n", m[1], strings.ReplaceAll(m[2], ",", ""))
		}
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("GET %s lacks %q", path, text)
			}
		}
	}
}
