package pipeline

import (
	"cmp"

	"svc"
)

// openSession is a session that may still grow. Its texts share no memory with the record
// that they came with.
type openSession struct {
	svc.Session
	key     sessionKey
	number  uint64
	origin  *svc.Origin
	heardMs int64
	// turns is the turn in which the last event of the session arrived.
	turns uint64
	// counted is the visitor to which the session counts. known is the person of the session, and device is another id
	// of the person. known and device are 0 while unknown.
	counted, known, device uint64
	// entry is the earliest event, the zero value before the session begins.
	entry svc.SessionEntry
}

// begun reports whether the session has an event that did more than identify a person.
func (s *openSession) begun() bool { return s.Deeds&svc.Unbegun == 0 }

// over reports whether an event that arrives now comes too late for the session.
func (s *openSession) over(nowMs int64) bool { return nowMs-s.heardMs > openTime }

// join adds another state of the session. If the session was given up and resumed, the state with the later arrival
// counts. A state from before the session began contributes only its person.
func (s *openSession) join(from *svc.OpenSession) {
	resumed, begun := from.Deeds&svc.Resumed, from.Deeds&svc.Unbegun == 0
	same := resumed == s.Deeds&svc.Resumed
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
func (s *openSession) become(from *svc.OpenSession) {
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
func (s *openSession) fold(event *arrived) svc.SessionDelta {
	s.learn(event.known, event.device)
	begins := !s.begun() && !event.step.Identity
	if begins {
		s.counted, s.origin = event.visitor, originOf(event.origin)
		s.Deeds &^= svc.Unbegun
		s.Started, s.First = event.step.TsMs, event.step.TsMs
	}
	delta := s.Add(event.step)
	switch {
	case !s.begun():
		return svc.SessionDelta{}
	case begins && s.Deeds&svc.Resumed == 0:
		delta.DurationMs = s.DurationMs()
	}
	return delta
}

// enter makes an event the entry of the session if it is the earliest one. It returns the visitor of the entry before if that is
// another one, and whether the event is inside the session.
func (s *openSession) enter(event *arrived) (ousted uint64, inside bool) {
	before := s.entry
	if s.begun() && (before == (svc.SessionEntry{}) || s.First < before.TsMs) { // a new owner has not read the entry
		before = svc.SessionEntry{TsMs: s.First, Owner: s.counted}
	}
	if event.step.Identity || s.begun() && event.step.TsMs > before.TsMs {
		return 0, true
	}
	entry := svc.SessionEntry{TsMs: event.step.TsMs, Tie: idNumber(event.id), Owner: event.visitor}
	switch {
	case !s.begun():
	case !entry.Before(before):
		return 0, true
	case before.Owner != event.visitor:
		ousted = before.Owner
	}
	s.entry = entry
	return ousted, false
}

// earliest takes over an entry that a stored state has, if it comes before.
func (s *openSession) earliest(entry svc.SessionEntry) {
	if entry != (svc.SessionEntry{}) && (s.entry == (svc.SessionEntry{}) || entry.Before(s.entry)) {
		s.entry = entry
	}
}

// from returns the origin of the visit. The origin is empty before the visit begins.
func (s *openSession) from() svc.Origin {
	switch {
	case !s.begun():
		return svc.Origin{}
	case s.origin == nil:
		return direct()
	}
	return *s.origin
}
