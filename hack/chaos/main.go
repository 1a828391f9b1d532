//go:build unix

// Command chaos runs jobs on a platform of its own and, meanwhile, kills
// workers, the coordinator and PostgreSQL at random moments. Every job must
// come to the bytes of a single process, and the database must stay sound.
//
//	go run ./hack/chaos -binary bin/scimesh -manifest job.yaml -job NAME -for 30m
//
// With -takeover it measures instead how long the platform takes to go on
// after a coordinator was killed, a worker was lost, and PostgreSQL was restarted.
//
//	go run ./hack/chaos -binary bin/scimesh -takeover
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/hack/internal/chaos"
	"scimesh.dev/scimesh/hack/internal/platform"
)

type options struct {
	binary, manifest, job, dir string
	workers                    int
	during                     time.Duration
	seed                       uint64
	takeover                   bool
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/scimesh", "the scimesh program")
	flag.StringVar(&o.manifest, "manifest", "", "manifest of the job (required)")
	flag.StringVar(&o.job, "job", "", "name of the job in it (required)")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "scimesh-chaos"), "folder of the platform")
	flag.IntVar(&o.workers, "workers", 3, "worker processes")
	flag.DurationVar(&o.during, "for", 10*time.Minute, "begin another round until so much time has passed")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the faults")
	flag.BoolVar(&o.takeover, "takeover", false, "measure takeovers, and run no job")
	flag.Parse()
	if !o.takeover && (o.manifest == "" || o.job == "") {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := zap.Must(zap.NewDevelopment()).Sugar()
	act := run
	if o.takeover {
		act = runTakeovers
	}
	if err := act(ctx, o, log); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options, log *zap.SugaredLogger) (err error) {
	log.Infof("seed %d", o.seed)
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	p, err := platform.Start(ctx, platform.Options{
		Dir: o.dir, Binary: binary, Safe: true, Coordinator: []string{"COORDINATOR_LEASE_TTL=5s"},
	})
	if err != nil {
		return err
	}
	defer p.Close()
	in, err := chaos.New(ctx, p, chaos.Config{
		Workers: o.workers, Seed: o.seed, Logf: log.Infof,
		MinPause: 200 * time.Millisecond, MaxPause: 5 * time.Second,
		MinDown: 10 * time.Millisecond, MaxDown: 8 * time.Second,
	})
	if err != nil {
		return err
	}
	defer in.Close()
	want := filepath.Join(o.dir, "want.csv")
	if _, err := p.Scimesh(ctx, "run", "-f", o.manifest, "-o", want); err != nil {
		return err
	}
	begin := time.Now()
	for round := 1; time.Since(begin) < o.during; round++ {
		if err := oneRound(ctx, o, p, in, want, log); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		log.Infof("round %d: same bytes, all invariants hold", round)
	}
	return nil
}

func oneRound(ctx context.Context, o options, p *platform.Platform, in *chaos.Injector, want string, log *zap.SugaredLogger) error {
	if _, err := p.Scimesh(ctx, "apply", "-f", o.manifest); err != nil {
		return err
	}
	job, report, err := in.Run(ctx, o.job)
	if err != nil {
		return err
	}
	log.Infof("faults so far: %+v", report)
	if job.Status.Phase != v1.JobCompleted {
		return fmt.Errorf("the job is %s: %s", job.Status.Phase, job.Status.ErrorMessage)
	}
	got := filepath.Join(o.dir, "got.csv")
	for _, command := range [][]string{
		{"download", "job/" + o.job, "-o", got, "--force"},
		{"debug", "verify", "--bytes"},
		{"delete", "job/" + o.job, "--wait"},
	} {
		if _, err := p.Scimesh(ctx, command...); err != nil {
			return err
		}
	}
	return sameBytes(got, want)
}

func sameBytes(a, b string) error {
	left, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	right, err := os.ReadFile(b)
	if err != nil {
		return err
	}
	if !bytes.Equal(left, right) {
		return fmt.Errorf("%s and %s differ", a, b)
	}
	return nil
}
