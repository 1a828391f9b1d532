package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/worker"
)

// TestJourney takes a job through everything that a user does with it.
func TestJourney(t *testing.T) {
	p := newPlatform(t)
	p.work()
	dir := p.folder(40, "alkanols")
	file := filepath.Join(dir, "alkanols.yaml")

	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	dry := p.ok("apply", "-f", file, "--dry-run=server")
	if want := "job/alkanols created (server dry run)\n  40 input rows in "; !strings.HasPrefix(dry, want) {
		t.Errorf("got %q, want %q…", dry, want)
	}
	check(p.run("get", "jobs").err, "No jobs found.\n")
	applied := p.run("apply", "-f", file)
	check(applied.out, "job/alkanols created\n")
	if !strings.Contains(applied.err, "uploading molecules.tsv  100%") {
		t.Errorf("no upload is shown: %s", applied.err)
	}
	check(p.ok("apply", "-f", file), "job/alkanols unchanged\n")

	waited := p.run("wait", "job/alkanols", "--timeout", "1m")
	if waited.code != ExitOK || !strings.Contains(waited.out, "job/alkanols completed after ") || !strings.HasSuffix(waited.out, ": 5 rows\n") {
		t.Errorf("wait: %+v", waited)
	}

	result, own := filepath.Join(dir, "result.csv"), filepath.Join(dir, "own.csv")
	p.ok("download", "job/alkanols", "-o", result)
	p.ok("download", "job/alkanols", "--rejects", "-o", filepath.Join(dir, "rejects.csv"))
	p.ok("run", "-f", file, "-o", own, "--rejects", filepath.Join(dir, "own-rejects.csv"))
	check(read(t, result), read(t, own))
	check(read(t, filepath.Join(dir, "rejects.csv")), read(t, filepath.Join(dir, "own-rejects.csv")))
	check(p.ok("download", "job/alkanols", "-o", "-"), read(t, own))

	check(p.ok("download", "job/alkanols", "-o", result), result+" unchanged ("+sizeOf(t, result)+")\n")
	write(t, dir, "result.csv", "precious")
	if complaint := p.fails("download", "job/alkanols", "-o", result); !strings.Contains(complaint, "--force replaces it") {
		t.Error(complaint)
	}
	check(read(t, result), "precious")
	p.ok("download", "job/alkanols", "-o", result, "--force")
	check(read(t, result), read(t, own))
	t.Chdir(dir)
	p.ok("download", "task/alkanols-0")
	p.ok("download", p.ok("get", "artifacts", "--job", "alkanols", "--kind", "rejects", "-o", "name")[:len("artifact/")+36])
	check(read(t, filepath.Join(dir, "rejects.csv")), read(t, filepath.Join(dir, "own-rejects.csv")))

	for what, args := range map[string][]string{
		"rejected InvalidSMILES   4": {"describe", "job/alkanols"},
		"row 10 rejected":            {"logs", "task/alkanols-0"},
		"[alkanols-3] ":              {"logs", "job/alkanols", "-f"},
		"JobCompleted":               {"events", "job/alkanols"},
		"the job is completed":       {"why", "job/alkanols"},
		"alkanols-3   completed   1": {"get", "tasks", "--job", "alkanols"},
		"bench":                      {"get", "workers"},
		"query_smiles":               {"explain", "similarity-search"},
		"planner":                    {"get", "controllers"},
	} {
		if out := p.ok(args...); !strings.Contains(out, what) {
			t.Errorf("scimesh %s: no %q in\n%s", strings.Join(args, " "), what, out)
		}
	}
	check(p.ok("logs", "task/alkanols-0", "--tail", "0"), "")

	check(p.ok("delete", "-f", file, "--wait", "--timeout", "1m"), "job/alkanols deleting\njob/alkanols deleted\n")
	p.fails("delete", "job/alkanols")
	p.ok("delete", "job/alkanols", "--ignore-not-found", "--wait")
}

func sizeOf(t *testing.T, path string) string {
	t.Helper()
	return printer.Bytes(int64(len(read(t, path))))
}

