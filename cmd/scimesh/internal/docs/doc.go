// Package docs holds the documentation to the code: its tests check that links
// lead somewhere, that command lines would be accepted, and that settings,
// metrics, endpoints and fields are all described and none is made up. The part of docs/cli.md that
// lists every command is written by
//
//	go test ./cmd/scimesh/internal/docs -update
package docs
