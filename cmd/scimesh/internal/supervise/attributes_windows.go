package supervise

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C
// reaches the supervisor alone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
