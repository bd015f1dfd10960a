package actors

import (
	"slices"
	"strconv"
	"strings"

	"svc"
)

// sessionsPerVisitor bounds the sessions of one visitor that may still grow:
// events that arrive out of order find theirs among the latest.
const sessionsPerVisitor = 4

// stitchTime is how long a visitor's sessions are kept after the last event
// arrived: the gap that ends a session and some minutes for late ones.
const stitchTime = svc.SessionGap + 5*60*1000

// stitcher cuts the events of one partition's visitors into sessions. Visitors
// who were not heard of for stitchTime are forgotten in two steps, so nothing
// is ever searched.
type stitcher struct {
	newest, previous map[uint64][]svc.Session
	turnMs           int64
}

func newStitcher() *stitcher { return &stitcher{newest: map[uint64][]svc.Session{}} }

// restore puts a session back that was read from the store.
func (s *stitcher) restore(visitor uint64, session svc.Session) {
	s.newest[visitor] = append(s.newest[visitor], session)
}

// stitched is the session of one event and what the event changed in it.
type stitched struct {
	id      string
	started int64
	delta   svc.SessionDelta
}

// add folds an event into its visitor's session: the one that the client names,
// else the latest one that covers its time, else a new one.
func (s *stitcher) add(visitor uint64, clientSession string, nowMs int64, step svc.SessionStep) stitched {
	s.turn(nowMs)
	sessions, known := s.newest[visitor]
	if !known {
		sessions = s.previous[visitor]
		delete(s.previous, visitor)
	}
	at := find(sessions, clientSession, step.TsMs)
	if at < 0 {
		// The name points into the record, which it must not keep.
		session := svc.Session{ID: strings.Clone(clientSession), Started: step.TsMs, First: step.TsMs, Last: step.TsMs}
		if session.ID == "" {
			session.ID = sessionID(visitor, step.TsMs)
		}
		for len(sessions) >= sessionsPerVisitor {
			oldest := earliest(sessions)
			sessions = slices.Delete(sessions, oldest, oldest+1)
		}
		sessions = append(sessions, session)
		at = len(sessions) - 1
	}
	delta := sessions[at].Add(step)
	s.newest[visitor] = sessions
	return stitched{id: sessions[at].ID, started: sessions[at].Started, delta: delta}
}

// turn ages the visitors once every stitchTime.
func (s *stitcher) turn(nowMs int64) {
	if nowMs-s.turnMs < stitchTime {
		return
	}
	s.turnMs, s.previous, s.newest = nowMs, s.newest, map[uint64][]svc.Session{}
}

// find returns the index of the session that an event belongs to, -1 for none.
func find(sessions []svc.Session, clientSession string, tsMs int64) int {
	best := -1
	for i := range sessions {
		if clientSession != "" {
			if sessions[i].ID == clientSession {
				return i
			}
			continue
		}
		if sessions[i].Covers(tsMs) && (best < 0 || sessions[i].Last > sessions[best].Last) {
			best = i
		}
	}
	return best
}

// earliest returns the index of the session whose last event is the oldest.
func earliest(sessions []svc.Session) int {
	at := 0
	for i := range sessions {
		if sessions[i].Last < sessions[at].Last {
			at = i
		}
	}
	return at
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
