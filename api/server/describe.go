package server

import (
	"errors"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
)

// describe names the object of a call in the error that the client is told.
func describe(err error, kind, name string) error {
	var phase *store.PhaseError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notFound(kind, name)
	case errors.As(err, &phase):
		return apiErrorf(wire.CodeConflict, "%s %s is %s", kind, v1.Quote(name), phase.Phase)
	}
	return err
}

func notFound(kind, name string) *apiError {
	return apiErrorf(wire.CodeNotFound, "%s %s not found", kind, v1.Quote(name))
}
