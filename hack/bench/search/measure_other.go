//go:build !linux

package main

import "time"

var start = time.Now()

// processorTime is the time gone by: elsewhere than on Linux, keep the machine idle.
func processorTime() time.Duration { return time.Since(start) }

func processTime() time.Duration { return time.Since(start) }

func allocateRows(words int) []uint64 { return make([]uint64, words) }
