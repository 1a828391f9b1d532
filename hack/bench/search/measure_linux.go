package main

import (
	"syscall"
	"time"
	"unsafe"
)

// rusageThread asks for the times of the calling thread.
const rusageThread = 1

// processorTime is what the thread has used.
func processorTime() time.Duration { return usage(rusageThread) }

// processTime is what all threads have used.
func processTime() time.Duration { return usage(syscall.RUSAGE_SELF) }

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err) // only a wrong argument can be refused
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocateRows returns words in huge pages if the system gives them: from small
// ones memory may be read at a tenth of its speed, and R would flatter.
func allocateRows(words int) []uint64 {
	rows := make([]uint64, words)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), words*8)
	const page = 4096
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) & (page - 1))
	if skip < len(bytes) {
		_ = syscall.Madvise(bytes[skip:], syscall.MADV_HUGEPAGE) // a hint
	}
	return rows
}
