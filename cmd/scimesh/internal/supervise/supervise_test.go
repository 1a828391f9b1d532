package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// shell is a child that runs a script and appends what it prints to the file of that path.
func shell(t *testing.T, name, output, script string) Child {
	t.Helper()
	f, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return Child{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Output: f, StopTimeout: 5 * time.Second}
}

// prints waits until the file holds want at least n times.
func prints(path, want string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			raw, err := os.ReadFile(path)
			if err == nil && strings.Count(string(raw), want) >= n {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

func TestChildrenStartInOrderAndStopByStage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	first := shell(t, "first", out, `trap 'echo first-stopped; exit 0' TERM; echo first-up; while :; do sleep 0.01; done`)
	first.Ready = prints(out, "first-up", 1)
	second := shell(t, "second", out, `trap 'echo second-stopped; exit 0' TERM; echo second-up; while :; do sleep 0.01; done`)
	second.Stage = 1
	second.Ready = func(ctx context.Context) error {
		err := prints(out, "second-up", 1)(ctx)
		cancel()
		return err
	}
	if err := Run(ctx, zap.NewNop(), first, second); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "first-up\nsecond-up\nsecond-stopped\nfirst-stopped\n"; string(raw) != want {
		t.Errorf("got\n%s\nwant\n%s", raw, want)
	}
}

func TestAProcessThatEndsIsStartedAgain(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := shell(t, "short", out, `echo run; exit 3`)
	c.Ready = func(ctx context.Context) error {
		err := prints(out, "run", 2)(ctx)
		cancel()
		return err
	}
	if err := Run(ctx, zap.NewNop(), c); err != nil {
		t.Fatal(err)
	}
}

func TestAChildThatCannotStartEndsAll(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	err := Run(t.Context(), zap.NewNop(),
		shell(t, "good", out, `trap 'echo stopped; exit 0' TERM; while :; do sleep 0.01; done`),
		Child{Name: "bad", Path: filepath.Join(t.TempDir(), "missing")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error %v, want one for the missing program", err)
	}
}

func TestAChildThatIgnoresSIGTERMIsKilled(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := shell(t, "deaf", out, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	c.StopTimeout = 100 * time.Millisecond
	c.Ready = func(ctx context.Context) error {
		err := prints(out, "up", 1)(ctx)
		cancel()
		return err
	}
	begin := time.Now()
	if err := Run(ctx, zap.NewNop(), c); err != nil {
		t.Fatal(err)
	}
	if time.Since(begin) > 15*time.Second {
		t.Error("the child was not killed")
	}
}
