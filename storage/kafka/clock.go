package kafka

import "time"

// started anchors the runtime's monotonic clock.
var started = time.Now() //nolint:gochecknoglobals // a constant of the process

// sinceStart is the runtime's monotonic clock, which stands still while some
// machines sleep.
func sinceStart() time.Duration { return time.Since(started) }
