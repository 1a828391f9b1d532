//go:build !linux

package pgcluster

import "syscall"

// endWithOwner does nothing: the next Start adopts the server.
func endWithOwner(*syscall.SysProcAttr) {}
