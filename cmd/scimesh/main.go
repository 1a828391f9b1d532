// Command scimesh is SciMesh in one binary: the coordinator, the worker, the
// private platform (`scimesh up`) and the client.
package main

import (
	"os"

	"scimesh.dev/scimesh/cmd/scimesh/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
