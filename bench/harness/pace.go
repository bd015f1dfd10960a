package harness

import (
	"context"
	"runtime"
	"syscall"
	"time"
)

// schedule returns the shots of an open loop as offsets from its beginning, nil for a closed loop. A shot is delivered
// when it is due, whether a connection is free or not: waiting counts as latency. The channel has capacity for a whole
// load, so that the pacer never waits for the server.
func (l Load) schedule(ctx context.Context, began time.Time) <-chan time.Duration {
	if l.Rate <= 0 {
		return nil
	}
	shots := make(chan time.Duration, int(l.Rate*l.Duration.Seconds())+1)
	go pace(ctx, began, time.Duration(float64(time.Second)/l.Rate), l.Duration, shots)
	return shots
}

// pace sleeps in the kernel, which wakes a thread within about a tenth of a millisecond; Go's own timers take a
// millisecond.
func pace(ctx context.Context, began time.Time, interval, duration time.Duration, shots chan<- time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(shots)
	for n := 0; ctx.Err() == nil; n++ {
		offset := time.Duration(n) * interval
		if offset >= duration {
			return
		}
		if wait := offset - time.Since(began); wait > 0 {
			span := syscall.NsecToTimespec(int64(wait))
			_ = syscall.Nanosleep(&span, nil) // an early end sends one shot early
		}
		shots <- offset
	}
}
