//go:build !linux

package kafka

import "time"

// SinceBoot is a clock that never goes back.
func SinceBoot() time.Duration { return sinceStart() }
