package worker

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"scimesh.dev/scimesh/workloads"
)

// A day of a worker's life with everything going wrong: the token is in no
// log, no failure, no task log, no URL, no file.
func TestTokenIsNowhere(t *testing.T) {
	run := failing(fmt.Errorf("the environment holds %s and Bearer %s", testToken, testToken))
	inBubble(t, run, func(b *bench) {
		b.cfg.KeepFailed = 10
		var n atomic.Int64
		b.fake.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			switch n.Add(1) % 7 {
			case 1: // an answer that repeats the request's headers
				http.Error(w, fmt.Sprintf("%v", r.Header), http.StatusBadGateway)
			case 3:
				answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{
					"code": "unauthorized", "message": "unknown token " + r.Header.Get("Authorization")}})
			case 5:
				http.Redirect(w, r, "http://elsewhere.test/?t="+r.Header.Get("Authorization"), http.StatusFound)
			default:
				return false
			}
			return true
		})
		var tasks []*fakeTask
		for range 5 {
			tasks = append(tasks, b.fake.add("x"))
		}
		w := b.start()
		after(12 * time.Hour)
		b.net.down()
		after(time.Hour)
		w.end()

		told := []string{b.logs.String()}
		for _, task := range tasks {
			told = append(told, fmt.Sprintf("%v %v", task.failures, task.logs))
		}
		for _, r := range b.fake.seen {
			told = append(told, r.url)
		}
		err := filepath.WalkDir(b.cfg.WorkDir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			told = append(told, path+string(raw))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range told {
			if at := strings.Index(text, testToken); at >= 0 {
				t.Errorf("the token is told: …%s", text[max(0, at-200):min(len(text), at+100)])
			}
		}
		if len(tasks[0].failures) == 0 && len(tasks[1].failures) == 0 {
			t.Error("no failure was reported: the test has tested nothing")
		}
	})
}

func TestConfigurationErrorsNameEveryFaultAndNoSecret(t *testing.T) {
	_, err := New(Config{
		CoordinatorURL: "https://user:pa55w0rd@coordinator.test", Token: "not a token", Name: strings.Repeat("n", 300),
		Engine: strings.Repeat("e", 200), Concurrency: -1, Threads: -1, MemoryMB: -1, ClaimWait: time.Minute, PollInterval: -1,
		MaxTasks: -1, DiskLimit: -1, KeepFailed: -1, DrainTimeout: -1, OutageGrace: -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{
		"coordinatorURL", "token", "name", "engine", "workDir", "workloads", "concurrency", "threads", "memoryMB", "claimWait",
		"pollInterval", "maxTasks", "diskLimit", "keepFailed", "drainTimeout", "outageGrace",
	} {
		if !strings.Contains(err.Error(), name+":") {
			t.Errorf("error does not name %s: %v", name, err)
		}
	}
	for _, secret := range []string{"pa55w0rd", "not a token"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error holds %q: %v", secret, err)
		}
	}
}

func TestCoordinatorURL(t *testing.T) {
	good := Config{Token: "t", WorkDir: t.TempDir(), Workloads: workloads.NewRegistry(testWorkload{"test", upper})}
	for _, u := range []string{"http://localhost:8080", "https://lab.example/scimesh/", "http://[::1]:80"} {
		good.CoordinatorURL = u
		if err := good.Validate(); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"", "localhost:8080", "ftp://x", "http://", "http://x/?token=1", "http://x/#a", "http://x\x7f", "/path"} {
		good.CoordinatorURL = u
		if err := good.Validate(); err == nil || !strings.Contains(err.Error(), "coordinatorURL") {
			t.Errorf("%q: %v, want a fault of coordinatorURL", u, err)
		}
	}
}
