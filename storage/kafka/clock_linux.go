package kafka

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns the time since boot. This clock never goes back, and it continues while the process is stopped or
// the machine sleeps.
func SinceBoot() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return sinceStart()
	}
	return time.Duration(at.Nano())
}
