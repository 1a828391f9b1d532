package server

import (
	"bytes"
	"context"
	"net/http"

	"scimesh.dev/scimesh/api"
	"scimesh.dev/scimesh/api/wire"
)

// GetHealth says that the process serves.
func (s handlers) GetHealth(context.Context, GetHealthRequestObject) (GetHealthResponseObject, error) {
	return GetHealth200JSONResponse{Status: "ok"}, nil
}

// GetHealthShort is GetHealth.
func (s handlers) GetHealthShort(context.Context, GetHealthShortRequestObject) (GetHealthShortResponseObject, error) {
	return GetHealthShort200JSONResponse{Status: "ok"}, nil
}

// GetReadiness says whether the process can do its work. A draining one
// cannot, so that a load balancer turns to others.
func (s handlers) GetReadiness(ctx context.Context, _ GetReadinessRequestObject) (GetReadinessResponseObject, error) {
	if s.draining.Err() != nil {
		e := apiErrorf(wire.CodeUnavailable, "the coordinator stops")
		e.retryAfter = 5
		return nil, e
	}
	if err := s.store.Ping(ctx); err != nil {
		return nil, err
	}
	return GetReadiness200JSONResponse{Status: "ok"}, nil
}

// GetMetrics shows all metrics of the process.
func (s handlers) GetMetrics(ctx context.Context, _ GetMetricsRequestObject) (GetMetricsResponseObject, error) {
	r := exchangeOf(ctx).r
	return respond(func(w http.ResponseWriter) error {
		s.metrics.shown.ServeHTTP(w, r)
		return nil
	}), nil
}

// GetVersion tells the coordinator's version.
func (s handlers) GetVersion(context.Context, GetVersionRequestObject) (GetVersionResponseObject, error) {
	return GetVersion200JSONResponse(s.cfg.Version), nil
}

// GetOpenAPI returns the contract.
func (s handlers) GetOpenAPI(context.Context, GetOpenAPIRequestObject) (GetOpenAPIResponseObject, error) {
	return GetOpenAPI200ApplicationVndOaiOpenapiResponse{Body: bytes.NewReader(api.OpenAPI), ContentLength: int64(len(api.OpenAPI))}, nil
}
