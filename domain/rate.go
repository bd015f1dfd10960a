package domain

import "time"

// RateClass is the group of routes that share one limit of a token (contract 7).
type RateClass string

// The rate classes. The telemetry policy governs ingest and flag evaluation instead.
const (
	RateDefault RateClass = "default"
	RateQuery   RateClass = "analytics"
	RateNone    RateClass = ""
)

// Limits per token and minute, and for concurrent queries (contract 7). Streams have a separate limit of the same
// number.
const (
	DefaultPerMinute  = 600
	QueryPerMinute    = 240
	ConcurrentQueries = 10
	ConcurrentStreams = 10
)

// RateState is the applied limit, as the response's headers show it.
type RateState struct {
	Class     RateClass
	Quota     int
	Window    time.Duration
	Remaining int
	// Reset is the time until the full quota is available again.
	Reset time.Duration
}

// Meter is a token bucket in the form of the generic cell rate algorithm: it stores one instant per class, at which the
// bucket is full again.
type Meter struct {
	fullAt map[RateClass]time.Time
}

// Take requests one token of a class under a quota per minute. It returns the state to show, and the time to wait if
// the request is refused. A quota of zero switches the limit off.
func (m *Meter) Take(now time.Time, class RateClass, perMinute int) (state RateState, wait time.Duration) {
	state = RateState{Class: class, Quota: perMinute, Window: time.Minute, Remaining: perMinute}
	if perMinute <= 0 || class == RateNone {
		return state, 0
	}
	if m.fullAt == nil {
		m.fullAt = map[RateClass]time.Time{}
	}
	cost := time.Minute / time.Duration(perMinute)
	fullAt := m.fullAt[class]
	if fullAt.Before(now) {
		fullAt = now
	}
	next := fullAt.Add(cost)
	if over := next.Sub(now) - time.Minute; over > 0 {
		state.Remaining, state.Reset = 0, fullAt.Sub(now)
		return state, over
	}
	m.fullAt[class] = next
	state.Reset = next.Sub(now)
	state.Remaining = int((time.Minute - state.Reset) / cost)
	return state, 0
}
