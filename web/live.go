package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// maxWatchers bounds the streams that are open at once.
const maxWatchers = 1000

// keepAlive is how often a stream that has nothing to say shows that it lives.
const keepAlive = 15 * time.Second

// live tells a page when something has changed, as server-sent events: "hello"
// at the beginning, "change", and "trouble" while the database does not answer.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) error {
	job := uuid.Nil
	if topic := r.URL.Query().Get("topic"); topic != "all" {
		id, err := uuid.Parse(topic)
		if err != nil {
			return d.nowhere(w, r)
		}
		job = id
	}
	if !d.watchers.take() {
		return &pageError{status: http.StatusServiceUnavailable, title: "Too many viewers", message: "Pages are refreshed less often."}
	}
	defer d.watchers.give()
	signals, stop := d.pulses.watch(job)
	defer stop()

	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a writer without deadlines is a test's
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for event := "retry: 2000\nevent: hello\ndata:\n\n"; ; {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := fmt.Fprint(w, event); err != nil {
			return nil // the page was closed
		}
		if err := control.Flush(); err != nil {
			return nil // the page was closed
		}
		select {
		case s := <-signals:
			event = "event: change\ndata:\n\n"
			if s == trouble {
				event = "event: trouble\ndata:\n\n"
			}
		case <-alive.C:
			if d.sessions.find(r) != nil {
				return nil // signed out; the page finds out when it asks again
			}
			event = ":\n\n"
		case <-r.Context().Done():
			return nil
		case <-d.pulses.closed:
			return nil
		}
	}
}
