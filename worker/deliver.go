package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"time"

	"go.uber.org/zap"
)

const (
	answerTimeout    = 30 * time.Second
	maxUploadsOfFile = 3 // that arrive as other bytes
)

// deliver brings what was computed, or that it failed, to the coordinator. It
// repeats as long as nobody answers: finished work is not thrown away.
func (t *task) deliver(ctx context.Context, l lives) error {
	if t.state.Stage == stageComputed {
		if err := t.upload(ctx); err != nil {
			return err
		}
	}
	t.tlog.close()
	if t.state.Stage == stageUploaded {
		// A heartbeat that meets the completion is told that the lease has
		// ended; the completion's own answer is the one that counts.
		if err := t.complete(l.task); err != nil {
			return err
		}
	}
	if t.state.Stage == stageFailed {
		return t.report(l.task)
	}
	return nil
}

// upload streams the result file and records its artifact, or a failure.
func (t *task) upload(ctx context.Context) error {
	out := t.state.Output
	sum, size, err := hashFile(t.path(outputName))
	if err != nil || sum != out.SHA256 || size != out.SizeBytes {
		return t.fail(failuref(codeLocalStorage, "the result file was damaged before it could be delivered"))
	}
	file := Upload{
		Filename: filename(out.ContentType), ContentType: out.ContentType, SHA256: sum, SizeBytes: size,
		Open: func() (io.ReadCloser, error) { return os.Open(t.path(outputName)) },
	}
	var artifact Artifact
	for damaged := 0; ; {
		err = retry(ctx, t.log, "upload", func(ctx context.Context) (err error) {
			artifact, err = t.coord.Upload(ctx, t.state.Lease, file)
			return err
		})
		if err == nil && artifact.SHA256 != sum {
			if damaged++; damaged < maxUploadsOfFile {
				continue
			}
			err = fmt.Errorf("%w: the coordinator received other bytes than were sent", ErrRefused)
		}
		break
	}
	if err != nil {
		return t.undeliverable(ctx, err)
	}
	t.tlog.Logf("result uploaded: %d bytes, sha256 %s", size, sum)
	return t.record(func(s *taskState) { s.Stage, s.Artifact = stageUploaded, &artifact })
}

// complete ends the attempt with its artifact.
func (t *task) complete(ctx context.Context) error {
	c := Completion{Artifact: *t.state.Artifact, ContentType: t.state.Output.ContentType, Metrics: t.state.Output.Metrics}
	err := retry(ctx, t.log, "complete", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		return t.coord.Complete(ctx, t.state.Lease, c)
	})
	if err != nil {
		return t.undeliverable(ctx, err)
	}
	return nil
}

// undeliverable turns a result that will never be accepted into a failure, and
// passes on the reasons for which a task just ends.
func (t *task) undeliverable(ctx context.Context, err error) error {
	if ctx.Err() != nil || leaseGone(err) {
		return err
	}
	return t.fail(failuref(codeDelivery, "%v", err))
}

// report ends the attempt with its failure.
func (t *task) report(ctx context.Context) error {
	return retry(ctx, t.log, "fail", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		return t.coord.Fail(ctx, t.state.Lease, *t.state.Failure)
	})
}

// release hands the task back, trying for a short while.
func (t *task) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	return retry(ctx, t.log, "release", func(ctx context.Context) error {
		return t.coord.Release(ctx, t.state.Lease)
	})
}

// finish clears up after run returned err: it hands back what is to be handed
// back and removes or keeps the folder.
func (t *task) finish(l lives, err error) {
	log := t.log.With(zap.String("operation", "finish"))
	switch {
	case err == nil && t.state.Stage == stageFailed:
		log.Info("task failure reported", zap.String("code", t.state.Failure.Code))
	case err == nil:
		log.Info("task completed", zap.String("sha256", t.state.Output.SHA256), zap.Any("metrics", t.state.Output.Metrics))
	case l.process.Err() != nil:
		t.leave()
		return
	case errors.Is(err, errDrained), errors.Is(err, errCancelled), machineFault(err):
		released := t.release(l.process)
		if released != nil && !leaseGone(released) {
			log.Warn("task not handed back", zap.String("reason", err.Error()), fault(released))
			if errors.Is(err, errDrained) {
				t.leave()
				return
			}
			break
		}
		log.Info("task handed back", zap.String("reason", err.Error()))
	case leaseGone(err), errors.Is(err, errLeaseExpired):
		log.Info("task dropped", zap.String("reason", err.Error()))
	default:
		log.Error("task dropped", fault(err))
	}
	t.remove()
}

// leave keeps the folder for the next start. That this process ended is not
// held against the task.
func (t *task) leave() {
	t.log.Info("task left for the next start", zap.String("operation", "finish"), zap.String("stage", string(t.state.Stage)))
	if t.busy == nil || t.state.Stage != stageFetched {
		return
	}
	if err := t.record(func(s *taskState) { s.Starts-- }); err != nil {
		t.log.Warn("task state not written", zap.String("operation", "finish"), fault(err))
	}
}

// filename names a result after its media type.
func filename(contentType string) string {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	ext := map[string]string{
		"text/csv": ".csv", "text/tab-separated-values": ".tsv", "application/json": ".json", "text/plain": ".txt",
	}[mediaType]
	if ext == "" {
		ext = ".bin"
	}
	return "partial" + ext
}
