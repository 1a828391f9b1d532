// Package client speaks to a coordinator: for the worker, the command line,
// and other programs.
//
// A [Client] adds to the generated [Raw] what every caller needs: one error
// type with the coordinator's code, message and request id; a time limit on
// every call, and on streams a limit on the time without a byte; retries with
// jitter, of calls that may be repeated; uploads and downloads of bounded
// memory with progress, resumption and checksums.
//
// The bearer token goes to the coordinator's origin (scheme, host and port)
// alone. It is added as each request leaves, so that no redirect and no URI that
// the coordinator names can carry it elsewhere.
package client
