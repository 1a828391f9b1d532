package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"scimesh.dev/scimesh/workloads"
)

// sizedWorkload takes a megabyte for each byte of its input.
type sizedWorkload struct{ testWorkload }

func (sizedWorkload) Memory(_ json.RawMessage, inputs []int64) int64 { return inputs[0] << 20 }

func TestATaskThatTakesTooMuchMemoryIsRefused(t *testing.T) {
	inBubble(t, upper, func(b *bench) {
		b.cfg.Workloads = workloads.NewRegistry(sizedWorkload{testWorkload{name: "test", run: upper}})
		b.cfg.MemoryMB, b.cfg.Concurrency = 20, 2
		large, small := b.fake.add(strings.Repeat("x", 11)), b.fake.add(strings.Repeat("x", 10))
		b.runTasks(2)
		b.wantCompleted(small, strings.Repeat("X", 10))
		if got := b.wantFailure(large, codeMemory, true); !strings.Contains(got, "about 11 MB") || !strings.Contains(got, "has 10 MB") {
			t.Errorf("message %q", got)
		}
	})
}
