package server

import (
	"net/http"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

// respond is a response that writes itself: files, streams, metrics.
type respond func(w http.ResponseWriter) error

// VisitGetTaskInputResponse writes the response.
func (f respond) VisitGetTaskInputResponse(w http.ResponseWriter) error { return f(w) }

// VisitDownloadArtifactResponse writes the response.
func (f respond) VisitDownloadArtifactResponse(w http.ResponseWriter) error { return f(w) }

// VisitGetJobResultResponse writes the response.
func (f respond) VisitGetJobResultResponse(w http.ResponseWriter) error { return f(w) }

// VisitGetJobRejectsResponse writes the response.
func (f respond) VisitGetJobRejectsResponse(w http.ResponseWriter) error { return f(w) }

// VisitGetTaskLogResponse writes the response.
func (f respond) VisitGetTaskLogResponse(w http.ResponseWriter) error { return f(w) }

// VisitListJobsResponse writes the response.
func (f respond) VisitListJobsResponse(w http.ResponseWriter) error { return f(w) }

// VisitGetMetricsResponse writes the response.
func (f respond) VisitGetMetricsResponse(w http.ResponseWriter) error { return f(w) }

// resource is a row that the API shows as T.
type resource[T any] interface{ Resource() T }

// listOf shows a page of rows.
func listOf[T any, R resource[T]](kind string, l store.List[R]) v1.List[T] {
	items := make([]T, len(l.Items))
	for i, row := range l.Items {
		items[i] = row.Resource()
	}
	return v1.NewList(kind, items, l.Continue)
}
