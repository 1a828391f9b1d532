package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"scimesh.dev/scimesh/api/client"
)

// explain turns an error of a call into what a user can act on. What it
// returned before, it leaves alone.
func (s *session) explain(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &exitError{code: ExitError, err: s.explained(err)}
}

func (s *session) explained(err error) error {
	var answer *client.Error
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &answer):
		return s.explainAnswer(answer, err)
	case errors.Is(err, client.ErrUnavailable):
		return s.explainSilence(err)
	}
	return err
}

// explainSilence is for a coordinator that gave no answer.
func (s *session) explainSilence(err error) error {
	cause := err
	if call, ok := errors.AsType[*url.Error](err); ok {
		cause = call.Err // the address is told once
	}
	return fmt.Errorf("no answer from the coordinator at %s: %w\n"+
		"Is it running? Another one is named by --server, SCIMESH_COORDINATOR_URL or a client context", s.target.Server, cause)
}

func (s *session) explainAnswer(answer *client.Error, err error) error {
	switch {
	case errors.Is(answer, client.ErrUnauthorized) && s.target.Token == "":
		return fmt.Errorf("%w\nThe coordinator at %s wants a token, and there is none: set SCIMESH_TOKEN or use a client context", err, s.target.Server)
	case errors.Is(answer, client.ErrUnauthorized):
		return fmt.Errorf("%w\nThe coordinator at %s does not know this token", err, s.target.Server)
	case errors.Is(answer, client.ErrForbidden):
		return fmt.Errorf("%w\nThe token opens the workers' endpoints alone", err)
	case answer.Code == "":
		return fmt.Errorf("%w\nIs a SciMesh coordinator at %s?", err, s.target.Server)
	case len(answer.Details) > 1:
		return errors.New(answer.Operation + ":" + details(answer))
	}
	return err
}

// details are the faults of a request, one a line.
func details(answer *client.Error) string {
	var b strings.Builder
	for _, d := range answer.Details {
		b.WriteString("\n  " + d.Field + ": " + d.Message)
	}
	return b.String()
}
