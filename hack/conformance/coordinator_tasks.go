package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

func (s *coordinatorSuite) claim(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		uri, err := url.Parse(t.Input.URI)
		switch {
		case err != nil || !uri.IsAbs() || uri.Host == "":
			return fmt.Errorf("input.uri %q is not absolute", t.Input.URI)
		case !uuidForm.MatchString(t.ID) || t.Attempt != 1 || t.Name != workload:
			return fmt.Errorf("task %q, attempt %d, workload %q", t.ID, t.Attempt, t.Name)
		case !digestForm.MatchString(t.Input.SHA256):
			return fmt.Errorf("input.sha256 %q", t.Input.SHA256)
		case !timeForm.MatchString(t.Expires):
			return fmt.Errorf("lease_expires_at %q is not UTC with six digits", t.Expires)
		case !bytes.HasPrefix(t.Parameters, []byte("{")):
			return fmt.Errorf("parameters %s are no object", t.Parameters)
		}
		// The task is taken: another worker gets nothing.
		other, err := s.register(ctx, nil)
		if err != nil {
			return err
		}
		again, ok, err := s.claimAs(ctx, other, nil)
		if ok && again.ID == t.ID {
			return errors.New("the same task was given to two workers")
		}
		return err
	})
}

func (s *coordinatorSuite) input(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		a, err := s.worker.send(ctx, http.MethodGet, t.path("/input"), nil)
		if err != nil {
			return err
		}
		if err := a.want(200); err != nil {
			return err
		}
		if got := hex.EncodeToString(sum(a.body)); got != t.Input.SHA256 {
			return fmt.Errorf("the input's SHA-256 is %s, the claim says %s", got, t.Input.SHA256)
		}
		part, err := s.worker.send(ctx, http.MethodGet, t.path("/input"), nil, "Range", "bytes=5-")
		if err != nil {
			return err
		}
		if err := part.want(206); err != nil || !bytes.Equal(part.body, a.body[5:]) {
			return errors.Join(err, fmt.Errorf("the range from byte 5 has %d bytes", len(part.body)))
		}
		denied, err := s.worker.with("").send(ctx, http.MethodGet, t.path("/input"), nil)
		if err != nil {
			return err
		}
		return denied.want(401)
	})
}

func (s *coordinatorSuite) heartbeat(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		before := t.Expires
		for i := range 3 {
			<-time.After(2 * time.Millisecond) // so that a renewal can be told by its time
			a, err := s.worker.post(ctx, t.path("/heartbeat"), t.lease().merge(fields{"progress": float64(i) / 4}))
			if err != nil {
				return err
			}
			var got struct {
				Expires string `json:"lease_expires_at"`
			}
			if err := errors.Join(a.want(200), a.decode(&got)); err != nil {
				return err
			}
			if !timeForm.MatchString(got.Expires) || got.Expires <= before {
				return fmt.Errorf("heartbeat %d moves the lease from %s to %s", i+1, before, got.Expires)
			}
			before = got.Expires
		}
		a, err := s.worker.post(ctx, t.path("/heartbeat"), t.lease().merge(fields{"progress": 2}))
		if err != nil {
			return err
		}
		return a.want(400)
	})
}

// mutations are all calls that change a task, for a lease that is not held.
func (s *coordinatorSuite) mutations(ctx context.Context, t task) map[string]func() (answer, error) {
	manifest := fields{"artifact_id": t.worker, "uri": s.worker.base + "/artifacts/" + t.worker + "/download", "sha256": t.Input.SHA256}
	return map[string]func() (answer, error){
		"heartbeat": func() (answer, error) { return s.worker.post(ctx, t.path("/heartbeat"), t.lease()) },
		"upload": func() (answer, error) {
			return s.worker.send(ctx, http.MethodPut, t.path("/artifacts/x.csv"), strings.NewReader("x"), t.headers()...)
		},
		"result": func() (answer, error) {
			return s.worker.post(ctx, t.path("/result"), t.lease().merge(fields{"result": manifest}))
		},
		"failure": func() (answer, error) {
			return s.worker.post(ctx, t.path("/failure"), t.lease().merge(fields{"error_code": "X", "error_message": "x"}))
		},
		"release": func() (answer, error) { return s.worker.post(ctx, t.path("/release"), t.lease()) },
	}
}

func (s *coordinatorSuite) allConflict(ctx context.Context, t task) error {
	var errs []error
	for name, call := range s.mutations(ctx, t) {
		a, err := call()
		if err == nil {
			err = a.want(409)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *coordinatorSuite) foreign(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		other, err := s.register(ctx, nil)
		if err != nil {
			return err
		}
		foreign, stale := t, t
		foreign.worker = other
		stale.Attempt++
		if err := errors.Join(s.allConflict(ctx, foreign), s.allConflict(ctx, stale)); err != nil {
			return err
		}
		a, err := s.worker.post(ctx, t.path("/heartbeat"), t.lease()) // nothing has changed
		if err != nil {
			return err
		}
		return a.want(200)
	})
}

