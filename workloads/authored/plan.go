package authored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// ReasonPlanInvalid says that a workload's plan, or what it says of its result, cannot be taken.
const ReasonPlanInvalid = "PlanInvalid"

// Bounds of a plan.
const (
	maxTasks      = 100_000
	maxPlanBytes  = 64 << 20
	maxParameters = 16 << 10 // of one task, as JSON
)

// wirePlan is the first entry of a plan's bundle.
type wirePlan struct {
	Tasks []wireTask `json:"tasks"`
}

// wireTask is one task. Its input is named by the digest of a shard of the bundle.
type wireTask struct {
	ChunkIndex int             `json:"chunk_index"`
	Input      wireInput       `json:"input"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

type wireInput struct {
	SHA256 string `json:"sha256"`
}

// parsePlan reads a plan and checks all that can be told without the shards.
func parsePlan(raw []byte) (wirePlan, error) {
	var p wirePlan
	if err := v1.UnmarshalStrict(raw, &p); err != nil {
		return p, invalid("%v", err)
	}
	if len(p.Tasks) == 0 || len(p.Tasks) > maxTasks {
		return p, invalid("it has %d tasks, must have 1 to %d", len(p.Tasks), maxTasks)
	}
	byIndex := make([]wireTask, len(p.Tasks))
	seen := make([]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		if t.ChunkIndex < 0 || t.ChunkIndex >= len(p.Tasks) || seen[t.ChunkIndex] {
			return p, invalid("chunk indexes must be 0 to %d, each once; there is a second or a foreign %d", len(p.Tasks)-1, t.ChunkIndex)
		}
		if err := t.check(); err != nil {
			return p, err
		}
		byIndex[t.ChunkIndex], seen[t.ChunkIndex] = t, true
	}
	p.Tasks = byIndex
	return p, nil
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (t wireTask) check() error {
	if !digestForm.MatchString(t.Input.SHA256) {
		return invalid("task %d: its input is no artifact reference", t.ChunkIndex)
	}
	if len(t.Parameters) > maxParameters {
		return invalid("task %d: its parameters have more than %d bytes", t.ChunkIndex, maxParameters)
	}
	if len(t.Parameters) == 0 {
		return nil
	}
	var value any
	if json.Unmarshal(t.Parameters, &value) != nil || bytes.TrimSpace(t.Parameters)[0] != '{' || v1.HoldsNUL(t.Parameters) {
		return invalid("task %d: its parameters are no object that can be stored", t.ChunkIndex)
	}
	if what := forbidden(value); what != "" {
		return invalid("task %d: its parameters hold %s", t.ChunkIndex, what)
	}
	return nil
}

// A path begins a text; a slash within one, as in a SMILES, does not make it one.
var pathForm = regexp.MustCompile(`^(/[A-Za-z0-9_.~]|~/|\.\.?/|[A-Za-z]:[\\/]|\\\\|(?i:file|worker)://)`)

// commands are names under which nothing but a command would stand.
var commands = map[string]bool{"command": true, "cmd": true, "shell": true, "exec": true, "argv": true, "script": true}

// forbidden names what may not be in parameters that go from one machine to
// another: a path or a command. It returns "" if there is nothing.
func forbidden(value any) string {
	switch value := value.(type) {
	case string:
		if pathForm.MatchString(value) {
			return "a path"
		}
	case []any:
		for _, v := range value {
			if what := forbidden(v); what != "" {
				return what
			}
		}
	case map[string]any:
		for name, v := range value {
			if commands[strings.ToLower(name)] {
				return "a command"
			}
			if what := forbidden(v); what != "" {
				return what
			}
		}
	}
	return ""
}

func invalid(format string, args ...any) error {
	return workloads.Errorf(ReasonPlanInvalid, "the plan cannot be taken: %s", fmt.Sprintf(format, args...))
}
