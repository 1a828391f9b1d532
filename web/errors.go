package web

import (
	"errors"
	"net/http"

	"go.uber.org/zap"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// pageError is what a person is told instead of a page.
type pageError struct {
	status               int
	title, message, hint string
}

func (e *pageError) Error() string { return e.title + ": " + e.message }

func notFound(kind, name string) error {
	return &pageError{status: http.StatusNotFound, title: "Not found", message: "There is no " + kind + " " + v1.Quote(name) + ".",
		hint: "It may have been deleted."}
}

// missing turns the store's not-found error into one that names the object.
func missing(err error, kind, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return notFound(kind, name)
	}
	return err
}

// classify is what a person is told of an error. No text of another layer is in it.
func classify(err error) *pageError {
	var page *pageError
	var invalid *v1.InvalidError
	var fieldError *store.FieldError
	switch {
	case errors.As(err, &page):
		return page
	case errors.As(err, &invalid):
		return &pageError{status: http.StatusBadRequest, title: "Not understood", message: invalid.Error()}
	case errors.As(err, &fieldError):
		return &pageError{status: http.StatusBadRequest, title: "Not understood", message: fieldError.Error()}
	case errors.Is(err, store.ErrNotFound):
		return &pageError{status: http.StatusNotFound, title: "Not found", message: "It may have been deleted."}
	case errors.Is(err, store.ErrConflict):
		return &pageError{status: http.StatusConflict, title: "Not possible now", message: "Something else changed it at the same time. Load the page again."}
	case errors.Is(err, store.ErrInvalid):
		return &pageError{status: http.StatusBadRequest, title: "Not understood", message: "The request holds a value that cannot be used."}
	case errors.Is(err, store.ErrUnavailable):
		return &pageError{status: http.StatusServiceUnavailable, title: "Database unavailable",
			message: "The coordinator cannot reach its database. Workers go on with what they have; the page comes back by itself."}
	default:
		return &pageError{status: http.StatusInternalServerError, title: "Internal error", message: "The coordinator's log says more."}
	}
}

// fail answers with an error page.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := classify(err)
	if e.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		d.log.Error("page failed", zap.String("operation", r.Pattern), zap.Error(err))
	}
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	p := page{Title: e.title, Data: struct{ Title, Message, Hint string }{e.title, e.message, e.hint}, status: e.status}
	if err := d.render(w, r, "error", p); err != nil {
		d.log.Error("error page failed", zap.Error(err))
		http.Error(w, e.title, e.status)
	}
}
