package kafka

import "time"

// started anchors the runtime's monotonic clock.
var started = time.Now() //nolint:gochecknoglobals // a constant of the process

// sinceStart reads the runtime's monotonic clock. On some machines that clock stops during sleep.
func sinceStart() time.Duration { return time.Since(started) }