// artifact is an uploaded file.
type artifact struct {
	ID     string `json:"artifact_id"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size_bytes"`
}

func (s *coordinatorSuite) put(ctx context.Context, t task, body string) (got artifact, err error) {
	a, err := s.worker.send(ctx, http.MethodPut, t.path("/artifacts/partial.csv"), strings.NewReader(body), t.headers()...)
	if err != nil {
		return got, err
	}
	return got, errors.Join(a.want(201), a.decode(&got))
}

func (s *coordinatorSuite) upload(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		const body = "some,partial\r\n"
		first, err := s.put(ctx, t, body)
		if err != nil {
			return err
		}
		if uri, err := url.Parse(first.URI); err != nil || !uri.IsAbs() || first.Size != len(body) || first.SHA256 != hex.EncodeToString(sum([]byte(body))) {
			return fmt.Errorf("uploaded as %+v", first)
		}
		again, err := s.put(ctx, t, body)
		if err != nil || again.ID != first.ID {
			return fmt.Errorf("the same bytes again: %+v, %w", again, err)
		}
		stored, err := s.worker.send(ctx, http.MethodGet, "/artifacts/"+first.ID+"/download", nil)
		if err != nil || string(stored.body) != body {
			return fmt.Errorf("stored %q, %w", stored.body, err)
		}
		other, err := s.put(ctx, t, body+"more\r\n")
		if err == nil && other.SHA256 == first.SHA256 {
			return errors.New("other bytes did not replace the first")
		}
		return err
	})
}

func (s *coordinatorSuite) brokenUpload(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		wrong := strings.Repeat("0", 64)
		a, err := s.worker.send(ctx, http.MethodPut, t.path("/artifacts/x.csv"), strings.NewReader("x"), t.headers("X-Content-SHA256", wrong)...)
		if err != nil {
			return err
		}
		if err := a.want(400); err != nil {
			return err
		}
		if err := s.cutUpload(ctx, t); err != nil {
			return err
		}
		// Nothing of it can complete the task.
		cut := hex.EncodeToString(sum([]byte("cut off")))
		a, err = s.operator.send(ctx, http.MethodGet, "/artifacts?sha256="+cut, nil)
		if err != nil {
			return err
		}
		var list struct{ Items []any }
		if err := errors.Join(a.want(200), a.decode(&list)); err != nil || len(list.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d artifacts of a cut upload", len(list.Items)))
		}
		_, err = s.put(ctx, t, "whole")
		return err
	})
}

