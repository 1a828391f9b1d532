//go:build unix

package main

import (
	"syscall"
	"testing"
	"time"
)

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocations counts the allocations of one call.
func allocations(f func()) float64 { return testing.AllocsPerRun(1, f) }
