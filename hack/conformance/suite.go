package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// check is one promise of the contract.
type check struct {
	name string
	run  func(ctx context.Context) error
}

// errSkipped is the result of a check that cannot be made here.
var errSkipped = errors.New("skipped")

// report runs checks in order, prints a line for each, and returns how many passed and failed.
func report(ctx context.Context, out io.Writer, checks []check) (passed, failed int) {
	for _, c := range checks {
		err := c.run(ctx)
		switch {
		case err == nil:
			passed++
			fmt.Fprintf(out, "ok    %s\n", c.name)
		case errors.Is(err, errSkipped):
			fmt.Fprintf(out, "skip  %s: %v\n", c.name, err)
		default:
			failed++
			fmt.Fprintf(out, "FAIL  %s\n      %v\n", c.name, err)
		}
	}
	return passed, failed
}
