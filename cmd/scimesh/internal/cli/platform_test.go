package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/store/storetest"
	"scimesh.dev/scimesh/worker"
	proof "scimesh.dev/scimesh/workloads/golden"
)

// platform is a real coordinator, on a real database, in this process.
type platform struct {
	*caller
	config *coordinatorConfig
	stop   func()
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	config := &coordinatorConfig{}
	config.bind(pflag.NewFlagSet("coordinator", pflag.ContinueOnError)) // sets the defaults
	config.DatabaseURL = storetest.NewDatabase(t)
	config.Token = testToken
	config.StorageDir = t.TempDir()
	config.Addr = "127.0.0.1:0"
	config.ReadyFile = filepath.Join(t.TempDir(), "ready")
	config.DrainTimeout = 100 * time.Millisecond
	if err := config.validate(); err != nil {
		t.Fatal(err)
	}
	p := &platform{config: config}
	url := p.startCoordinator(t)
	config.Addr = strings.TrimPrefix(url, "http://") // the same after a restart
	p.caller = newCaller(t, url)
	t.Cleanup(func() { p.stop() })
	return p
}

// startCoordinator returns the URL once the coordinator serves. Calling stop ends it.
func (p *platform) startCoordinator(t *testing.T) string {
	t.Helper()
	_ = os.Remove(p.config.ReadyFile) // absent the first time
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runCoordinator(ctx, p.config, zap.NewNop()) }()
	stopped := false
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("coordinator: %v", err)
		}
	}
	var url []byte
	if !eventually(func() bool { url, _ = os.ReadFile(p.config.ReadyFile); return len(url) > 0 }) {
		p.stop()
		t.Fatal("the coordinator does not start")
	}
	return strings.TrimSpace(string(url))
}

// work starts a worker that runs until the test ends.
func (p *platform) work(change ...func(*worker.Config)) {
	p.t.Helper()
	config := worker.Config{
		CoordinatorURL: p.env["SCIMESH_COORDINATOR_URL"], Token: testToken, Name: "bench", Engine: chem.EngineName, Golden: proof.Answers(),
		WorkDir: p.t.TempDir(), Workloads: builtin(), ClaimWait: time.Second, PollInterval: 50 * time.Millisecond, Threads: 1,
	}
	for _, f := range change {
		f(&config)
	}
	w, err := worker.New(config)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }()
	p.t.Cleanup(func() { cancel(); <-done })
}

// molecules is an input of n rows, one in ten of which is no molecule.
func molecules(n int) string {
	var b strings.Builder
	b.WriteString("chembl_id\tcanonical_smiles\n")
	for i := range n {
		smiles := strings.Repeat("C", i%7+1) + "O"
		if i%10 == 9 {
			smiles = "C(("
		}
		fmt.Fprintf(&b, "M%d\t%s\n", i, smiles)
	}
	return b.String()
}

// manifestOf is a job over molecules.tsv beside it.
func manifestOf(name string, more ...string) string {
	return fmt.Sprintf(`apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: %s, labels: {made-by: test}}
spec:
  workload: similarity-search
  input: {path: molecules.tsv}
  parameters: {query_smiles: CCO, top_k: 5}
  sharding: {rows: 10}
%s
`, name, strings.Join(more, "\n"))
}

// folder has a manifest for each name, and their input of n rows.
func (p *platform) folder(n int, names ...string) string {
	dir := p.t.TempDir()
	write(p.t, dir, "molecules.tsv", molecules(n))
	for _, name := range names {
		write(p.t, dir, name+".yaml", manifestOf(name))
	}
	return dir
}
