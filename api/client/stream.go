package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// WatchJobs yields the Jobs that match, then SYNCED, then changes as they
// happen. It ends with an error, ErrUnavailable if the connection was lost, or
// when ctx does; the caller may watch again and sees every Job as ADDED again.
// Heartbeats are kept to itself.
func (c *Client) WatchJobs(ctx context.Context, p wire.ListJobsParams) iter.Seq2[v1.JobWatchEvent, error] {
	const operation = "watch jobs"
	watch := true
	p.Watch, p.Limit, p.Continue = &watch, nil, nil
	return func(yield func(v1.JobWatchEvent, error) bool) {
		ctx, idle := withIdleTimeout(ctx, c.opts.IdleTimeout)
		defer idle.stop()
		resp, err := c.open(ctx, operation, func(ctx context.Context) (*http.Response, error) { return c.raw.ListJobs(ctx, &p) })
		if err != nil {
			yield(v1.JobWatchEvent{}, err)
			return
		}
		defer resp.Body.Close()
		lines := json.NewDecoder(bufio.NewReader(&touching{resp.Body, idle}))
		for {
			event, err := nextEvent(ctx, operation, lines)
			if event.Type == v1.WatchHeartbeat && err == nil {
				continue
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

func nextEvent(ctx context.Context, operation string, lines *json.Decoder) (v1.JobWatchEvent, error) {
	var event v1.JobWatchEvent
	if err := lines.Decode(&event); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the coordinator ended the stream")
		}
		return v1.JobWatchEvent{}, unreachable(ctx, operation, err)
	}
	if event.Type == v1.WatchError && event.Error != nil {
		return event, &Error{Operation: operation, Status: http.StatusServiceUnavailable, Code: wire.ErrorCode(event.Error.Code), Message: event.Error.Message}
	}
	return event, nil
}

// LogStream is the log of one attempt. Reading it ends with io.EOF only at
// its proper end; a stream that was cut ends with another error, and can be
// resumed at the offset reached.
type LogStream struct {
	io.ReadCloser
	// Attempt is the attempt whose log this is.
	Attempt int32
}

// TaskLog reads the log of a task, by id or name, from a byte offset. Attempt
// 0 is the latest. With follow it waits for more until the log has ended.
func (c *Client) TaskLog(ctx context.Context, task string, attempt int32, offset int64, follow bool) (*LogStream, error) {
	operation := "read the log of task " + task
	params := wire.GetTaskLogParams{Attempt: optional(attempt), Offset: optional(offset), Follow: optional(follow)}
	var resp *http.Response
	err := c.policy.do(ctx, func() (err error) {
		resp, err = c.open(ctx, operation, func(ctx context.Context) (*http.Response, error) { return c.raw.GetTaskLog(ctx, task, &params) }) //nolint:bodyclose // the caller of TaskLog closes it
		return err
	})
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(resp.Header.Get("X-Task-Attempt"), 10, 32)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: the response does not name the attempt", operation), resp.Body.Close())
	}
	return &LogStream{ReadCloser: resp.Body, Attempt: int32(n)}, nil
}
