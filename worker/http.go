package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"scimesh.dev/scimesh/api/client"
	"scimesh.dev/scimesh/api/wire"
)

const (
	maxAnswer = 4 << 20
	// longestTTL bounds what is believed of a lease: more can only come from
	// clocks that disagree.
	longestTTL = 24 * time.Hour
	// uploadStall is longer than stallTimeout: after the last byte the
	// coordinator makes the file durable.
	uploadStall = 2 * time.Minute
)

// httpCoordinator is the Coordinator behind a URL.
type httpCoordinator struct {
	base  *url.URL
	api   client.ClientInterface
	files *http.Client
	clean sanitizer
}

func newHTTPCoordinator(cfg Config) (*httpCoordinator, error) {
	base, err := url.Parse(strings.TrimSuffix(cfg.CoordinatorURL, "/") + "/")
	if err != nil {
		return nil, err
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport(2*cfg.Concurrency + 2)
	}
	auth := &authTransport{base: transport, home: originOf(base), token: cfg.Token}
	api, err := client.NewClient(base.String(), client.WithHTTPClient(&http.Client{Transport: auth, CheckRedirect: stayHere}))
	if err != nil {
		return nil, err
	}
	return &httpCoordinator{
		base: base, api: api, clean: newSanitizer(cfg.Token),
		files: &http.Client{Transport: auth, CheckRedirect: followDownloads},
	}, nil
}

func (c *httpCoordinator) Register(ctx context.Context, r Registration) (Registered, error) {
	body := wire.RegisterRequest{
		Name: r.Name, Engine: r.Engine, Golden: r.Golden, Capabilities: r.Capabilities, CPUCount: int32(r.CPUCount), MemoryMB: r.MemoryMB,
	}
	if r.ID != uuid.Nil {
		body.WorkerID = &r.ID
	}
	var got wire.RegisterResponse
	_, err := c.call("register", &got, func() (*http.Response, error) {
		return c.api.RegisterWorker(ctx, body)
	})
	return Registered{ID: got.WorkerID, HeartbeatInterval: time.Duration(got.HeartbeatIntervalSeconds) * time.Second}, err
}

func (c *httpCoordinator) Claim(ctx context.Context, r ClaimRequest) (*Assignment, error) {
	var got wire.ClaimedTask
	header, err := c.call("claim", &got, func() (*http.Response, error) {
		return c.api.ClaimTask(ctx, wire.ClaimRequest{
			WorkerID: r.WorkerID, Capabilities: r.Capabilities,
			MaxConcurrency: int32(r.MaxConcurrency), WaitSeconds: int32(r.Wait / time.Second),
		})
	})
	if err != nil || got.TaskID == uuid.Nil {
		return nil, err
	}
	var further []Input
	for _, in := range got.Inputs {
		further = append(further, Input{URI: in.URI, SHA256: in.SHA256, Size: in.SizeBytes})
	}
	return &Assignment{
		Lease: Lease{WorkerID: r.WorkerID, TaskID: got.TaskID, Attempt: got.Attempt},
		TTL:   leaseTTL(got.LeaseSeconds, got.LeaseExpiresAt.Time, header), Workload: got.Workload, Parameters: got.Parameters,
		InputURI: got.Input.URI, InputSHA256: got.Input.SHA256, InputSize: got.Input.SizeBytes, Further: further,
	}, nil
}

func (c *httpCoordinator) Heartbeat(ctx context.Context, l Lease, progress float64) (Renewal, error) {
	body := wire.HeartbeatRequest{WorkerID: l.WorkerID, Attempt: l.Attempt}
	if progress >= 0 {
		body.Progress = &progress
	}
	var got wire.HeartbeatResponse
	header, err := c.call("heartbeat", &got, func() (*http.Response, error) {
		return c.api.HeartbeatTask(ctx, l.TaskID, body)
	})
	return Renewal{TTL: leaseTTL(got.LeaseSeconds, got.LeaseExpiresAt.Time, header), Cancel: got.Cancel}, err
}

func (c *httpCoordinator) Upload(ctx context.Context, l Lease, f Upload) (Artifact, error) {
	file, err := f.Open()
	if err != nil {
		return Artifact{}, err
	}
	ctx, dog := watch(ctx, uploadStall)
	defer dog.stop()
	sized := func(_ context.Context, req *http.Request) error {
		if req.ContentLength = f.SizeBytes; f.SizeBytes == 0 {
			req.Body = http.NoBody
			return file.Close()
		}
		return nil
	}
	params := &wire.UploadTaskArtifactParams{XWorkerID: l.WorkerID, XTaskAttempt: l.Attempt, XContentSHA256: &f.SHA256}
	var got wire.UploadedArtifact
	_, err = c.call("upload", &got, func() (*http.Response, error) {
		return c.api.UploadTaskArtifactWithBody(ctx, l.TaskID, f.Filename, params, f.ContentType, watchedReader{file, dog}, sized)
	})
	return Artifact{ID: got.ArtifactID.String(), URI: got.URI, SHA256: got.SHA256, SizeBytes: got.SizeBytes}, err
}

