//go:build unix

package platform

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
)

// Process is a running coordinator or worker.
type Process struct {
	Name string
	// URL is where a coordinator serves; empty for a worker.
	URL string

	cmd  *exec.Cmd
	done chan struct{}
	err  error // of the end; valid once done is closed
}

func (p *Process) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // fails only if it has ended
	<-p.done
}

// Interrupt asks the process to end as Ctrl-C does.
func (p *Process) Interrupt() error { return p.cmd.Process.Signal(syscall.SIGINT) }

// ExitCode is the status with which the process has ended; valid once Done is closed.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Stop halts the process with SIGSTOP; Continue lets it go on.
func (p *Process) Stop() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue resumes a stopped process.
func (p *Process) Continue() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Terminate asks the process to drain and waits for its end; past ctx it is killed.
func (p *Process) Terminate(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not drain: %w", p.Name, ctx.Err())
	}
}
