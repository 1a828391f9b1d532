package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestOutput compares what commands print with golden files; run with -update to rewrite them.
func TestOutput(t *testing.T) {
	for name, lines := range map[string][]string{
		"get-jobs": {
			"get jobs", "get jobs -o wide", "get j --no-headers --limit 3", "get jobs -o name",
			"get job gefitinib done", "get job/gefitinib job/nope", "get job gefitinib -o json", "get job/done -o yaml",
			"get jobs -o jsonpath={.items[*].metadata.name}",
		},
		"get-tasks":     {"get tasks", "get tasks -o wide", "get task/gefitinib-1"},
		"get-workers":   {"get workers", "get workers -o wide", "get worker lab-3", "get worker twin", "get worker/01938f3e-0000-7000-8000-000000000063"},
		"get-artifacts": {"get artifacts", "get artifacts -o wide", "get a/nonsense"},
		"get-cluster":   {"get controllers", "get c -o wide", "get controller nope", "get events", "get ev -o wide", "get events -o name"},
		"get-several":   {"get jobs,workers --no-headers", "get job/done worker/lab-1 task/gefitinib-0"},
		"describe-job":  {"describe job/gefitinib", "describe job done", "describe broken"},
		"describe-rest": {"describe task/gefitinib-1 task/gefitinib-2", "describe worker/lab-3", "describe job/nope worker/nope", "describe artifact/x"},
		"why":           {"why job/gefitinib", "why task/gefitinib-0", "why task/gefitinib-1", "why task/gefitinib-2", "why task/gefitinib-3", "why job/gefitinib -o yaml"},
		"events":        {"events", "events job/gefitinib", "events worker/lab-1 -o wide", "events job/done"},
		"explain":       {"explain job", "explain job.spec", "explain job.spec.input.chunks", "explain job.nothing", "explain similarity-search", "explain similarity-search.threshold", "explain nothing"},
		"usage": {
			"frobnicate", "get", "get nothing", "get jobs extra/ref", "get jobs -o xml", "get workers -l a=b", "get jobs -l a=(", "get jobs --limit -1",
			"get events 5", "get jobs,tasks a", "get jobs -w --limit 1", "get jobs a --phase running", "describe", "describe event/1", "why", "why worker/x", "wait", "wait task/x",
			"wait job/x --for=nothing", "wait job/x --for=phase=nothing", "apply", "apply job.yaml", "apply -f x --dry-run=client", "apply -f x -o wide",
			"cancel", "cancel job/a --all", "delete", "delete -l a=b --all", "logs", "logs job/a --attempt 1", "logs task/a -f --tail 1", "logs worker/a",
			"events job/a job/b", "download", "download job/a job/b", "download task/a --rejects", "run", "run -f a", "run -f a -o b --rejects b", "run -f a -o b --threads 0",
			"explain", "completion", "completion csh", "config nothing", "config use-context", "get jobs --nothing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFixture(t)
			var b strings.Builder
			for _, line := range lines {
				r := c.run(strings.Fields(line)...)
				fmt.Fprintf(&b, "$ scimesh %s\n%s", line, r.out)
				for complaint := range strings.Lines(r.err) {
					b.WriteString("! " + complaint)
				}
				fmt.Fprintf(&b, "[%d]\n\n", r.code)
			}
			if strings.ContainsAny(b.String(), "\x1b\a") {
				t.Error("what a user named a thing steers the terminal")
			}
			golden(t, name, strings.ReplaceAll(b.String(), c.env["SCIMESH_COORDINATOR_URL"], "http://coordinator"))
		})
	}
}