// TestWaitTellsTheEnd has one job for each exit code.
func TestWaitTellsTheEnd(t *testing.T) {
	p := newPlatform(t)
	dir := p.folder(40, "a", "b", "c")
	write(t, dir, "bad.yaml", strings.Replace(manifestOf("bad"), "query_smiles: CCO", "query_id: nobody", 1))
	p.ok("apply", "-f", dir)

	waited := p.run("wait", "job/bad")
	if waited.code != ExitFailed || !strings.Contains(waited.out, "job/bad failed") || !strings.Contains(waited.out, "nobody") {
		t.Errorf("a failed job: %+v", waited)
	}
	if complaint := p.fails("download", "job/bad"); !strings.Contains(complaint, "job bad has no result: it failed") {
		t.Error(complaint)
	}
	waited = p.run("wait", "job/a", "--timeout", "50ms")
	if waited.code != ExitTimeout || waited.out != "job/a did not get there within 50ms\n" {
		t.Errorf("a job without workers: %+v", waited)
	}
	if out := p.ok("why", "job/a"); !strings.Contains(out, "NoWorker") {
		t.Errorf("why: %s", out)
	}
	if complaint := p.fails("download", "job/a"); !strings.Contains(complaint, "no result yet") {
		t.Error(complaint)
	}
	p.ok("wait", "job/a", "--for=phase=running")
	p.ok("wait", "job/a", "job/b", "--for=condition=Planned", "-q")

	waiting := p.start("wait", "job/b")
	waiting.sees("job/b  running")
	if out := p.ok("cancel", "job/b", "--wait", "--timeout", "1m"); !strings.HasPrefix(out, "job/b cancel") {
		t.Errorf("cancel: %s", out)
	}
	if r := waiting.wait(); r.code != ExitCancelled || !strings.Contains(r.out, "job/b was cancelled") {
		t.Errorf("a cancelled job: %+v", r)
	}
	p.ok("cancel", "job/b") // again
	p.fails("cancel", "job/bad")
	p.ok("cancel", "-l", "made-by=test,!x") // those that have ended are left out

	write(t, dir, "again.yaml", manifestOf("c"))
	p.ok("delete", "job/c", "--wait")
	p.ok("apply", "-f", filepath.Join(dir, "again.yaml"))
	waiting = p.start("wait", "job/c")
	waiting.sees("job/c  ")
	gone := p.start("wait", "job/c", "--for=delete")
	p.ok("delete", "job/c", "--wait", "--timeout", "1m")
	if r := waiting.wait(); r.code != ExitDeleted || r.out != "job/c was deleted\n" {
		t.Errorf("a deleted job: %+v", r)
	}
	if r := gone.wait(); r.code != ExitOK {
		t.Errorf("--for=delete: %+v", r)
	}
	p.ok("wait", "job/c", "--for=delete")
	p.fails("wait", "job/c", "job/a")

	if r := p.run("wait", "job/bad", "job/b"); r.code != ExitFailed || strings.Count(r.out, "\n") != 2 {
		t.Errorf("failed and cancelled: %+v", r)
	}
	if r := p.run("wait", "job/a", "-q"); r.code != ExitCancelled || r.out != "" || !strings.HasPrefix(r.err, "error: job/a was cancelled") {
		t.Errorf("quiet: %+v", r)
	}
}

// TestWaitOutlivesTheCoordinator restarts it while a job runs.
func TestWaitOutlivesTheCoordinator(t *testing.T) {
	p := newPlatform(t)
	dir := p.folder(40, "long", "other")
	p.ok("apply", "-f", dir)
	one, both := p.start("wait", "job/long"), p.start("wait", "job/long", "job/other")
	watch := p.start("get", "jobs", "-w")
	events := p.start("events", "job/long", "-w")
	one.sees("running")
	both.sees("jobs ended")
	watch.sees("0/4")
	events.sees("JobPlanned")
	p.stop()
	one.sees("Lost the coordinator")
	both.sees("Lost the coordinator")
	p.startCoordinator(t)
	one.sees("answers again")
	p.work()
	for _, s := range []*started{one, both} {
		if r := s.wait(); r.code != ExitOK || !strings.Contains(r.out, "job/long completed") {
			t.Errorf("%+v", r)
		}
	}
	watch.sees("4/4")
	events.sees("JobCompleted")
	events.cancel()
	p.ok("delete", "job/long", "--wait")
	watch.sees("deleted")
	watch.cancel()
	for _, s := range []*started{watch, events} {
		if r := s.wait(); r.code != ExitOK {
			t.Errorf("%+v", r)
		}
	}
	if got := events.out.String(); strings.Count(got, "JobPlanned") != 1 {
		t.Errorf("an event is told twice:\n%s", got)
	}
}

// TestLogsFollow follows the logs of a job from before its beginning to its end.
func TestLogsFollow(t *testing.T) {
	p := newPlatform(t)
	p.ok("apply", "-f", p.folder(40, "talk"))
	p.ok("wait", "job/talk", "--for=phase=running")
	if complaint := p.fails("logs", "task/talk-0"); !strings.Contains(complaint, "task talk-0 has not begun: it is pending") {
		t.Error(complaint)
	}
	if r := p.run("logs", "job/talk"); r.code != ExitOK || !strings.Contains(r.err, "No task of job/talk has begun") {
		t.Errorf("%+v", r)
	}
	job, task := p.start("logs", "job/talk", "-f"), p.start("logs", "task/talk-2", "-f")
	p.work(func(c *worker.Config) { c.ClaimWait = 5 * time.Second })
	p.ok("wait", "job/talk")
	if r := job.wait(); r.code != ExitOK || strings.Count(r.out, "result uploaded") != 4 {
		t.Errorf("%+v", r)
	}
	r := task.wait()
	if r.code != ExitOK || strings.Count(r.out, "result uploaded") != 1 || strings.Contains(r.out, "[") {
		t.Errorf("%+v", r)
	}
	if again := p.ok("logs", "task/talk-2", "--attempt", "1"); again != r.out {
		t.Errorf("followed:\n%s\nread:\n%s", r.out, again)
	}
	p.fails("logs", "task/talk-2", "--attempt", "2")
}
