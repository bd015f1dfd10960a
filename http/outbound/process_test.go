package outbound_test

import (
	"os/exec"
	"syscall"
)

// ownGroup has a command run as a group of processes of its own: `go run` starts another one.
func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a group of processes.
func killGroup(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) } // it may have ended
