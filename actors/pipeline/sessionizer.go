package pipeline

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"svc"
	"svc/protos"
)

const (
	// sessionsPerVisitor bounds the sessions of one visitor among which an event is placed
	// that names none: those that were heard of last.
	sessionsPerVisitor = 32
	// openSessions bounds the sessions of a partition that are heard of between two turns.
	openSessions = 1 << 17
	// endedSessions is how many sessions a partition remembers at least that it gave up: as
	// many as a table of 2^17 slots holds.
	endedSessions = 98_000
)

// openTime is how long a session is kept after an event of it arrived last, in
// milliseconds: the gap that ends a session and some minutes for late ones.
const openTime = svc.SessionGap + 5*60*1000

// sessionizer cuts the events of one partition's visitors into sessions. A session is known by
// its visitor and its id until openTime after an event of it arrived last. Those that were
// not heard of are given up in two turns, so nothing is ever searched; their names are
// remembered, since a session that is resumed must not be counted twice.
//
// The state is in the rows: each carries its session as of its event, and where the visit
// came from. A row and its state are stored together or not at all, so a new owner, which
// reads them without the pending block, makes the same rows again.
type sessionizer struct {
	newest, previous sessionTurn
	ended            *dedup
	turnMs           int64
	turns            uint64
	limit            int
}

// sessionTurn holds the sessions and visitors that were heard of between two turns.
type sessionTurn struct {
	sessions map[sessionKey]*openSession
	// visitors are the sessions among which events are placed that name none, the one that
	// was heard of last at the end.
	visitors map[uint64][]*openSession
}

// sessionKey is a visitor and the hash of a session's id.
type sessionKey = [2]uint64

func keyOfSession(visitor uint64, id string) sessionKey {
	return sessionKey{visitor, protos.SessionHash(id)}
}

// openSession is a session that may still grow. Its texts share no memory with the record
// that they came with.
type openSession struct {
	svc.Session
	key     sessionKey
	origin  *svc.Origin
	heardMs int64
	// turns is in which turn the session was heard of last.
	turns uint64
}

// over reports whether an event that arrives now finds the session no more.
func (s *openSession) over(nowMs int64) bool { return nowMs-s.heardMs > openTime }

func newSessionTurn() sessionTurn {
	return sessionTurn{sessions: map[sessionKey]*openSession{}, visitors: map[uint64][]*openSession{}}
}

func newSessionizer() *sessionizer {
	return &sessionizer{newest: newSessionTurn(), ended: newDedup(endedSessions), turns: 1, limit: openSessions}
}

// Restore puts a session back that was read from the store, or more of one that was put back before.
func (s *sessionizer) Restore(from svc.OpenSession) {
	visitor := visitorOf(from.Visitor, from.Bot)
	key := keyOfSession(visitor, from.ID)
	session := s.newest.sessions[key]
	if session != nil {
		session.join(&from)
	} else {
		if len(s.newest.sessions) >= s.limit {
			s.ended.add(key)
			return
		}
		session = &openSession{Session: from.Session, key: key, origin: originOf(from.Origin), heardMs: from.HeardMs, turns: s.turns}
		s.newest.sessions[key] = session
	}
	sessions := slices.DeleteFunc(s.newest.visitors[visitor], func(other *openSession) bool { return other == session })
	at := len(sessions)
	for at > 0 && sessions[at-1].heardMs > session.heardMs {
		at--
	}
	s.newest.visitors[visitor] = latest(slices.Insert(sessions, at, session))
}

// join adds another state of the session. Of one that was given up and resumed, what was
// heard of last counts.
func (s *openSession) join(from *svc.OpenSession) {
	switch resumed := from.Deeds & svc.Resumed; {
	case from.Started == s.Started && resumed == s.Deeds&svc.Resumed:
		s.Join(&from.Session)
		s.heardMs = max(s.heardMs, from.HeardMs)
	case from.HeardMs > s.heardMs, from.HeardMs == s.heardMs && resumed != 0:
		s.Session, s.origin, s.heardMs = from.Session, originOf(from.Origin), from.HeardMs
	}
}

// restored ends a restoration. The store yields sessions of spans that begin long before the open ones; those that would have
// been given up in two turns are, by when the partition was heard of last.
func (s *sessionizer) restored(nowMs int64) {
	lastMs := int64(math.MinInt64)
	for _, session := range s.newest.sessions {
		lastMs = max(lastMs, session.heardMs)
	}
	kept := newSessionTurn()
	for key, session := range s.newest.sessions {
		if lastMs-session.heardMs > 2*openTime {
			s.ended.add(key)
			continue
		}
		kept.sessions[key] = session
	}
	for visitor, sessions := range s.newest.visitors {
		open := slices.DeleteFunc(sessions, func(one *openSession) bool { return kept.sessions[one.key] == nil })
		if len(open) > 0 {
			kept.visitors[visitor] = open
		}
	}
	s.turnMs, s.newest = nowMs, kept
}

// restoreEnded puts the name of a session back that was given up.
func (s *sessionizer) restoreEnded(visitor uint64, bot bool, session uint64) {
	s.ended.add(sessionKey{visitorOf(visitor, bot), session})
}

