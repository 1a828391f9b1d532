// Package api holds the HTTP contract of SciMesh, openapi.yaml, which is the
// authority for everything that crosses the wire. From it come, by go generate:
//
//	wire    the bodies and parameters of the worker endpoints, errors, lists
//	server  the strict server interface that the coordinator's handlers fill
//	client  the client that the worker and the command line use
//
// The resources (Job, Task, …) are written by hand, in package v1. The
// tests of package server hold both against the document.
package api

import _ "embed"

// OpenAPI is the document.
//
//go:embed openapi.yaml
var OpenAPI []byte

//go:generate go tool -modfile=../hack/tools/go.mod oapi-codegen -config wire/codegen.yaml openapi.yaml
//go:generate go tool -modfile=../hack/tools/go.mod oapi-codegen -config server/codegen.yaml openapi.yaml
//go:generate go tool -modfile=../hack/tools/go.mod oapi-codegen -config client/codegen.yaml openapi.yaml
