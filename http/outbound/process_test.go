package outbound_test

import (
	"os/exec"
	"syscall"
)

// ownGroup runs a command in its own process group: `go run` starts another process.
func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process group.
func killGroup(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) } // The group may have ended already.
