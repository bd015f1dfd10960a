package pipeline

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"svc/domain/event"
	"svc/protos"
)

const (
	// sessionsPerThread bounds the sessions of one thread that are candidates for an event without a session name. The
	// ones with the latest arrivals are retained.
	sessionsPerThread = 32
	// openSessions bounds the sessions of a partition that receive events between two turns.
	openSessions = 1 << 17
	// endedSessions is the least number of ended sessions that a partition remembers: as many as a table of 2^17 slots
	// holds.
	endedSessions = 98_000
)

// openTime is how long a session stays open after its last event arrived, in milliseconds: the gap that ends a session
// and some minutes for late events.
const openTime = event.SessionGap + 5*60*1000

// sessionizer divides the threads of one partition into sessions. A session is known by its thread and its id until
// openTime after its last event arrived. Sessions without events are given up after two turns, so no search is needed.
// Their names are remembered, since a session that is resumed must not be counted twice.
//
// The state is in the rows: each carries its session as of its event, and the origin of the visit. A row and its state
// are stored together or not at all. So a new owner, which reads them without the pending block, makes the same rows
// again.
type sessionizer struct {
	newest, previous sessionTurn
	ended            *dedup
	turnMs           int64
	turns            uint64
	limit            int
}

// sessionTurn holds the sessions and threads that received events between two turns.
type sessionTurn struct {
	sessions map[sessionKey]*openSession
	// threads holds the sessions among which events without a session name are placed. The one with the latest arrival
	// is last.
	threads map[uint64][]*openSession
}

// sessionKey is a thread and the hash of a session's id.
type sessionKey = [2]uint64

func keyOfSession(thread uint64, id string) sessionKey {
	return sessionKey{thread, protos.SessionHash(id)}
}

// numberOfSession returns 64 bits that name a session.
func numberOfSession(key sessionKey) uint64 { return key[1] ^ spreadOf(key[0]) }

// spreadOf spreads the bits of a number.
func spreadOf(n uint64) uint64 { return bits.RotateLeft64(n*0x9e3779b97f4a7c15, 32) }

// keyOfStored returns the key of a stored session.
func keyOfStored(name *event.SessionName) sessionKey {
	thread := threadOf(name.Thread^name.Life, name.Bot)
	if name.Hash != 0 {
		return sessionKey{thread, name.Hash}
	}
	return sessionKey{thread, name.Number ^ spreadOf(thread)}
}

func newSessionTurn() sessionTurn {
	return sessionTurn{sessions: map[sessionKey]*openSession{}, threads: map[uint64][]*openSession{}}
}

func newSessionizer() *sessionizer {
	return &sessionizer{newest: newSessionTurn(), ended: newDedup(endedSessions), turns: 1, limit: openSessions}
}

// Restore adds a session that was read from the store, or another part of a session that was added before.
func (s *sessionizer) Restore(from event.OpenSession) {
	key := keyOfStored(&from.SessionName)
	session := s.newest.sessions[key]
	if session != nil {
		session.join(&from)
	} else {
		if len(s.newest.sessions) >= s.limit {
			s.end(key, from.Deeds&event.Unbegun == 0)
			return
		}
		session = &openSession{key: key, turns: s.turns}
		session.become(&from)
		s.newest.sessions[key] = session
	}
	sessions := slices.DeleteFunc(s.newest.threads[key[0]], func(other *openSession) bool { return other == session })
	at := len(sessions)
	for at > 0 && sessions[at-1].heardMs > session.heardMs {
		at--
	}
	s.newest.threads[key[0]] = latest(slices.Insert(sessions, at, session))
}

// end remembers the name of an ended session, if it began.
func (s *sessionizer) end(key sessionKey, begun bool) {
	if begun {
		s.ended.add(key)
	}
}

// restored ends a restoration. The store yields sessions of spans that begin long before the open ones. restored gives
// up the sessions that two turns would have given up, judged by the last arrival in the partition.
func (s *sessionizer) restored(nowMs int64) {
	lastMs := int64(math.MinInt64)
	for _, session := range s.newest.sessions {
		lastMs = max(lastMs, session.heardMs)
	}
	kept := newSessionTurn()
	for key, session := range s.newest.sessions {
		if lastMs-session.heardMs > 2*openTime {
			s.end(key, session.begun())
			continue
		}
		kept.sessions[key] = session
	}
	for thread, sessions := range s.newest.threads {
		open := slices.DeleteFunc(sessions, func(one *openSession) bool { return kept.sessions[one.key] == nil })
		if len(open) > 0 {
			kept.threads[thread] = open
		}
	}
	s.turnMs, s.newest = nowMs, kept
}

// restoreEnded restores the name of an ended session.
func (s *sessionizer) restoreEnded(name event.SessionName) { s.ended.add(keyOfStored(&name)) }

// threadOf separates bots that use the ids of a visitor from that visitor: they make visits of their own.
func threadOf(thread uint64, bot bool) uint64 {
	if bot {
		return ^thread
	}
	return thread
}

// arrived is an event in the form that the sessionizer needs.
type arrived struct {
	id          string
	environment uint64
	thread      uint64
	// visitor is the number of the event's visitor. known and device are the numbers of its ids, 0 for none.
	visitor, known, device uint64
	bot                    bool
	session                string // as the client names it, empty without a name
	receivedMs             int64
	step                   event.SessionStep
	origin                 event.Origin
}