// visitorOf tells the bots that call themselves a visitor from that visitor: they make
// visits of their own.
func visitorOf(visitor uint64, bot bool) uint64 {
	if bot {
		return ^visitor
	}
	return visitor
}

// arrived is an event as the sessionizer sees it.
type arrived struct {
	visitor    uint64
	bot        bool
	session    string // as the client names it, empty where it does not
	receivedMs int64
	step       svc.SessionStep
	origin     svc.Origin
}

// placed is the session of one event and what the event changed in it.
type placed struct {
	id      string
	started int64
	delta   svc.SessionDelta
	state   svc.SessionState
	origin  svc.Origin
}

// add folds an event into its visitor's session: the one that the client names,
// else the latest one that covers its time, else a new one.
func (s *sessionizer) add(event *arrived) placed {
	s.turn(event.receivedMs)
	visitor := visitorOf(event.visitor, event.bot)
	sessions, known := s.newest.visitors[visitor]
	if !known {
		sessions = s.previous.visitors[visitor]
	}
	var session *openSession
	if event.session == "" {
		session = covering(sessions, event)
	}
	if session == nil {
		session = s.named(visitor, event)
	}
	delta := session.Add(event.step)
	session.heardMs = max(session.heardMs, event.receivedMs)
	if session.turns != s.turns {
		session.turns, s.newest.sessions[session.key] = s.turns, session
	}
	if last := len(sessions) - 1; last < 0 || sessions[last] != session {
		sessions = slices.DeleteFunc(sessions, func(other *openSession) bool { return other == session || other.over(event.receivedMs) })
		sessions, known = latest(append(sessions, session)), false
	}
	if !known {
		s.newest.visitors[visitor] = sessions
	}
	return placed{id: session.ID, started: session.Started, delta: delta, state: session.State(event.step.TsMs), origin: session.from()}
}

// covering returns the latest of a visitor's sessions that covers an event's time, nil for
// none.
func covering(sessions []*openSession, event *arrived) (best *openSession) {
	for _, session := range sessions {
		if !session.over(event.receivedMs) && session.Covers(event.step.TsMs) && (best == nil || session.later(best)) {
			best = session
		}
	}
	return best
}

// later reports whether the session ends after another, whatever the order in which the two
// were heard of.
func (s *openSession) later(other *openSession) bool {
	return cmp.Or(cmp.Compare(s.Last, other.Last), cmp.Compare(s.key[1], other.key[1])) > 0
}

// named returns the session of the name that the client gives, or that a session has which
// begins with the event. Where it is not open, it begins; where it was open before, it goes
// on without counting.
func (s *sessionizer) named(visitor uint64, event *arrived) *openSession {
	id := event.session
	if id == "" {
		id = sessionID(visitor, event.step.TsMs)
	}
	key := keyOfSession(visitor, id)
	session := s.newest.sessions[key]
	if session == nil {
		session = s.previous.sessions[key]
	}
	if session != nil && !session.over(event.receivedMs) {
		return session
	}
	if event.session != "" {
		id = strings.Clone(id) // it points into the record
	}
	begun := &openSession{key: key, origin: originOf(event.origin)}
	begun.Session = svc.Session{ID: id, Started: event.step.TsMs, First: event.step.TsMs, Last: event.step.TsMs}
	if session != nil || s.ended.has(key) {
		begun.Deeds = svc.Resumed
	}
	return begun
}

// latest returns those of a visitor's sessions that were heard of last.
func latest(sessions []*openSession) []*openSession {
	if beyond := len(sessions) - sessionsPerVisitor; beyond > 0 {
		return slices.Delete(sessions, 0, beyond)
	}
	return sessions
}

// turn ages the sessions once every openTime, and earlier where there are too many.
func (s *sessionizer) turn(nowMs int64) {
	if nowMs-s.turnMs < openTime && len(s.newest.sessions) < s.limit {
		return
	}
	for key, session := range s.previous.sessions {
		if s.newest.sessions[key] != session {
			s.ended.add(key)
		}
	}
	s.turnMs, s.previous, s.newest = nowMs, s.newest, newSessionTurn()
	s.turns++
}

// direct is the origin of a visit that nothing brought.
func direct() svc.Origin {
	return svc.Origin{Attribution: svc.Attribution{Source: svc.SourceDirect, Medium: svc.MediumNone}}
}

// originOf returns what a session keeps of where it came from: nothing of a visit that
// nothing brought, which most are.
func originOf(origin svc.Origin) *svc.Origin {
	if origin == direct() {
		return nil
	}
	owned := origin.Bounded().Clone()
	return &owned
}

// from returns where the visit came from.
func (s *openSession) from() svc.Origin {
	if s.origin == nil {
		return direct()
	}
	return *s.origin
}

// sessionID names a session by its visitor and its beginning: no two sessions
// of a visitor begin at the same instant.
func sessionID(visitor uint64, startedMs int64) string {
	var buffer [32]byte
	id := append(buffer[:0], "ses_"...)
	id = strconv.AppendUint(id, visitor, 36)
	id = append(id, '_')
	return string(strconv.AppendInt(id, startedMs, 36))
}
