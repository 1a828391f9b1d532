package store

import (
	"fmt"
	"strconv"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Resource returns the Job as the API shows it. A damaged Job carries the
// condition Damaged.
func (j Job) Resource() v1.Job {
	conditions := j.Conditions
	if j.Damage != "" {
		conditions, _ = v1.SetCondition(conditions, v1.Condition{
			Type: v1.JobConditionDamaged, Status: v1.ConditionTrue, ObservedGeneration: j.Generation,
			LastTransitionTime: v1.NewTime(j.UpdatedAt), Reason: "RowDamaged", Message: j.Damage,
		})
	}
	return v1.Job{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindJob},
		Metadata: v1.ObjectMeta{
			Name: j.Name, UID: j.ID, Labels: j.Labels, Annotations: j.Annotations, Generation: j.Generation,
			ResourceVersion: strconv.FormatInt(j.Version, 10), CreationTimestamp: v1.NewTime(j.CreatedAt),
			DeletionTimestamp: v1.NewTimePtr(j.DeletionRequestedAt),
		},
		Spec: j.Spec,
		Status: v1.JobStatus{
			Phase: j.Phase, Tasks: j.Tasks, Conditions: conditions, Ledger: j.Ledger, Engine: j.Engine,
			Input: j.Input, Result: j.Result, Rejects: j.Rejects,
			StartedAt: v1.NewTimePtr(j.StartedAt), CompletedAt: v1.NewTimePtr(j.CompletedAt),
			ErrorCode: j.ErrorCode, ErrorMessage: j.ErrorMessage, CancelRequested: !j.CancelRequestedAt.IsZero(),
		},
	}
}

// Resource returns the Task as the API shows it.
func (t Task) Resource() v1.Task {
	var attempts []v1.Attempt
	for _, a := range t.Attempts {
		attempts = append(attempts, v1.Attempt{
			Attempt: a.Attempt, Worker: a.Worker, WorkerName: a.WorkerName, Outcome: a.Outcome,
			StartedAt: v1.NewTime(a.StartedAt), EndedAt: v1.NewTimePtr(a.EndedAt),
			ErrorCode: a.ErrorCode, ErrorMessage: a.ErrorMessage, Metrics: a.Metrics, LogBytes: a.LogBytes,
		})
	}
	return v1.Task{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindTask},
		Metadata: v1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", t.JobName, t.ChunkIndex), UID: t.ID,
			ResourceVersion: strconv.FormatInt(t.Version, 10), CreationTimestamp: v1.NewTime(t.CreatedAt),
		},
		Spec: v1.TaskSpec{
			Job: t.JobName, ChunkIndex: t.ChunkIndex, Workload: t.Workload, InputSHA256: t.InputSHA256,
			Parameters: t.Parameters, MaxAttempts: t.MaxAttempts,
		},
		Status: v1.TaskStatus{
			Phase: t.Phase, Attempt: t.Attempt, Failures: t.Failures, LostLeases: t.LostLeases,
			NotBefore: v1.NewTimePtr(t.NotBefore), LeaseOwner: idPtr(t.LeaseOwner), WorkerName: t.WorkerName,
			LeaseExpiresAt: v1.NewTimePtr(t.LeaseExpiresAt), Progress: t.Progress,
			StartedAt: v1.NewTimePtr(t.StartedAt), CompletedAt: v1.NewTimePtr(t.CompletedAt),
			Result: t.Result, Metrics: t.Metrics, ErrorCode: t.ErrorCode, ErrorMessage: t.ErrorMessage, Attempts: attempts,
		},
	}
}

// Resource returns the Worker as the API shows it.
func (w Worker) Resource() v1.Worker {
	return v1.Worker{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindWorker},
		Metadata: v1.ObjectMeta{Name: w.Name, UID: w.ID, CreationTimestamp: v1.NewTime(w.CreatedAt)},
		Spec:     v1.WorkerSpec{Capabilities: w.Capabilities, Engine: w.Engine, CPUCount: w.CPUCount, MemoryMB: w.MemoryMB},
		Status: v1.WorkerStatus{
			Phase: w.Phase, LastHeartbeatAt: v1.NewTimePtr(w.LastHeartbeatAt), ActiveTasks: w.ActiveTasks,
			ConsecutiveFailures: w.ConsecutiveFailures, QuarantinedUntil: v1.NewTimePtr(w.QuarantinedUntil),
			Conditions: w.conditions(),
		},
	}
}

// conditions derives the conditions of a worker from its row. They are not
// stored, so they are always those of the moment of reading.
func (w Worker) conditions() []v1.Condition {
	ready := v1.Condition{Type: v1.WorkerConditionReady, Status: v1.ConditionTrue,
		LastTransitionTime: v1.NewTime(w.UpdatedAt), Reason: "Registered", Message: "the worker is alive"}
	if w.Phase == v1.WorkerOffline {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "NoHeartbeat", "the worker has not been heard of"
	}
	if !w.QuarantinedUntil.After(w.ReadAt) {
		return []v1.Condition{ready}
	}
	if ready.Status == v1.ConditionTrue {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "Quarantined", w.QuarantineReason
	}
	return []v1.Condition{ready, {Type: v1.WorkerConditionQuarantined, Status: v1.ConditionTrue,
		LastTransitionTime: v1.NewTime(w.UpdatedAt), Reason: "TasksFailed", Message: w.QuarantineReason}}
}

// Resource returns the Artifact as the API shows it.
func (a Artifact) Resource() v1.Artifact {
	return v1.Artifact{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindArtifact},
		Metadata: v1.ObjectMeta{Name: a.ID.String(), UID: a.ID, CreationTimestamp: v1.NewTime(a.CreatedAt)},
		Spec: v1.ArtifactSpec{
			Kind: a.Kind, Job: a.JobName, Task: idPtr(a.TaskID), Attempt: a.Attempt, Filename: a.Filename,
			ContentType: a.ContentType, SizeBytes: a.SizeBytes, SHA256: a.SHA256, Engine: a.Engine,
		},
	}
}

// Resource returns the Event as the API shows it.
func (e Event) Resource() v1.Event {
	return v1.Event{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindEvent},
		ID:       e.ID, Job: e.JobName, Task: idPtr(e.TaskID), Worker: idPtr(e.WorkerID),
		Type: e.Type, Reason: e.Reason, Message: e.Message, CreatedAt: v1.NewTime(e.CreatedAt),
	}
}

func idPtr(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
