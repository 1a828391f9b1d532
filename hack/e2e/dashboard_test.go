//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/hack/internal/browser"
	"scimesh.dev/scimesh/hack/internal/platform"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

const (
	hostileText = `"><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`
	// stays is a mark that a reload of the page would remove.
	stays = `(window.stays === 1)`
)

// TestDashboard goes through the dashboard as people do, in one browser.
func TestDashboard(t *testing.T) {
	p := start(t, platform.Options{})
	makeLarge(t, p) // while no planner is there
	c := coordinator(t, p)
	b := openTab(t, p)

	run := func(name string, fn func(t *testing.T)) {
		t.Helper()
		whole := b.t
		t.Run(name, func(t *testing.T) {
			b.t = t
			fn(t)
		})
		b.t = whole
	}
	run("a waiting job shows its reason and is cancelled", func(t *testing.T) { waitingJob(t, p, b) })
	run("a failed job shows its reason", func(t *testing.T) { failedJob(t, p, b) })
	run("a job of 20,000 tasks", func(t *testing.T) { largeJob(t, p, b) })
	hostile := makeHostile(t, p)
	for _, name := range []string{"one", "two"} {
		worker(t, p, name)
	}
	run("upload and watch and look and download", func(t *testing.T) { wholeJourney(t, p, b) })
	run("a graph", func(t *testing.T) { graphPage(t, p, b) })
	run("keyboard alone", func(t *testing.T) { keyboardAlone(t, p, b) })
	run("hostile texts are inert", func(t *testing.T) { hostileTexts(t, b, hostile) })
	run("accessible and 320 pixels wide", func(t *testing.T) { accessible(t, b, hostile) })
	run("without the stream the page asks", func(t *testing.T) { withoutStream(t, p, b) })
	run("the coordinator restarts while a page is open", func(t *testing.T) { restart(t, p, b, c) })
}

