package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// fault is something that the API finds wrong with a Job.
type fault struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// posted is what the API answers to a new Job.
type posted struct {
	created bool // or would be
	name    string
	faults  []fault
}

// postJob creates a Job through the API, or with dryRun asks whether it would be.
func (d *Dashboard) postJob(r *http.Request, job map[string]any, dryRun bool) (posted, error) {
	body, err := json.Marshal(job)
	if err != nil {
		return posted{}, err
	}
	query := ""
	if dryRun {
		query = "dryRun=All"
	}
	req := d.apiRequest(r, http.MethodPost, "/jobs", query)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Del("Content-Encoding")
	answer := &captured{header: http.Header{}}
	d.api.ServeHTTP(answer, req)
	switch {
	case answer.status == http.StatusCreated:
		var made v1.Job
		if err := json.Unmarshal(answer.body.Bytes(), &made); err != nil {
			return posted{}, fmt.Errorf("answer to a new job: %w", err)
		}
		return posted{created: true, name: made.Metadata.Name}, nil
	case answer.status == http.StatusServiceUnavailable:
		return posted{}, fmt.Errorf("create job: %w", store.ErrUnavailable)
	case answer.status >= http.StatusInternalServerError:
		return posted{}, fmt.Errorf("create job: the API answered %d", answer.status)
	}
	var refused struct {
		Error struct {
			Message string  `json:"message"`
			Details []fault `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer.body.Bytes(), &refused); err != nil {
		return posted{}, fmt.Errorf("answer to a new job: %w", err)
	}
	faults := refused.Error.Details
	if len(faults) == 0 {
		faults = []fault{{Message: refused.Error.Message}}
	}
	return posted{faults: faults}, nil
}

// captured keeps a small answer of the API.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the headers of the answer.
func (c *captured) Header() http.Header { return c.header }

// WriteHeader begins the answer.
func (c *captured) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

// Write adds to the answer.
func (c *captured) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.body.Write(p)
}

// tell puts each fault at its field.
func (v *newView) tell(faults []fault) {
	places := map[string]*formField{}
	for i := range v.Parameters {
		places["spec.parameters."+v.Parameters[i].Name] = &v.Parameters[i]
	}
	for _, fields := range [][]formField{v.Layout, v.Limits} {
		for i := range fields {
			places["spec."+fields[i].Name] = &fields[i]
		}
	}
	for _, f := range faults {
		place := places[f.Field]
		switch {
		case f.Field == "metadata.name" || f.Field == "" && strings.HasPrefix(f.Message, "job ") && strings.HasSuffix(f.Message, "exists already"):
			place = &v.Name
		case strings.HasPrefix(f.Field, "metadata.labels"):
			place = &v.Labels
		case place == nil && strings.HasPrefix(f.Field, "spec.input"):
			place = &v.Input
		}
		if place != nil {
			place.Problems = append(place.Problems, f.Message)
			continue
		}
		message := f.Message
		if f.Field != "" {
			message = f.Field + ": " + message
		}
		v.Problems = append(v.Problems, message)
	}
}
