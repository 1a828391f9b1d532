package tanimoto

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of pages that a tile's columns are best read from: with
// small ones nearly every access to another column would miss the TLB.
const hugePage = 2 << 20

// allocate returns zeroed words and asks for huge pages, which is no more than a
// hint: where the system refuses, small pages serve.
func allocate(words int) []uint64 {
	if words*8 < 2*hugePage {
		return make([]uint64, words)
	}
	arena := make([]uint64, words)
	address := uintptr(unsafe.Pointer(unsafe.SliceData(arena)))
	skip := int(-address & (hugePage - 1))
	length := (words*8 - skip) &^ (hugePage - 1)
	inner := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(arena)), skip)), length)
	_ = syscall.Madvise(inner, syscall.MADV_HUGEPAGE)
	return arena
}
