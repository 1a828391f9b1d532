package worker

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// stage is how far a task has come. What a stage promises is on disk.
type stage string

const (
	stageClaimed  stage = "claimed"  // nothing but the state
	stageFetched  stage = "fetched"  // the verified input
	stageComputed stage = "computed" // the output and its digest
	stageUploaded stage = "uploaded" // the artifact's manifest
	stageFailed   stage = "failed"   // the failure to be reported
)

// maxStarts bounds how often processes begin to compute one attempt: a task
// that ends its process is reported, not tried for ever.
const maxStarts = 3

// taskState is the state file of a task's folder: all that another process
// needs to go on.
type taskState struct {
	Lease
	Workload   string          `json:"workload"`
	Inputs     []inputState    `json:"inputs"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Stage      stage           `json:"stage"`
	Starts     int             `json:"starts,omitempty"`
	LogSeq     int             `json:"log_seq,omitempty"`
	LogBytes   int             `json:"log_bytes,omitempty"`
	Output     *output         `json:"output,omitempty"`
	Artifact   *Artifact       `json:"artifact,omitempty"`
	Failure    *Failure        `json:"failure,omitempty"`
}

// output describes a finished result file.
type output struct {
	SHA256      string         `json:"sha256"`
	SizeBytes   int64          `json:"size_bytes"`
	ContentType string         `json:"content_type"`
	Metrics     map[string]any `json:"metrics,omitempty"`
}

const stateFile = "state.json"

func newState(a *Assignment) *taskState {
	s := &taskState{
		Lease: a.Lease, Workload: a.Workload, Parameters: a.Parameters, Stage: stageClaimed,
		Inputs: []inputState{{URI: a.InputURI, SHA256: a.InputSHA256}},
	}
	for _, in := range a.Further {
		s.Inputs = append(s.Inputs, inputState{URI: in.URI, SHA256: in.SHA256})
	}
	return s
}

// inputState is a file that the task reads: its input first, then what it reads beside it.
type inputState struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	ETag   string `json:"etag,omitempty"` // of what has been fetched so far
}

// inputName is the name of an input's file in the task's folder.
func inputName(i int) string {
	if i == 0 {
		return inputFile
	}
	return fmt.Sprintf("%s-%d", inputFile, i)
}

// dirName is the folder's name: two attempts of one task never share it.
func (s *taskState) dirName() string { return fmt.Sprintf("%s.%d", s.TaskID, s.Attempt) }

func (s *taskState) save(dir string) error {
	return writeJSON(filepath.Join(dir, stateFile), s)
}

// loadState reads the state of a task's folder.
func loadState(dir string) (*taskState, error) {
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, err
	}
	s := new(taskState)
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	if s.dirName() != filepath.Base(dir) {
		return nil, fmt.Errorf("state of task %s attempt %d lies in another folder", s.TaskID, s.Attempt)
	}
	return s, nil
}

func modTime(e fs.DirEntry) time.Time {
	info, err := e.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
