package event

// SessionGap is the pause that ends a session, in milliseconds (contract 49).
const SessionGap = 30 * 60 * 1000

// BounceEngagement is the engagement, in milliseconds, from which a session of one page view is not a bounce (contract
// 49).
const BounceEngagement = 10 * 1000

// Session is the intake's state of one visitor's session while it may still grow. Times are milliseconds since the
// epoch. Started is the time of the first event that arrived and never changes: bounces and durations are counted at
// that instant, in whatever order the events of the session arrive.
type Session struct {
	ID          string
	Started     int64
	First, Last int64
	EngagedMs   int64
	Deeds       SessionDeeds
}

// SessionEntry is the earliest event of a session that does more than identify a person. Within one millisecond, it is the event with
// the least Tie, which is a hash of its id. The zero value stands for no entry.
type SessionEntry struct {
	TsMs  int64
	Tie   uint64
	Owner uint64 // its visitor
}

// Before reports whether the entry comes before another.
func (e SessionEntry) Before(other SessionEntry) bool {
	return e.TsMs < other.TsMs || e.TsMs == other.TsMs && e.Tie < other.Tie
}

// SessionDeeds is the set of the kinds of actions in a session, as bits. Actions are only ever added, so a bitwise or
// joins two states of a session.
type SessionDeeds uint8

// Bits of SessionDeeds.
const (
	// OnePageview says that there was a page view, MorePageviews that there were several.
	OnePageview SessionDeeds = 1 << iota
	MorePageviews
	// Interaction says that a person did something other than view a page.
	Interaction
	// Resumed says that the session continues after its state was dropped. Its earlier rows already count, so it
	// changes no sum.
	Resumed
	// Unbegun says that there were only identity events so far. The state of a session that has begun does not carry
	// it.
	Unbegun
)

// SessionStep is one event as a session sees it.
type SessionStep struct {
	TsMs        int64
	Pageview    bool
	Interactive bool
	// Identity says that the event only identifies a person. It never begins a session.
	Identity  bool
	EngagedMs int64
}

// SessionDelta is the change that one event makes to the sums of its session. A session may cease to be a bounce, and
// its duration grows, so deltas may be negative.
type SessionDelta struct {
	Bounce     int8
	DurationMs int64
}

// SessionState is the state of a row's session as of its event. It is stored with the row so that the session can be
// restored from its latest rows. BeforeMs is the time from the session's first event to Started, AfterMs the time from
// the row's event to the session's last event.
type SessionState struct {
	BeforeMs, AfterMs, EngagedMs int64
	Deeds                        SessionDeeds
}

// Covers reports whether an event at an instant belongs to the session: at most the gap before its first or after its
// last event.
func (s *Session) Covers(tsMs int64) bool {
	return tsMs >= s.First-SessionGap && tsMs <= s.Last+SessionGap
}

// Add folds one event into the session and returns the change.
func (s *Session) Add(step SessionStep) SessionDelta {
	bounce, duration := s.bounce(), s.DurationMs()
	s.Last = max(s.Last, step.TsMs)
	if !step.Identity {
		s.First = min(s.First, step.TsMs)
	}
	switch {
	case step.Pageview && s.Deeds&OnePageview != 0:
		s.Deeds |= MorePageviews
	case step.Pageview:
		s.Deeds |= OnePageview
	case step.Interactive:
		s.Deeds |= Interaction
	}
	s.EngagedMs += step.EngagedMs
	if s.Deeds&Resumed != 0 {
		return SessionDelta{}
	}
	return SessionDelta{Bounce: s.bounce() - bounce, DurationMs: s.DurationMs() - duration}
}

// Join merges another state of the same session.
func (s *Session) Join(other *Session) {
	s.First, s.Last = min(s.First, other.First), max(s.Last, other.Last)
	s.EngagedMs, s.Deeds = max(s.EngagedMs, other.EngagedMs), s.Deeds|other.Deeds
}

// State returns the state that the row of an event of the session carries.
func (s *Session) State(tsMs int64) SessionState {
	return SessionState{BeforeMs: s.Started - s.First, AfterMs: s.Last - tsMs, EngagedMs: s.EngagedMs, Deeds: s.Deeds}
}

// Bounced reports whether the session is a bounce as of its events so far.
func (s *Session) Bounced() bool {
	return s.Deeds&^Resumed == OnePageview && s.EngagedMs < BounceEngagement
}

// bounce returns 1 for a bounce and 0 otherwise.
func (s *Session) bounce() int8 {
	if s.Bounced() {
		return 1
	}
	return 0
}

// DurationMs is the engaged time if the client sent any, else the time from the first to the last event.
func (s *Session) DurationMs() int64 {
	if s.EngagedMs > 0 {
		return s.EngagedMs
	}
	return s.Last - s.First
}
