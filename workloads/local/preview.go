package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"scimesh.dev/scimesh/workloads"
)

// Preview plans a Job without keeping anything of it, and returns a sentence
// about the plan: what a Job would be that is not created. The request's Files
// are ignored.
func Preview(ctx context.Context, w workloads.Workload, req workloads.PlanRequest) (string, error) {
	req.Files = nowhere{}
	plan, err := w.Plan(ctx, req)
	if err != nil {
		return "", err
	}
	if plan.Summary == "" {
		return fmt.Sprintf("%d tasks", len(plan.Tasks)), nil
	}
	return plan.Summary, nil
}

// nowhere gives files that only their digests are kept of.
type nowhere struct{}

func (nowhere) Create(ctx context.Context, name, contentType string) (workloads.FileWriter, error) {
	return &nothing{digest: sha256.New(), file: workloads.File{Name: name, ContentType: contentType}}, ctx.Err()
}

type nothing struct {
	digest hash.Hash
	file   workloads.File
}

func (n *nothing) Write(p []byte) (int, error) {
	n.file.SizeBytes += int64(len(p))
	return n.digest.Write(p)
}

func (n *nothing) Commit() (workloads.File, error) {
	n.file.SHA256 = hex.EncodeToString(n.digest.Sum(nil))
	return n.file, nil
}

func (n *nothing) Abort() {}
