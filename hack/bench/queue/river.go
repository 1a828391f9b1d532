//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// riverBinary builds River's benchmark from the module beside this file. The
// error says why it cannot be had, for instance because no module proxy serves it.
func riverBinary(ctx context.Context, dir string) (string, error) {
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(dir, "river")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(filepath.Dir(here), "river"), "-o", path, ".")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return path, nil
}

// riverJobs returns how many no-op jobs a second River works off, in the database at url.
func riverJobs(ctx context.Context, binary, url string, jobs int) (float64, error) {
	cmd := exec.CommandContext(ctx, binary, "-jobs", strconv.Itoa(jobs))
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var r struct {
		JobsPerSecond float64 `json:"jobs_per_second"`
	}
	err = json.Unmarshal(out, &r)
	return r.JobsPerSecond, err
}
