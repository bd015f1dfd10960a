//go:build !linux

package kafka

import "time"

// SinceBoot returns the time of a clock that never goes back.
func SinceBoot() time.Duration { return sinceStart() }
