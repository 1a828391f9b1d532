package pgcluster

import "syscall"

// endWithOwner asks the kernel to begin a fast shutdown when the owner dies.
func endWithOwner(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