// cutUpload announces more bytes than it sends.
func (s *coordinatorSuite) cutUpload(ctx context.Context, t task) error {
	u, err := url.Parse(s.worker.base)
	if err != nil {
		return err
	}
	if u.Scheme != "http" {
		return nil // without TLS a connection is cut just so
	}
	host := u.Host
	if u.Port() == "" {
		host += ":80"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(conn)
	fmt.Fprintf(w, "PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n", u.Path+t.path("/artifacts/cut.csv"), u.Host, s.worker.token)
	for i, h := 0, t.headers(); i < len(h); i += 2 {
		fmt.Fprintf(w, "%s: %s\r\n", h[i], h[i+1])
	}
	fmt.Fprint(w, "\r\ncut off")
	return errors.Join(w.Flush(), conn.Close())
}

func (s *coordinatorSuite) manifest(a artifact) fields {
	return fields{"artifact_id": a.ID, "uri": a.URI, "sha256": a.SHA256, "content_type": "text/csv"}
}

func (s *coordinatorSuite) wrongCompletion(ctx context.Context) error {
	return s.withJob(ctx, 2, func(ctx context.Context, _ string) error {
		id, err := s.register(ctx, nil)
		if err != nil {
			return err
		}
		mine, err := s.await(ctx, id)
		if err != nil {
			return err
		}
		other, err := s.await(ctx, id)
		if err != nil {
			return err
		}
		a, err := s.put(ctx, mine, "mine")
		if err != nil {
			return err
		}
		theirs, err := s.put(ctx, other, "theirs")
		if err != nil {
			return err
		}
		for what, m := range map[string]fields{
			"an artifact of another task": s.manifest(theirs),
			"a worker:// URI":             s.manifest(a).merge(fields{"uri": "worker://here/partial.csv"}),
			"a file:// URI":               s.manifest(a).merge(fields{"uri": "file:///tmp/partial.csv"}),
			"the URI of another artifact": s.manifest(a).merge(fields{"uri": theirs.URI}),
			"another digest":              s.manifest(a).merge(fields{"sha256": theirs.SHA256}),
			"no artifact":                 s.manifest(a).merge(fields{"artifact_id": nil}),
			"an artifact that never was":  s.manifest(a).merge(fields{"artifact_id": id}),
		} {
			got, err := s.worker.post(ctx, mine.path("/result"), mine.lease().merge(fields{"result": m}))
			if err == nil {
				err = got.want(400, 409)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	})
}

func (s *coordinatorSuite) completion(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		earlier, err := s.put(ctx, t, "earlier")
		if err != nil {
			return err
		}
		a, err := s.put(ctx, t, "a,b\r\n")
		if err != nil {
			return err
		}
		done := t.lease().merge(fields{"result": s.manifest(a), "metrics": fields{"elapsed_seconds": 12.4, "processed_rows": 10000}})
		for range 3 {
			got, err := s.worker.post(ctx, t.path("/result"), done)
			if err != nil {
				return err
			}
			if err := got.want(200, 201, 202); err != nil {
				return err
			}
		}
		got, err := s.worker.post(ctx, t.path("/result"), done.merge(fields{"result": s.manifest(earlier)}))
		if err != nil {
			return err
		}
		if err := got.want(409); err != nil {
			return err
		}
		got, err = s.worker.post(ctx, t.path("/failure"), t.lease().merge(fields{"error_code": "X", "error_message": "x"}))
		if err != nil {
			return err
		}
		return got.want(409)
	})
}

func (s *coordinatorSuite) failure(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		for _, bad := range []fields{{"error_code": "not a code!"}, {"error_message": nil}, {"traceback": "x"}} {
			f := t.lease().merge(fields{"error_code": "ValueError", "error_message": "input checksum mismatch"}).merge(bad)
			a, err := s.worker.post(ctx, t.path("/failure"), f)
			if err != nil {
				return err
			}
			if err := a.want(400); err != nil {
				return err
			}
		}
		a, err := s.worker.post(ctx, t.path("/failure"), t.lease().merge(fields{"error_code": "ValueError", "error_message": "input checksum mismatch"}))
		if err != nil {
			return err
		}
		if err := a.want(200, 201, 202); err != nil {
			return err
		}
		if err := s.allConflict(ctx, t); err != nil {
			return fmt.Errorf("after the failure: %w", err)
		}
		again, err := s.await(ctx, t.worker)
		if err == nil && (again.ID != t.ID || again.Attempt != t.Attempt+1) {
			return fmt.Errorf("then came task %s, attempt %d", again.ID, again.Attempt)
		}
		return err
	})
}

func (s *coordinatorSuite) release(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		a, err := s.worker.post(ctx, t.path("/release"), t.lease())
		if err != nil {
			return err
		}
		if err := a.want(200); err != nil {
			return err
		}
		again, err := s.await(ctx, t.worker)
		if err == nil && (again.ID != t.ID || again.Attempt <= t.Attempt) {
			return fmt.Errorf("then came task %s, attempt %d", again.ID, again.Attempt)
		}
		return err
	})
}

// longestWait is how long a lease the suite is willing to let expire.
const longestWait = 15 * time.Second

func (s *coordinatorSuite) expiry(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		var lease struct {
			Seconds float64 `json:"lease_seconds"`
		}
		if err := (answer{request: "claim", body: t.raw}).decode(&lease); err != nil {
			return err
		}
		length := time.Duration(lease.Seconds * float64(time.Second))
		if length == 0 || length > longestWait {
			return fmt.Errorf("%w: a lease lasts %v here", errSkipped, length)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(length + 500*time.Millisecond):
		}
		return s.allConflict(ctx, t)
	})
}

func (s *coordinatorSuite) versioned(ctx context.Context) error {
	a, err := s.worker.post(ctx, "/v1/workers/register", describeWorker(nil))
	if err != nil {
		return err
	}
	return a.want(200)
}

func (s *coordinatorSuite) oversize(ctx context.Context) error {
	return s.withTask(ctx, func(t task) error {
		a, err := s.worker.post(ctx, "/workers/register", describeWorker(fields{"name": strings.Repeat("x", 8<<20)}))
		if err != nil {
			return err
		}
		if err := a.want(400, 413); err != nil {
			return err
		}
		a, err = s.worker.send(ctx, http.MethodPut, t.path("/logs/0"), strings.NewReader(strings.Repeat("x", 65<<10)), t.headers("Content-Type", "text/plain")...)
		if err != nil {
			return err
		}
		return a.want(413)
	})
}
