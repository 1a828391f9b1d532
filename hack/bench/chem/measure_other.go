//go:build !unix

package main

import (
	"testing"
	"time"
)

var began = time.Now()

// processorTime is the time since the start, where the system tells no better.
func processorTime() time.Duration { return time.Since(began) }

// allocations counts the allocations of one call.
func allocations(f func()) float64 { return testing.AllocsPerRun(1, f) }
