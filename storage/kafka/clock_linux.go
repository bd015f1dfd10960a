package kafka

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot is a clock that never goes back and runs on while the process is
// stopped or the machine sleeps.
func SinceBoot() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return sinceStart()
	}
	return time.Duration(at.Nano())
}