// placed is the session of one event and the changes that the event made in it.
type placed struct {
	id      string
	number  uint64
	guest   uint64 // the visitor to which the session counts, 0 if it is the event's own
	inside  bool   // the event is not the earliest one so far
	ousted  uint64 // the visitor of the entry before, 0 if there is none or it is the event's own
	started int64
	delta   event.SessionDelta
	state   event.SessionState
	origin  event.Origin
}

// add folds an event into a session of its thread: the session that the client names, else the latest one that covers
// its time, else a new one.
func (s *sessionizer) add(event *arrived) placed {
	s.turn(event.receivedMs)
	thread := threadOf(event.thread, event.bot)
	sessions, known := s.newest.threads[thread]
	if !known {
		sessions = s.previous.threads[thread]
	}
	var session *openSession
	if event.session == "" {
		session = covering(sessions, event)
	}
	if session == nil {
		session = s.named(thread, event)
	}
	ousted, inside := session.enter(event)
	delta := session.fold(event)
	session.heardMs = max(session.heardMs, event.receivedMs)
	if session.turns != s.turns {
		session.turns, s.newest.sessions[session.key] = s.turns, session
	}
	if last := len(sessions) - 1; last < 0 || sessions[last] != session {
		sessions = slices.DeleteFunc(sessions, func(other *openSession) bool { return other == session || other.over(event.receivedMs) })
		sessions, known = latest(append(sessions, session)), false
	}
	if !known {
		s.newest.threads[thread] = sessions
	}
	out := placed{id: session.ID, number: session.number, started: session.Started, delta: delta, state: session.State(event.step.TsMs), origin: session.from(), inside: inside, ousted: ousted}
	if session.begun() && session.counted != event.visitor {
		out.guest = session.counted
	}
	return out
}

// covering returns the latest session of a thread that covers the event's time and accepts its ids, or nil.
func covering(sessions []*openSession, event *arrived) (best *openSession) {
	for _, session := range sessions {
		if !session.over(event.receivedMs) && session.Covers(event.step.TsMs) && session.takes(event.known, event.device) && (best == nil || session.later(best)) {
			best = session
		}
	}
	return best
}

// later reports whether the session ends after another, independent of the order of their arrival.
func (s *openSession) later(other *openSession) bool {
	return cmp.Or(cmp.Compare(s.Last, other.Last), cmp.Compare(s.key[1], other.key[1])) > 0
}

// named returns the session with the name that the client gives, or the name of a session that begins with the event.
// If it is not open, it begins. If it was open before, it continues without counting again.
func (s *sessionizer) named(thread uint64, e *arrived) *openSession {
	id := e.session
	if id == "" {
		id = sessionID(protos.VisitorHashOf(e.environment, thread), e.step.TsMs)
	}
	key := keyOfSession(thread, id)
	own := sessionKey{thread, key[1] ^ spreadOf(e.known)}
	session := s.find(own)
	if session == nil || session.over(e.receivedMs) {
		if session = s.find(key); session != nil && !session.over(e.receivedMs) && !session.takes(e.known, e.device) {
			key, session = own, s.find(own)
		}
	}
	if session != nil && !session.over(e.receivedMs) {
		return session
	}
	if e.session != "" {
		id = strings.Clone(id) // it points into the record
	}
	fresh := &openSession{key: key, number: numberOfSession(key)}
	fresh.Session = event.Session{ID: id, Started: e.step.TsMs, First: e.step.TsMs, Last: e.step.TsMs, Deeds: event.Unbegun}
	if session != nil && session.begun() || s.ended.has(key) {
		fresh.Deeds |= event.Resumed
	}
	return fresh
}

// find returns the session of a key, or nil. It may be over.
func (s *sessionizer) find(key sessionKey) *openSession {
	if session := s.newest.sessions[key]; session != nil {
		return session
	}
	return s.previous.sessions[key]
}

// latest returns the sessions of a thread with the latest arrivals.
func latest(sessions []*openSession) []*openSession {
	if beyond := len(sessions) - sessionsPerThread; beyond > 0 {
		return slices.Delete(sessions, 0, beyond)
	}
	return sessions
}

// turn ages the sessions once every openTime, and earlier if there are too many.
func (s *sessionizer) turn(nowMs int64) {
	if nowMs-s.turnMs < openTime && len(s.newest.sessions) < s.limit {
		return
	}
	for key, session := range s.previous.sessions {
		if s.newest.sessions[key] != session {
			s.end(key, session.begun())
		}
	}
	s.turnMs, s.previous, s.newest = nowMs, s.newest, newSessionTurn()
	s.turns++
}

// direct is the origin of a visit without a source.
func direct() event.Origin {
	return event.Origin{Attribution: event.Attribution{Source: event.SourceDirect, Medium: event.MediumNone}}
}

// originOf returns the origin that a session stores. It is nil for a direct visit, as most visits are.
func originOf(origin event.Origin) *event.Origin {
	if origin == direct() {
		return nil
	}
	owned := origin.Bounded().Clone()
	return &owned
}

// sessionID derives the name of a session from its thread and its beginning.
func sessionID(thread uint64, startedMs int64) string {
	var buffer [32]byte
	id := append(buffer[:0], protos.DerivedSession...)
	id = strconv.AppendUint(id, thread, 36)
	id = append(id, '_')
	return string(strconv.AppendInt(id, startedMs, 36))
}
