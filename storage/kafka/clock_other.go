//go:build !linux

package kafka

import "time"

// sinceBoot is a clock that never goes back.
func sinceBoot() time.Duration { return sinceStart() }
