package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scimesh.dev/scimesh/workloads"
)

// failing returns a workload that fails with err, or panics with it if it is a
// panicValue.
func failing(err error) executeFunc {
	return func(context.Context, workloads.TaskRequest) (workloads.TaskResult, error) {
		if p, ok := errors.AsType[panicValue](err); ok {
			panic(p.value)
		}
		if err == nil {
			err = errors.New("it did not work")
		}
		return workloads.TaskResult{}, err
	}
}

type panicValue struct{ value any }

func (panicValue) Error() string { return "panics" }

func outOfRange() (err any) {
	defer func() { err = recover() }()
	var none []int
	return none[len(os.Args)]
}

func TestFailureIsReportedSanitised(t *testing.T) {
	_, noFile := os.Open("/home/someone/secret/input.tsv")
	for name, tc := range map[string]struct {
		err       error
		code      string
		retryable bool
		want      string // message; a part of it if it begins with …
	}{
		"what the user can mend is not retried": {
			err:  fmt.Errorf("row 3: %w", workloads.Errorf("InputInvalid", "column canonical_smiles is missing; found chembl_id, name")),
			code: "InputInvalid", want: "column canonical_smiles is missing; found chembl_id, name",
		},
		"a reason that is no word": {
			err: workloads.Errorf("not a word!", "bad"), code: codeExecution, want: "bad",
		},
		"a path": {
			err: fmt.Errorf("read shard: %w", noFile), code: codeExecution, retryable: true,
			want: "read shard: open [path]: no such file or directory",
		},
		"the token": {err: errors.New("GET with " + testToken), code: codeExecution, retryable: true, want: "GET with [redacted]"},
		"a piece of the input": {
			err: fmt.Errorf("parse %q: not a number", "CC(=O)Oc1ccccc1C(=O)O"), code: codeExecution, retryable: true,
			want: `parse "…": not a number`,
		},
		"a traceback": {
			err:  errors.New("boom\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d"),
			code: codeExecution, retryable: true, want: "boom",
		},
		"a URL with secrets": {
			err:  errors.New("get https://me:pw@store.test/bucket/key?signature=abc: 403"),
			code: codeExecution, retryable: true, want: "get https://store.test: 403",
		},
		"a run-time panic": {
			err: panicValue{outOfRange()}, code: codePanic, retryable: true,
			want: "…the workload panicked: runtime error: index out of range",
		},
		"a panic with a value": {
			err: panicValue{"row CC(=O)O in /home/someone"}, code: codePanic, retryable: true,
			want: "the workload panicked with a value of type string",
		},
		"a long message": {
			err: workloads.Errorf("InputInvalid", "%s", strings.Repeat("é", 5000)), code: "InputInvalid", want: "…éé",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, failing(tc.err), func(b *bench) {
				task := b.fake.add("x")
				b.runTasks(1)
				got := b.wantFailure(task, tc.code, tc.retryable)
				part, isPart := strings.CutPrefix(tc.want, "…")
				if isPart && !strings.Contains(got, part) || !isPart && got != tc.want {
					t.Errorf("message %q, want %q", got, tc.want)
				}
				if len(got) > maxFailureMessage {
					t.Errorf("message of %d bytes", len(got))
				}
				b.wantNoFolders()
			})
		})
	}
}

func TestSanitizerLeavesChemistryAlone(t *testing.T) {
	for _, text := range []string{
		`SMILES "F/C=C/F" of CHEMBL25`, `C/C=C\C`, "text/csv", "3/4 rows", "N[C@@H](C)C(=O)O", "a: b",
	} {
		if got := newSanitizer(testToken).line(text, 100); got != text {
			t.Errorf("line(%q) = %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"open /etc/passwd: denied":         "open [path]: denied",
		`open "/var/lib/x y"`:              `open "[path] y"`,
		`C:\Users\me\x.txt is gone`:        "[path] is gone",
		`\\server\share is gone`:           "[path] is gone",
		"~/work is full":                   "[path] is full",
		"file:///tmp/x":                    "file://",
		"a\tb\x00\x1b[31m\u009bc":          "a b[31mc",
		"\xff\xfe":                         "\uFFFD",
		"see (/opt/scimesh/bin) or k=/tmp": "see ([path]) or k=[path]",
	} {
		if got := newSanitizer().line(text, 100); got != want {
			t.Errorf("line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWorkerLivesOnAfterAPanic(t *testing.T) {
	var runs int
	inBubble(t, counted(&runs, func(ctx context.Context, req workloads.TaskRequest) (workloads.TaskResult, error) {
		if runs == 1 {
			panic("first")
		}
		return upper(ctx, req)
	}), func(b *bench) {
		first, second := b.fake.add("a"), b.fake.add("b")
		b.runTasks(2)
		b.wantFailure(first, codePanic, true)
		b.wantCompleted(second, "B")
		if !strings.Contains(b.logs.String(), "failure_test.go") {
			t.Error("the worker's own log lacks the stack")
		}
		b.fake.look(func() {
			if log := strings.Join(first.logs, ""); strings.Contains(log, ".go") || !strings.Contains(log, "failed: Panic") {
				t.Errorf("task log:\n%s", log)
			}
		})
	})
}

// A coordinator hands out what was not offered: that is not this worker's to compute.
func TestUnknownWorkloadIsReported(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		task := b.fake.add("x")
		b.fake.look(func() { task.claimedAs = "other" })
		b.runTasks(1)
		if got := b.wantFailure(task, codeUnknownWorkload, true); got != `this worker does not have workload "other"` {
			t.Errorf("message %q", got)
		}
	})
}

func TestFailedFoldersAreKeptUpToALimit(t *testing.T) {
	inBubble(t, failing(nil), func(b *bench) {
		b.cfg.KeepFailed = 2
		for range 4 {
			b.fake.add("inspect me")
		}
		b.runTasks(4)
		b.wantNoFolders()
		kept, err := os.ReadDir(filepath.Join(b.cfg.WorkDir, failedDir))
		if err != nil || len(kept) != 2 {
			t.Fatalf("%d folders kept (%v), want 2", len(kept), err)
		}
		in, err := os.ReadFile(filepath.Join(b.cfg.WorkDir, failedDir, kept[0].Name(), inputFile))
		if err != nil || string(in) != "inspect me" {
			t.Errorf("kept input %q, %v", in, err)
		}
	})
}
