// Package v1 holds the resources of the SciMesh API, group version
// scimesh.dev/v1: their Go types, defaulting and validation.
//
// The package is pure: it reads no clock, no environment and no database, and
// imports nothing else of SciMesh. What a field means is said here once; the
// OpenAPI document, the client and the server all use these types.
package v1
