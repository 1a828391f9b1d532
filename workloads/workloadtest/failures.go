package workloadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

func testCorrupt(t *testing.T, c Config) {
	j := Start(t, c.Workload, c.Input, c.Parameters, c.Rows[len(c.Rows)-1])
	good := j.ExecuteAll(nil, 1)
	for chunk, whole := range good {
		if chunk > 2 && chunk < len(good)-2 {
			continue // enough of either stage
		}
		bad := map[string][]byte{
			"gone": nil, "empty": {}, "followed by a byte": append(bytes.Clone(whole), '\n'),
			"twice": append(bytes.Clone(whole), whole...), "binary": bytes.Repeat([]byte{0, 0xff}, 1000),
		}
		for cut := 1; cut < len(whole); cut += 1 + len(whole)/97 {
			bad[fmt.Sprintf("of its first %d bytes", cut)] = whole[:cut]
			bad[fmt.Sprintf("without its first %d bytes", cut)] = whole[cut:]
		}
		bad["without its last byte"] = whole[:len(whole)-1]
		for what, b := range bad {
			partials := slices.Clone(good)
			partials[chunk] = b
			_, err := j.Reduce(partials)
			var p *workloads.PartialError
			if !errors.As(err, &p) || int(p.ChunkIndex) != chunk {
				t.Errorf("partial %d %s: got %v, want a PartialError of it", chunk, what, err)
			}
		}
	}
	j.MustReduce(good)

	// What is wrong with the bytes is told as such, what is wrong with reading them is kept.
	list := j.Partials(good)
	list[1].Open = func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(good[1][:len(good[1])/2]), iotest.ErrReader(errGone))), nil
	}
	for name, open := range map[string]func(context.Context) (io.ReadCloser, error){
		"breaks off": list[1].Open, "is cut off": opener(good[1][:len(good[1])/2]),
	} {
		list[1].Open = open
		req := j.ReduceRequest(good)
		req.Partials = Sequence(list)
		_, err := c.Workload.Reduce(t.Context(), req)
		var p *workloads.PartialError
		var e *workloads.Error
		if !errors.As(err, &p) || errors.Is(err, errGone) == errors.As(err, &e) || errors.Is(err, errGone) != (name == "breaks off") {
			t.Errorf("a partial result that %s: got %v", name, err)
		}
	}
}

func testIncomplete(t *testing.T, c Config) {
	j := Start(t, c.Workload, c.Input, c.Parameters, c.Rows[len(c.Rows)-1])
	good := j.ExecuteAll(nil, 1)
	broken := errors.New("list of partial results broke off")
	list := j.Partials(good)
	for name, partials := range map[string]iter.Seq2[workloads.Partial, error]{
		"none":           Sequence(nil),
		"one too few":    Sequence(list[:len(list)-1]),
		"one is skipped": Sequence(slices.Delete(slices.Clone(list), 1, 2)),
		"two swapped":    Sequence(append([]workloads.Partial{list[1], list[0]}, list[2:]...)),
		"one twice":      Sequence(append([]workloads.Partial{list[0]}, list...)),
		"an error":       func(yield func(workloads.Partial, error) bool) { yield(workloads.Partial{}, broken) },
	} {
		req := j.ReduceRequest(good)
		req.Partials = partials
		if _, err := c.Workload.Reduce(t.Context(), req); err == nil || name == "an error" && !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// maxMessage bounds a message to a user: that of a condition.
const maxMessage = v1.MaxConditionMessage

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`)

// checkMessage checks that an error is one for a user and says nothing of this machine.
func checkMessage(t *testing.T, what string, err error) {
	t.Helper()
	var e *workloads.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("%s: got %v, want a workloads.Error", what, err)
	case !camelCase.MatchString(e.Reason) || e.Message == "" || len(e.Message) > maxMessage:
		t.Errorf("%s: reason %q and a message of %d bytes", what, e.Reason, len(e.Message))
	case strings.Contains(e.Message, os.TempDir()), strings.Contains(e.Message, ".go:"), strings.Contains(e.Message, "goroutine"):
		t.Errorf("%s: the message shows the inside: %s", what, e.Message)
	}
}

func testErrors(t *testing.T, c Config) {
	inputs := map[string][]byte{
		"an empty input": {}, "zeros": make([]byte, 1000), "a long line": bytes.Repeat([]byte("x"), 1<<20),
		"a cut gzip": {0x1f, 0x8b, 8, 0}, "a cut zstd": {0x28, 0xb5, 0x2f, 0xfd, 4},
		"only the first line": append(bytes.Clone(c.Input[:bytes.IndexByte(c.Input, '\n')]), '\n'),
	}
	maps.Copy(inputs, c.BadInputs)
	for name, b := range inputs {
		j := Prepare(t, c.Workload, b, c.Parameters, c.Rows[0])
		_, err := c.Workload.Plan(t.Context(), j.Request)
		checkMessage(t, name, err)
	}
}

func testFaults(t *testing.T, c Config) {
	broken := errors.New("connection reset")
	var e *workloads.Error
	j := Start(t, c.Workload, c.Input, c.Parameters, c.Rows[0])
	for name, open := range map[string]func(context.Context) (io.ReadCloser, error){
		"an input that cannot be opened": func(context.Context) (io.ReadCloser, error) { return nil, broken },
		"an input that breaks off": func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(c.Input[:len(c.Input)/2]), iotest.ErrReader(broken))), nil
		},
	} {
		req := j.Request
		req.Open = open
		if _, err := c.Workload.Plan(t.Context(), req); !errors.Is(err, broken) || errors.As(err, &e) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	req := j.TaskRequest(0, 1, fullDisk{})
	if _, err := c.Workload.Execute(t.Context(), req); !errors.Is(err, errFull) || errors.As(err, &e) {
		t.Errorf("a full disk: got %v", err)
	}
	for _, threads := range []int{1, 3} {
		req = j.TaskRequest(0, threads, io.Discard)
		req.Input = io.MultiReader(io.LimitReader(req.Input, 100), iotest.ErrReader(broken))
		if _, err := c.Workload.Execute(t.Context(), req); !errors.Is(err, broken) || errors.As(err, &e) {
			t.Errorf("a shard that breaks off, %d threads: got %v", threads, err)
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func testCancel(t *testing.T, c Config) {
	j := Start(t, c.Workload, c.Input, c.Parameters, c.Rows[0])
	if _, err := c.Workload.Plan(cancelled(t), j.Request); !errors.Is(err, context.Canceled) {
		t.Errorf("plan: got %v", err)
	}
	partials := j.ExecuteAll(nil, 1)
	if _, err := c.Workload.Reduce(cancelled(t), j.ReduceRequest(partials)); !errors.Is(err, context.Canceled) {
		t.Errorf("reduce: got %v", err)
	}
	for _, threads := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		req := j.TaskRequest(0, threads, io.Discard)
		req.Input = &cancelling{r: req.Input, cancel: cancel}
		if _, err := c.Workload.Execute(ctx, req); !errors.Is(err, context.Canceled) {
			t.Errorf("execute with %d threads: got %v", threads, err)
		}
	}
}

// cancelling cancels a context in the middle of the input.
type cancelling struct {
	r      io.Reader
	cancel func()
}

func (c *cancelling) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(len(p), 64)])
	c.cancel()
	return n, err
}
