package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxResponse bounds a JSON response in bytes.
const maxResponse = 64 << 20

// sender makes one attempt of a call.
type sender func(ctx context.Context) (*http.Response, error)

// reply is what is left of a response whose body was decoded.
type reply struct {
	status int
	header http.Header
}

// call makes a call that may be repeated and decodes its response into into,
// unless that is nil or the response is empty.
func (c *Client) call(ctx context.Context, operation string, into any, send sender) (r reply, err error) {
	err = c.policy.do(ctx, func() error {
		r, err = c.once(ctx, operation, c.opts.RequestTimeout, into, send)
		return err
	})
	return r, err
}

// once makes one attempt of a call within timeout.
func (c *Client) once(ctx context.Context, operation string, timeout time.Duration, into any, send sender) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	resp, err := c.open(ctx, operation, send)
	if err != nil {
		return reply{}, err
	}
	defer drain(resp)
	r := reply{status: resp.StatusCode, header: resp.Header}
	if into == nil || r.status == http.StatusNoContent {
		return r, nil
	}
	return r, decodeResponse(ctx, operation, resp, into)
}

// open makes one attempt and returns a response of success, whose body the
// caller closes.
func (c *Client) open(ctx context.Context, operation string, send sender) (*http.Response, error) {
	resp, err := send(ctx)
	if err != nil {
		return nil, unreachable(ctx, operation, err)
	}
	if resp.StatusCode >= 300 {
		defer drain(resp)
		return nil, responseError(operation, resp)
	}
	return resp, nil
}

// unreachable explains a call without response: by the end of the caller's
// context, if that was it.
func unreachable(ctx context.Context, operation string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			return fmt.Errorf("%s: %w", operation, cause)
		}
		err = cause
	}
	return &transportError{operation: operation, err: err}
}

func decodeResponse(ctx context.Context, operation string, resp *http.Response, into any) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return unreachable(ctx, operation, fmt.Errorf("the response broke off: %w", err))
	case len(data) > maxResponse:
		return fmt.Errorf("%s: the response exceeds %d bytes", operation, maxResponse)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: the response is not what a coordinator sends: %w", operation, err)
	}
	return nil
}

// drain reads a little of what is left, so that the connection can be used again.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}
