// Package server is the HTTP API of a coordinator: handlers for the contract
// in openapi.yaml, over the store, the artifact store and the workloads.
//
// A handler records what a user wants or what a worker did, and decides nothing
// else: planning, reducing, expiring and cleaning up are the reconcilers'.
//
// # The way of a request
//
//	ServeHTTP   request id, deadlines, recovery from panics, access log, metrics,
//	            404 and 405 in the shape of every error
//	admit       token and role, media type, size of the body (table routes)
//	generated   path, query and header parameters, JSON
//	handlers    one file a subject; they return typed responses or an error
//	respond     one table turns errors into statuses and codes
//
// What a client sends is bounded everywhere: JSON and text in size and in time,
// streams by their progress. What a client is told never holds a text of the
// database or a path of this machine, and no token is ever logged.
package server
