package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/cmd/scimesh/internal/settings"
	"scimesh.dev/scimesh/worker"
	proof "scimesh.dev/scimesh/workloads/golden"
)

// workerOptions are what `worker` is told.
type workerOptions struct {
	worker.Config
	configFile string
	logLevel   string
}

func newWorker(streams Streams) *cobra.Command {
	o := &workerOptions{}
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Claim tasks from a coordinator and compute them",
		GroupID: groupServe,
		Args:    exactArgs(0),
		Long: `Claim tasks from a coordinator over outbound HTTP, compute them and deliver the
results. Every setting may be given as a flag, in the environment, or in a YAML
file; the token in SCIMESH_TOKEN, or in a file that SCIMESH_TOKEN_FILE names.

On SIGTERM or Ctrl-C the worker claims no more, finishes what it can within
--drain-timeout, hands the rest back at no cost, and exits.`,
		Example: `  SCIMESH_COORDINATOR_URL=https://scimesh.example SCIMESH_TOKEN_FILE=token \
    scimesh worker --work-dir /var/lib/scimesh --concurrency 4`,
	}
	set := o.bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := set.Load(o.configFile, os.LookupEnv); err != nil {
			return usageErrorf("%w", err)
		}
		o.Engine, o.Golden, o.Workloads = chem.EngineName, proof.Answers(), builtin()
		if err := o.Validate(); err != nil {
			return usageErrorf("%w", nameSettings(err))
		}
		log, err := newLogger(streams.Err, o.logLevel)
		if err != nil {
			return usageErrorf("%w", err)
		}
		log.Info("worker starts", append(set.Fields(), zap.String("version", buildVersion()), zap.String("engine", o.Engine))...)
		o.Logger = log
		w, err := worker.New(o.Config)
		if err != nil {
			return err
		}
		return w.Run(cmd.Context())
	}
	return cmd
}

// workerEnv are the environment variables of the worker's flags.
var workerEnv = map[string]string{
	"coordinator-url": "SCIMESH_COORDINATOR_URL", "name": "SCIMESH_WORKER_NAME", "work-dir": "SCIMESH_WORK_DIR",
	"concurrency": "SCIMESH_CONCURRENCY", "threads": "SCIMESH_THREADS", "memory-mb": "SCIMESH_MEMORY_MB",
	"claim-wait": "SCIMESH_CLAIM_WAIT", "poll-interval": "SCIMESH_POLL_INTERVAL", "once": "SCIMESH_ONCE",
	"max-tasks": "SCIMESH_MAX_TASKS", "disk-limit-bytes": "SCIMESH_DISK_LIMIT_BYTES", "keep-failed": "SCIMESH_KEEP_FAILED",
	"cache-bytes": "SCIMESH_CACHE_BYTES", "cache-dir": "SCIMESH_CACHE_DIR",
	"drain-timeout": "SCIMESH_DRAIN_TIMEOUT", "outage-grace": "SCIMESH_OUTAGE_GRACE", "log-level": "SCIMESH_LOG_LEVEL",
}

// workerFlags are the flags of the fields of worker.Config that its validation names.
var workerFlags = map[string]string{
	"coordinatorURL": "coordinator-url", "name": "name", "workDir": "work-dir", "concurrency": "concurrency",
	"threads": "threads", "memoryMB": "memory-mb", "claimWait": "claim-wait", "pollInterval": "poll-interval",
	"maxTasks": "max-tasks", "diskLimit": "disk-limit-bytes", "cacheLimit": "cache-bytes", "keepFailed": "keep-failed",
	"drainTimeout": "drain-timeout", "outageGrace": "outage-grace",
}

// nameSettings tells faults of a worker.Config by the settings that people know.
func nameSettings(err error) error {
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		return err
	}
	faults := make([]error, len(all.Errors()))
	for i, fault := range all.Errors() {
		faults[i] = fault
		var f *field.Error
		if !errors.As(fault, &f) {
			continue
		}
		name := f.Field
		if flag, ok := workerFlags[name]; ok {
			name = workerEnv[flag] + " (--" + flag + ")"
		} else if name == "token" {
			name = "SCIMESH_TOKEN"
		}
		faults[i] = fmt.Errorf("%s: %s", name, v1.FieldMessage(f))
	}
	return errors.Join(faults...)
}

// bind declares the settings of the worker on its flags.
func (o *workerOptions) bind(flags *pflag.FlagSet) *settings.Set {
	flags.StringVar(&o.configFile, "config", "", "YAML file of settings")
	flags.StringVar(&o.CoordinatorURL, "coordinator-url", "", "URL of the coordinator (required)")
	flags.StringVar(&o.Name, "name", "", "name for people (default: the host's)")
	flags.StringVar(&o.WorkDir, "work-dir", "", "folder of the identity and of running tasks, for one worker at a time (required)")
	flags.IntVar(&o.Concurrency, "concurrency", 1, "tasks at once")
	flags.IntVar(&o.Threads, "threads", 1, "threads of one task")
	flags.Int64Var(&o.MemoryMB, "memory-mb", 0, "memory to announce (default: the machine's)")
	flags.DurationVar(&o.ClaimWait, "claim-wait", 20*time.Second, "how long a claim waits at the coordinator for a task; 0 to 30s")
	flags.DurationVar(&o.PollInterval, "poll-interval", 2*time.Second, "pause after a claim that did not wait")
	flags.BoolVar(&o.Once, "once", false, "exit after one claim and its task, if there was one")
	flags.IntVar(&o.MaxTasks, "max-tasks", 0, "exit after so many tasks; 0 is no limit")
	flags.Int64Var(&o.DiskLimit, "disk-limit-bytes", 20<<30, "most bytes under the work dir; a task that does not fit is handed back; 0 is no limit")
	flags.Int64Var(&o.CacheLimit, "cache-bytes", 10<<30, "most bytes of inputs and results kept for tasks to come; 0 keeps none")
	flags.StringVar(&o.CacheDir, "cache-dir", "", "where they are kept, on the file system of the work dir; workers may share it (default: in the work dir)")
	flags.IntVar(&o.KeepFailed, "keep-failed", 0, "folders of failed tasks to keep")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "time for running tasks at shutdown")
	flags.DurationVar(&o.OutageGrace, "outage-grace", 10*time.Minute, "how long to compute on while the coordinator is away")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")

	set := settings.New(flags)
	set.Secret(&o.Token, "token-file", "SCIMESH_TOKEN")
	for name, env := range workerEnv {
		set.Flag(name, env)
	}
	return set
}