func waitingJob(t *testing.T, p *platform.Platform, b *tab) {
	manifest := search{name: "waiting", path: molecules(t, 50), rows: 10, parameters: `{query_smiles: CCO}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	b.visit("/ui/jobs/waiting")
	b.await("the reason", `document.querySelector("#why")?.innerText.includes("NoWorker")`)
	if text := b.text("#status"); strings.Contains(text, "result") && !strings.Contains(text, "Result") {
		t.Errorf("a running job offers a result:\n%s", text)
	}
	if links := evaluate[int](b, `document.querySelectorAll("a[href$='/result']").length`); links != 0 {
		t.Errorf("%d links lead to a result that is not there", links)
	}
	b.do("mark the page", chromedp.Evaluate[chromedp.Void](`window.stays = 1; undefined`))
	b.click("button.danger")
	b.await("the end of the job", `document.querySelector("#status .state")?.innerText === "cancelled"`)
	if j := getJob(t, newClient(t, p), "waiting"); j.Status.Phase != v1.JobCancelled {
		t.Errorf("the page says cancelled and the job is %s", j.Status.Phase)
	}
}

func failedJob(t *testing.T, p *platform.Platform, b *tab) {
	b.visit("/ui/jobs?q=fail")
	b.await("the stream", `document.getElementById("link").dataset.state === "live"`)
	b.do("mark the page", chromedp.Evaluate[chromedp.Void](`window.stays = 1; undefined`))
	manifest := search{name: "failing", path: molecules(t, 50), rows: 10, parameters: `{query_id: NOBODY}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	b.await("the job in the list, without a reload", `document.body.innerText.includes("QueryNotFound") && `+stays)
	b.click("tbody a")
	b.await("the error", `document.querySelector("#status .note")?.innerText.includes("QueryNotFound")`)
	if text := b.text("#facts"); !strings.Contains(text, "NOBODY") {
		t.Errorf("the conditions do not name the query:\n%s", text)
	}
}

// largeTasks is the number of tasks of the largest job.
const largeTasks = 20_000

// makeLarge makes a suspended job of that many tasks.
func makeLarge(t *testing.T, p *platform.Platform) {
	t.Helper()
	s := storetest.Open(t, p.DatabaseURL())
	storetest.MakeRunningJob(t, s, "large", largeTasks, func(c *store.CreateJobParams) { c.Spec.Suspend = true })
}

// largeJob looks at it.
func largeJob(t *testing.T, p *platform.Platform, b *tab) {
	began := time.Now()
	b.visit("/ui/jobs/large?tasks=pending&page=400")
	b.await("the strip", `document.querySelector("svg.strip")?.getAttribute("aria-label") === "20,000 tasks: 20,000 pending"`)
	t.Logf("a job of %d tasks is shown after %v", largeTasks, time.Since(began).Round(time.Millisecond))
	if text := b.text("#tasks"); !strings.Contains(text, "19,951–20,000 of 20,000") || !strings.Contains(text, "19999") {
		t.Errorf("the last page of tasks:\n%.400s", text)
	}
	if text := b.text("#strip .legend"); !strings.Contains(text, "a cell stands for 10 tasks") {
		t.Errorf("the strip is explained as %q", text)
	}
	scimesh(t, p, "delete", "job/large")
}

// wholeJourney uploads a file, watches two workers, sees the hits and downloads them.
func wholeJourney(t *testing.T, p *platform.Platform, b *tab) {
	path := molecules(t, 400)
	b.visit("/ui/new?workload=similarity-search")
	b.do("upload", chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	b.await("the upload", `document.getElementById("upload").innerText.includes("Uploaded")`)
	b.do("fill in", chromedp.SetValue(chromedp.CSS("#f-name"), "journey"), chromedp.SetValue(chromedp.CSS("#f-top_k"), "many"))
	b.click("button[value=check]")
	b.await("problems at their fields", `document.querySelector("#top_k-problems")`)
	if focus := evaluate[string](b, `document.activeElement.id`); focus != "f-top_k" {
		t.Errorf("the focus is on %q, not on the wrong field", focus)
	}
	b.do("mend", chromedp.SetValue(chromedp.CSS("#f-query_smiles"), "Cc1ccc(O)cc1N"), chromedp.SetValue(chromedp.CSS("#f-top_k"), "40"))
	b.do("cut small", chromedp.Evaluate[chromedp.Void](`document.querySelector("details").open = true; undefined`), chromedp.SetValue(chromedp.CSS(`[name="sharding.rows"]`), "20"))
	b.click("button[value=check]")
	b.await("the price", `document.querySelector("#checked")?.innerText.includes("20 tasks over 400 rows")`)
	applied := filepath.Join(t.TempDir(), "job.yaml")
	manifest := strings.Replace(b.text("#yaml"), "sha256:", "path: "+path+"\n    #", 1)
	if err := os.WriteFile(applied, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	b.click("button[value=submit]")
	b.await("the page of the job", `location.pathname === "/ui/jobs/journey"`)
	b.do("mark the page", chromedp.Evaluate[chromedp.Void](`window.stays = 1; undefined`))
	b.await("the end of the job, without a reload", `document.querySelector("#status .state")?.innerText === "completed" && `+stays)
	b.await("all tasks done", `document.querySelector("svg.strip")?.getAttribute("aria-label") === "20 tasks: 20 completed"`)

	b.click(`a[href$="/result"]`)
	b.await("drawn hits", `[...document.querySelectorAll(".rows .structure img, .query img")].filter((i) => i.naturalWidth > 0).length >= 3`)
	b.click(`th a[href*="sort=similarity"]`)
	b.await("the sorted rows", `document.querySelector("th[aria-sort=ascending]")?.innerText.includes("similarity")`)
	shares := evaluate[[]string](b, `[...document.querySelectorAll(".rows tbody tr")].map((r) => r.cells[3].innerText.trim())`)
	if len(shares) != 40 || shares[0] > shares[39] {
		t.Errorf("sorted ascending: %d rows, from %v", len(shares), shares)
	}
	if got, want := downloadWith(t, b, "Download CSV"), local(t, p, applied); !bytes.Equal(got, want) {
		t.Errorf("the downloaded file differs from that of one process:\n%s\nwant\n%s", got, want)
	}
	b.visit("/ui/jobs/journey/tasks/7")
	if text := b.text("#task"); !strings.Contains(text, "result uploaded") || !strings.Contains(text, "worker") {
		t.Errorf("the task shows neither log nor worker:\n%s", text)
	}
}

// downloadWith clicks on a link and returns the file that comes.
func downloadWith(t *testing.T, b *tab, label string) []byte {
	t.Helper()
	dir := t.TempDir()
	_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do("click "+label, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll("a")].find((a) => a.innerText === %s).click()`, quoteJS(label))))
	var files []string
	await(t, "the download", func() bool {
		files, err = filepath.Glob(filepath.Join(dir, "*.csv"))
		return err == nil && len(files) == 1
	})
	return read(t, files[0])
}

// graphPage looks at the result of a similarity graph, and at one molecule of it.
func graphPage(t *testing.T, p *platform.Platform, b *tab) {
	manifest := search{name: "network", path: molecules(t, 120), rows: 60, parameters: `{threshold: "0.5"}`}.write(t)
	raw := strings.Replace(string(read(t, manifest)), "similarity-search", "similarity-graph", 1)
	if err := os.WriteFile(manifest, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	scimesh(t, p, "apply", "-f", manifest)
	scimesh(t, p, "wait", "job/network", "--timeout", "2m")
	b.visit("/ui/jobs/network/result")
	edges := bytes.Count(download(t, p, "network"), []byte("\n")) - 1
	if text := b.text(".graph"); !strings.Contains(text, fmt.Sprintf("%d edges between", edges)) {
		t.Errorf("%d edges, and the page says:\n%.300s", edges, text)
	}
	b.click(".graph table:not(.hist) a")
	b.await("the neighbourhood", `document.querySelector("svg.network circle.hub") && document.querySelector("[aria-label=Neighbours] a")`)
	b.do("scroll", chromedp.ScrollIntoView(chromedp.CSS("[aria-label=Neighbours]")))
	b.await("drawn neighbours", `[...document.querySelectorAll("[aria-label=Neighbours] .structure img")].some((i) => i.naturalWidth > 0)`)
}

// keyboardAlone finds and cancels a job without a pointer.
func keyboardAlone(t *testing.T, p *platform.Platform, b *tab) {
	manifest := slow(t, "by-keyboard").write(t)
	scimesh(t, p, "apply", "-f", manifest)
	b.visit("/ui/")
	b.press(kb.Tab)
	if got := evaluate[string](b, `document.activeElement.innerText`); got != "Skip to content" {
		t.Errorf("the first stop is %q", got)
	}
	b.press(kb.Enter)
	b.tabTo("by-keyboard")
	b.press(kb.Enter)
	b.await("the page of the job", `location.pathname === "/ui/jobs/by-keyboard"`)
	b.tabTo("Cancel")
	if outline := evaluate[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
		t.Error("the focus is not to be seen")
	}
	b.press(kb.Enter)
	b.await("the end of the job", `document.querySelector("#status .state")?.innerText === "cancelled"`)
}

// tabTo presses Tab until the focus is on what has that text.
func (b *tab) tabTo(text string) {
	b.t.Helper()
	for range 80 {
		b.press(kb.Tab)
		if evaluate[string](b, `document.activeElement.innerText.trim()`) == text {
			return
		}
	}
	b.t.Fatalf("80 stops do not reach %q\n%s", text, b.describe())
}

// hostileWorld is where texts lie that try to run in a page.
type hostileWorld struct{ worker, artifact string }

// makeHostile has a worker, a file and two jobs with hostile names and
// messages: a worker fails the one, and the other waits for workers.
func makeHostile(t *testing.T, p *platform.Platform) hostileWorld {
	t.Helper()
	operator := newClient(t, p)
	var table strings.Builder
	table.WriteString("canonical_smiles\tchembl_id\n")
	for i := range 5 {
		fmt.Fprintf(&table, "%sC(=O)O\t%s%d\n", strings.Repeat("C", i+1), hostileText, i)
	}
	a, err := operator.UploadArtifact(t.Context(), client.Upload{
		Filename: strings.ReplaceAll(hostileText, "/", "") + ".tsv", ContentType: "text/html", Body: strings.NewReader(table.String()), Size: int64(table.Len()),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hostile-failure", "hostile-result"} {
		if name == "hostile-result" {
			failHostile(t, p)
		}
		_, err := operator.CreateJob(t.Context(), v1.Job{
			TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindJob},
			Metadata: v1.ObjectMeta{Name: name, Annotations: map[string]string{"note": hostileText}},
			Spec: v1.JobSpec{Workload: "similarity-search", Input: v1.JobInput{Artifact: &a.Metadata.UID},
				Parameters: []byte(`{"query_smiles": "CCCC(=O)O"}`)},
		}, false)
		if err != nil {
			t.Fatal(err)
		}
	}
	workers, err := operator.ListWorkers(t.Context(), wire.ListWorkersParams{})
	if err != nil || len(workers.Items) != 1 {
		t.Fatalf("%d workers, %v", len(workers.Items), err)
	}
	return hostileWorld{workers.Items[0].Metadata.UID.String(), a.Metadata.UID.String()}
}

// failHostile claims the only task there is with a hostile name, and fails it
// with a hostile log and message.
func failHostile(t *testing.T, p *platform.Platform) {
	t.Helper()
	f := registerFake(t, p, hostileText)
	await(t, "the failure", func() bool {
		task, err := f.ClaimTask(t.Context(), wire.ClaimRequest{WorkerID: f.id, Capabilities: []string{"similarity-search"}, MaxConcurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if task == nil {
			return false
		}
		lease := client.Lease{Task: task.TaskID, Worker: f.id, Attempt: task.Attempt}
		if err := f.AppendTaskLog(t.Context(), lease, 0, []byte(hostileText), true); err != nil {
			t.Fatal(err)
		}
		_, err = f.FailTask(t.Context(), lease, "Hostile", hostileText, false)
		return err == nil
	})
}

// hostileTexts visits what shows them: they are to be read, and do nothing.
func hostileTexts(t *testing.T, b *tab, h hostileWorld) {
	for path, want := range map[string]string{
		"/ui/jobs/hostile-failure": hostileText, "/ui/jobs/hostile-failure/tasks/0": hostileText, "/ui/jobs/hostile-result": "window.pwned",
		"/ui/workers": hostileText, "/ui/workers/" + h.worker: hostileText, "/ui/artifacts?kind=input": "window.pwned", "/ui/artifacts/" + h.artifact: "window.pwned",
		"/ui/new?from=hostile-result": "window.pwned", "/ui/jobs/hostile-result/result": hostileText, "/ui/": "hostile-failure",
		"/ui/jobs?q=" + url.QueryEscape(hostileText): "No job matches",
	} {
		b.visit(path)
		b.await(path+" with its texts", fmt.Sprintf(`document.body.textContent.includes(%s)`, quoteJS(want)))
		if evaluate[bool](b, `"pwned" in window || document.querySelector("img[src=x]") !== null`) {
			t.Errorf("%s ran or built what a user wrote", path)
		}
	}
}

// dashboardPages are one of each kind.
func dashboardPages(h hostileWorld) []string {
	return []string{
		"/ui/", "/ui/jobs", "/ui/jobs?q=nothing", "/ui/cancel", "/ui/jobs/journey", "/ui/jobs/hostile-failure", "/ui/jobs/journey/tasks/3", "/ui/jobs/journey/result", "/ui/jobs/network/result",
		"/ui/new?from=journey", "/ui/workers", "/ui/workers/" + h.worker, "/ui/controllers", "/ui/artifacts", "/ui/artifacts/" + h.artifact,
		"/ui/workloads", "/ui/workloads/similarity-search",
	}
}

// accessible has axe look at every page in both themes, and at 320 pixels.
func accessible(t *testing.T, b *tab, h hostileWorld) {
	axe, err := os.ReadFile(filepath.FromSlash("../../.cache/npm/node_modules/axe-core/axe.min.js"))
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("axe-core is not installed: run hack/bootstrap web")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, theme := range []string{"light", "dark"} {
		b.do(theme, browser.Theme(theme))
		for _, path := range dashboardPages(h) {
			b.visit(path)
			options := `{resultTypes: ["violations"]}`
			if theme == "dark" { // nothing but colours differs
				options = `{resultTypes: ["violations"], runOnly: ["color-contrast"]}`
			}
			faults := evaluate[[]string](b, string(axe)+`;axe.run(document, `+options+`).then((r) =>
				r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`)
			for _, fault := range faults {
				t.Errorf("%s, %s: %s", path, theme, fault)
			}
		}
	}
	b.do("narrow", chromedp.EmulateViewport(320, 640))
	for _, path := range dashboardPages(h) {
		b.visit(path)
		if width := evaluate[int](b, `document.documentElement.scrollWidth`); width > 320 {
			wide := evaluate[string](b, `[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > 320 && !e.closest(".scroll")).slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(" | ")`)
			t.Errorf("%s is %d pixels wide on a screen of 320: %s", path, width, wide)
		}
	}
	b.do("wide again", chromedp.EmulateViewport(1280, 860), browser.Theme("light"))
}

// withoutStream has the browser refuse the stream of changes.
func withoutStream(t *testing.T, p *platform.Platform, b *tab) {
	b.watcher.Ignore(true) // a request that is refused is told on the console
	b.block(b.base + `/ui/live\?*`)
	b.visit("/ui/jobs")
	b.do("mark the page", chromedp.Evaluate[chromedp.Void](`window.stays = 1; undefined`))
	manifest := search{name: "unannounced", path: molecules(t, 50), rows: 10, parameters: `{query_smiles: CCO}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	b.await("news, without a stream and a reload", `document.body.innerText.includes("unannounced") && document.getElementById("link").dataset.state === "poll" && `+stays)
	b.block()
	b.watcher.Ignore(false)
}

// restart kills the coordinator under an open page, and starts it again.
func restart(t *testing.T, p *platform.Platform, b *tab, c *platform.Process) {
	b.visit("/ui/jobs")
	b.await("the stream", `document.getElementById("link").dataset.state === "live"`)
	b.do("mark the page", chromedp.Evaluate[chromedp.Void](`window.stays = 1; undefined`))
	b.watcher.Ignore(true) // that nobody answers is told on the console
	c.Kill()
	b.await("the loss of the connection is told", `document.getElementById("link").dataset.state === "lost"`)
	coordinator(t, p)
	b.await("the stream again", `document.getElementById("link").dataset.state === "live"`)
	b.watcher.Ignore(false)
	manifest := search{name: "after-restart", path: molecules(t, 50), rows: 10, parameters: `{query_smiles: CCO}`}.write(t)
	scimesh(t, p, "apply", "-f", manifest)
	b.await("news, without a reload or another sign-in", `document.body.innerText.includes("after-restart") && `+stays)
	b.watcher.Ignore(true) // the coordinator ends before the browser does
}
