package svc

// SessionGap is the pause that ends a session, in milliseconds (decision 49).
const SessionGap = 30 * 60 * 1000

// BounceEngagement is the engagement, in milliseconds, from which a session of
// one page view is no bounce (decision 49).
const BounceEngagement = 10 * 1000

// Session is what the intake keeps of one visitor's session while it may still
// grow. Times are milliseconds since the epoch. Started is the time of the
// first event that was seen and never changes: bounces and durations are
// counted at that instant, however the events of the session arrive.
type Session struct {
	ID          string
	Started     int64
	First, Last int64
	Pageviews   int32
	// Interactive counts the events other than page views that a person caused.
	Interactive int32
	EngagedMs   int64
}

// SessionStep is one event as a session sees it.
type SessionStep struct {
	TsMs        int64
	Pageview    bool
	Interactive bool
	EngagedMs   int64
}

// SessionDelta is what one event adds to the sums of its session: a session is
// a bounce until it is not, and its duration grows, so deltas may be negative.
type SessionDelta struct {
	Bounce     int8
	DurationMs int64
}

// Covers says whether an event at an instant belongs to the session: not more
// than the gap before its first or after its last event.
func (s *Session) Covers(tsMs int64) bool {
	return tsMs >= s.First-SessionGap && tsMs <= s.Last+SessionGap
}

// Add folds one event into the session and returns what it changed.
func (s *Session) Add(step SessionStep) SessionDelta {
	bounce, duration := s.bounce(), s.DurationMs()
	s.First, s.Last = min(s.First, step.TsMs), max(s.Last, step.TsMs)
	if step.Pageview {
		s.Pageviews++
	} else if step.Interactive {
		s.Interactive++
	}
	s.EngagedMs += step.EngagedMs
	return SessionDelta{Bounce: s.bounce() - bounce, DurationMs: s.DurationMs() - duration}
}

// bounce returns 1 for a bounce and 0 otherwise.
func (s *Session) bounce() int8 {
	if s.Pageviews == 1 && s.Interactive == 0 && s.EngagedMs < BounceEngagement {
		return 1
	}
	return 0
}

// DurationMs is the engaged time where the client sent any, else the time from
// the first to the last event.
func (s *Session) DurationMs() int64 {
	if s.EngagedMs > 0 {
		return s.EngagedMs
	}
	return s.Last - s.First
}
