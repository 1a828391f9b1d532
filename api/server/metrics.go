package server

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the server's own, beside those of others in the same registry.
type metrics struct {
	shown    http.Handler // the whole registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		shown: promhttp.HandlerFor(r, promhttp.HandlerOpts{}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scimesh_http_requests_total", Help: "Requests by route, method and status; 499 is a client that left.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "scimesh_http_request_duration_seconds", Help: "Time from the header of a request to the end of its response. Claims include their wait.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "scimesh_http_requests_in_flight", Help: "Requests being served.",
		}),
	}
	r.MustRegister(m.requests, m.duration, m.inFlight)
	return m
}

// observe counts a request. Routes are those of the table and methods those of
// HTTP, so that no client can make up label values.
func (m *metrics) observe(pattern, method string, status int, took time.Duration) {
	_, path, _ := strings.Cut(pattern, " ")
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		method = "other"
	}
	if path == "" {
		path = "none"
	}
	m.requests.WithLabelValues(path, method, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(path, method).Observe(took.Seconds())
}
