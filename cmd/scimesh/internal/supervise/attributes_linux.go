package supervise

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C
// reaches the supervisor alone, and has the kernel end it if the supervisor is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