func (c *httpCoordinator) Complete(ctx context.Context, l Lease, m Completion) error {
	id, err := uuid.Parse(m.Artifact.ID)
	if err != nil {
		return fmt.Errorf("complete: artifact id: %w", err)
	}
	metrics, err := json.Marshal(m.Metrics)
	if err != nil {
		return fmt.Errorf("complete: metrics: %w", err)
	}
	_, err = c.call("complete", nil, func() (*http.Response, error) {
		return c.api.CompleteTask(ctx, l.TaskID, wire.ResultRequest{
			WorkerID: l.WorkerID, Attempt: l.Attempt, Metrics: metrics,
			Result: wire.ResultManifest{ArtifactID: id, URI: m.Artifact.URI, SHA256: m.Artifact.SHA256, ContentType: m.ContentType},
		})
	})
	return err
}

func (c *httpCoordinator) Fail(ctx context.Context, l Lease, f Failure) error {
	_, err := c.call("fail", nil, func() (*http.Response, error) {
		return c.api.FailTask(ctx, l.TaskID, wire.FailureRequest{
			WorkerID: l.WorkerID, Attempt: l.Attempt, ErrorCode: f.Code, ErrorMessage: f.Message, Retryable: &f.Retryable,
		})
	})
	return err
}

func (c *httpCoordinator) Release(ctx context.Context, l Lease) error {
	_, err := c.call("release", nil, func() (*http.Response, error) {
		return c.api.ReleaseTask(ctx, l.TaskID, wire.ReleaseRequest{WorkerID: l.WorkerID, Attempt: l.Attempt})
	})
	return err
}

func (c *httpCoordinator) AppendLog(ctx context.Context, l Lease, chunk LogChunk) error {
	params := &wire.AppendTaskLogParams{XWorkerID: l.WorkerID, XTaskAttempt: l.Attempt, XLogFinal: &chunk.Final}
	_, err := c.call("append_log", nil, func() (*http.Response, error) {
		return c.api.AppendTaskLogWithBody(ctx, l.TaskID, int32(chunk.Seq), params,
			"text/plain; charset=utf-8", bytes.NewReader(chunk.Body))
	})
	return err
}

// call sends a request, decodes a successful answer into out, if that is not
// nil, and gives any other an error.
func (c *httpCoordinator) call(operation string, out any, send func() (*http.Response, error)) (http.Header, error) {
	resp, err := send()
	if err != nil {
		return nil, c.unanswered(operation, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return nil, c.statusError(operation, resp)
	}
	body := io.LimitReader(resp.Body, maxAnswer)
	if out != nil && resp.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(body).Decode(out); err != nil {
			return nil, c.unanswered(operation, fmt.Errorf("the answer is not what a coordinator sends: %w", err))
		}
	}
	_, _ = io.Copy(io.Discard, body) // so that the connection serves again
	return resp.Header, nil
}

// unanswered is the error of a request that brought no answer, or none that can
// be read. Its text may repeat what a server sent, and that what we sent.
func (c *httpCoordinator) unanswered(operation string, err error) error {
	return &unavailableError{operation, c.clean.line(withoutURL(err).Error(), maxFailureMessage), err}
}

// statusError reads the error of an answer. The body may be of any shape: a
// proxy may have written it.
func (c *httpCoordinator) statusError(operation string, resp *http.Response) *StatusError {
	e := &StatusError{
		Operation: operation, Status: resp.StatusCode,
		RequestID: c.clean.line(resp.Header.Get("X-Request-ID"), 128), RetryAfter: retryAfter(resp.Header),
	}
	var body wire.ErrorResponse
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&body) == nil {
		e.Code = c.clean.line(string(body.Error.Code), maxFailureCode)
		e.Message = c.clean.line(body.Error.Message, maxFailureMessage)
	}
	return e
}

// retryAfter reads Retry-After in either form, the date by the server's own clock.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return min(time.Duration(n), retryAfters/time.Second) * time.Second
	}
	at, err1 := http.ParseTime(v)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// leaseTTL returns how long a lease lasts: what the answer says, or else the
// time to its end by the server's own clock, so that this machine's does not
// matter; 0 if the answer does not tell. Date has no fraction: up to a second
// of the difference is not there.
func leaseTTL(seconds float64, expires time.Time, h http.Header) time.Duration {
	if seconds > 0 && seconds <= longestTTL.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	ttl := expires.Sub(now)
	if ttl <= 0 || ttl > longestTTL {
		return 0
	}
	return ttl - min(time.Second, ttl/3)
}
