package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"scimesh.dev/scimesh/worker"
)

// People know settings by their variables and flags, not by the fields of a struct.
func TestFaultsOfAWorkerNameItsSettings(t *testing.T) {
	err := nameSettings(worker.Config{
		CoordinatorURL: "ftp://x", Concurrency: -1, Threads: -1, ClaimWait: time.Hour, PollInterval: -1,
		MaxTasks: -1, DiskLimit: -1, KeepFailed: -1, DrainTimeout: -1, OutageGrace: -1, MemoryMB: -1,
		Name: strings.Repeat("x", 300), Workloads: builtin(),
	}.Validate())
	for _, want := range []string{
		"SCIMESH_COORDINATOR_URL (--coordinator-url): ", "SCIMESH_TOKEN: ", "SCIMESH_WORK_DIR (--work-dir): ", "SCIMESH_WORKER_NAME (--name): ",
		"SCIMESH_CONCURRENCY (--concurrency): ", "SCIMESH_CLAIM_WAIT (--claim-wait): ", "SCIMESH_POLL_INTERVAL (--poll-interval): ",
		"SCIMESH_MAX_TASKS (--max-tasks): ", "SCIMESH_DISK_LIMIT_BYTES (--disk-limit-bytes): ", "SCIMESH_OUTAGE_GRACE (--outage-grace): ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no fault of %s in:\n%v", want, err)
		}
	}
	for field := range workerFlags {
		if strings.Contains(err.Error(), "\n"+field+":") {
			t.Errorf("a fault names the field %s:\n%v", field, err)
		}
	}
}

func TestEveryFlagNamedInFaultsExists(t *testing.T) {
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	new(workerOptions).bind(flags)
	for field, flag := range workerFlags {
		if flags.Lookup(flag) == nil || workerEnv[flag] == "" {
			t.Errorf("field %s: flag %s does not exist or has no variable", field, flag)
		}
		if _, ok := reflect.TypeFor[worker.Config]().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, field) }); !ok {
			t.Errorf("worker.Config has no field %s", field)
		}
	}
}
