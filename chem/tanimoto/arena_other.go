//go:build !linux

package tanimoto

func allocate(words int) []uint64 { return make([]uint64, words) }
