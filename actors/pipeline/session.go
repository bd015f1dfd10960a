package pipeline

import (
	"cmp"

	"svc/domain/event"
)

// openSession is a session that may still grow. Its texts share no memory with the record
// that they came with.
type openSession struct {
	event.Session
	key     sessionKey
	number  uint64
	origin  *event.Origin
	heardMs int64
	// turns is the turn in which the last event of the session arrived.
	turns uint64
	// counted is the visitor to which the session counts. known is the person of the session, and device is another id
	// of the person. known and device are 0 while unknown.
	counted, known, device uint64
	// entry is the earliest event, the zero value before the session begins.
	entry event.SessionEntry
}

// begun reports whether the session has an event that did more than identify a person.
func (s *openSession) begun() bool { return s.Deeds&event.Unbegun == 0 }

// over reports whether an event that arrives now comes too late for the session.
func (s *openSession) over(nowMs int64) bool { return nowMs-s.heardMs > openTime }

// join adds another state of the session. If the session was given up and resumed, the state with the later arrival
// counts. A state from before the session began contributes only its person.
func (s *openSession) join(from *event.OpenSession) {
	resumed, begun := from.Deeds&event.Resumed, from.Deeds&event.Unbegun == 0
	same := resumed == s.Deeds&event.Resumed
	switch {
	case same && begun != s.begun():
		known, device, heardMs := s.known, s.device, max(s.heardMs, from.HeardMs)
		if begun {
			s.become(from)
		} else {
			known, device = from.Known, from.Device
		}
		s.learn(known, device)
		s.heardMs = heardMs
	case same && (from.Started == s.Started || !begun):
		s.Join(&from.Session)
		s.earliest(from.Entry)
		s.learn(from.Known, from.Device)
		s.heardMs = max(s.heardMs, from.HeardMs)
	case from.HeardMs > s.heardMs, from.HeardMs == s.heardMs && resumed != 0:
		s.become(from)
	}
}

// become takes over a stored state.
func (s *openSession) become(from *event.OpenSession) {
	s.Session, s.number, s.heardMs, s.counted = from.Session, from.Number, from.HeardMs, from.Counted
	s.origin, s.known, s.device, s.entry = originOf(from.Origin), 0, 0, from.Entry
	s.learn(from.Known, from.Device)
}

// takes reports whether an event may belong to the session by its ids. Another known person has a separate session.
func (s *openSession) takes(known, device uint64) bool {
	return known == 0 || s.known == 0 || known == s.known || known == s.device || device == s.known
}

// learn notes the person of the session. A known id may later become the device of another known id. If this happens,
// it was the id of a device.
func (s *openSession) learn(known, device uint64) {
	switch {
	case known == 0 || known == s.device:
	case s.known == 0:
		s.known, s.device = known, device
	case known == s.known:
		s.device = cmp.Or(s.device, device)
	case device == s.known:
		s.known, s.device = known, device
	}
}

// fold adds an event to the session. The first event that does more than identify a person begins the session.
func (s *openSession) fold(e *arrived) event.SessionDelta {
	s.learn(e.known, e.device)
	begins := !s.begun() && !e.step.Identity
	if begins {
		s.counted, s.origin = e.visitor, originOf(e.origin)
		s.Deeds &^= event.Unbegun
		s.Started, s.First = e.step.TsMs, e.step.TsMs
	}
	delta := s.Add(e.step)
	switch {
	case !s.begun():
		return event.SessionDelta{}
	case begins && s.Deeds&event.Resumed == 0:
		delta.DurationMs = s.DurationMs()
	}
	return delta
}

// enter makes an event the entry of the session if it is the earliest one. It returns the visitor of the entry before if that is
// another one, and whether the event is inside the session.
func (s *openSession) enter(e *arrived) (ousted uint64, inside bool) {
	before := s.entry
	if s.begun() && (before == (event.SessionEntry{}) || s.First < before.TsMs) { // a new owner has not read the entry
		before = event.SessionEntry{TsMs: s.First, Owner: s.counted}
	}
	if e.step.Identity || s.begun() && e.step.TsMs > before.TsMs {
		return 0, true
	}
	entry := event.SessionEntry{TsMs: e.step.TsMs, Tie: idNumber(e.id), Owner: e.visitor}
	switch {
	case !s.begun():
	case !entry.Before(before):
		return 0, true
	case before.Owner != e.visitor:
		ousted = before.Owner
	}
	s.entry = entry
	return ousted, false
}

// earliest takes over an entry that a stored state has, if it comes before.
func (s *openSession) earliest(entry event.SessionEntry) {
	if entry != (event.SessionEntry{}) && (s.entry == (event.SessionEntry{}) || entry.Before(s.entry)) {
		s.entry = entry
	}
}

// from returns the origin of the visit. The origin is empty before the visit begins.
func (s *openSession) from() event.Origin {
	switch {
	case !s.begun():
		return event.Origin{}
	case s.origin == nil:
		return direct()
	}
	return *s.origin
}
