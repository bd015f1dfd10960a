package reference

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-faster/city"
)

// gap is the pause that ends a session, bounceTime the engagement from which a session of one page view is not a
// bounce.
const (
	gap        = 30 * time.Minute
	bounceTime = 10_000
)

// session is one visit.
type session struct {
	id string
	// guest is the visitor of the event that began it, empty before. low is the time of its earliest event so far.
	guest string
	low   time.Time
	// known is the first distinct id of its events.
	known string
	// device is another id of the same person.
	device string
	// seen is the time of the session's event that arrived first: bounce and duration count at that instant.
	seen        time.Time
	first, last time.Time
	rows        []*Row
	bounce      bool
	durationMs  int64
	// entry is the earliest row that did more than identify a person. The order of arrival does not count.
	entry *Row
}

// sessionKey distinguishes sessions with the same id: of a person and a bot, of an erased person and a later one, and
// of two known people, in which case known names the second one.
type sessionKey struct {
	second          string
	environment, id string
	erased          int
	bot             bool
}

// life returns the number of earlier erasures of the id that identifies the row's visit.
func (r *Row) life() int {
	if r.DistinctID != "" && r.AnonymousID != "" {
		return r.OtherErased
	}
	return r.Erased
}

// findSessions groups the rows by the session that the feed names.
func (d *Data) findSessions() {
	sessions := map[sessionKey]*session{}
	for _, row := range d.Rows {
		key := sessionKey{"", row.Environment, row.SessionID, row.life(), row.IsBot}
		if s := sessions[key]; s != nil && !s.takes(row) {
			key.second = row.DistinctID
		}
		if sessions[key] == nil {
			sessions[key] = &session{id: row.SessionID, low: row.Ts}
		}
		row.arrive(sessions[key])
	}
	for _, s := range sessions {
		s.sum()
	}
}

// takes says whether the ids of a row may be of the person of the session.
func (s *session) takes(row *Row) bool {
	return row.DistinctID == "" || s.known == "" || row.DistinctID == s.known || row.DistinctID == s.device || row.AnonymousID == s.known
}

// learn notes the ids of the person of the session. A known id that a later row names as its device was the id of a device.
func (s *session) learn(row *Row) {
	switch {
	case row.DistinctID == "" || row.DistinctID == s.device:
	case s.known == "", row.AnonymousID != "" && row.AnonymousID == s.known:
		s.known, s.device = row.DistinctID, row.AnonymousID
	case row.DistinctID == s.known:
		s.device = cmp.Or(s.device, row.AnonymousID)
	}
}

// arrive adds the row to its session. An identity row neither begins the session nor moves its beginning.
func (r *Row) arrive(s *session) {
	r.session = s
	s.learn(r)
	begins := s.guest == "" && !r.identity()
	switch {
	case begins:
		s.guest, s.seen, s.low = r.Visitor(), r.Ts, r.Ts
	case !r.identity() && r.Ts.Before(s.low):
		s.low = r.Ts
	}
	r.outside, r.began = s.guest == "", s.guest == r.Visitor() && r.Ts.Equal(s.low)
	s.rows = append(s.rows, r)
}

// sum computes the totals of a session.
func (s *session) sum() {
	if s.guest == "" {
		return
	}
	ordered := slices.Clone(s.rows)
	slices.SortFunc(ordered, newer)
	slices.Reverse(ordered)
	s.first, s.last = s.low, ordered[len(ordered)-1].Ts
	if s.last.Before(s.first) {
		s.last = s.first
	}
	var pageviews, interactive, engaged int64
	for _, row := range ordered {
		if !row.identity() && (s.entry == nil || compareEntries(row, s.entry) < 0) {
			s.entry = row
		}
		engaged += row.EngagedMs
		switch {
		case row.pageview():
			pageviews++
		case row.interactive():
			interactive++
		}
	}
	s.bounce = pageviews == 1 && interactive == 0 && engaged < bounceTime
	s.durationMs = engaged
	if engaged == 0 {
		s.durationMs = s.last.Sub(s.first).Milliseconds()
	}
}

// compareEntries orders rows by time, and those of one instant by the hashes of their ids.
func compareEntries(a, b *Row) int {
	return cmp.Or(a.Ts.Compare(b.Ts), cmp.Compare(city.CH64([]byte(a.ID)), city.CH64([]byte(b.ID))))
}

// CheckSessions compares the sessions in the feed with the definition. An event belongs to the session that the client
// names. Otherwise it belongs to the latest session of its device (without a device, of its known id) without a pause
// of more than 30 minutes to it. Otherwise it begins a session. named returns the session that the client gave for a
// row.
func (d *Data) CheckSessions(named func(*Row) string) error {
	type who struct {
		environment, thread string
		erased              int
		bot                 bool
	}
	open := map[who][]*session{}
	for _, row := range d.Rows {
		at := who{row.Environment, cmp.Or(named(row), row.AnonymousID, row.DistinctID), row.life(), row.IsBot}
		if name := named(row); name != "" && name != row.SessionID {
			return fmt.Errorf("event %s of %s is of the session %s, the feed says %s", row.ID, row.Visitor(), name, row.SessionID)
		}
		found := find(open[at], named(row), row.Ts)
		if found == nil {
			found = &session{id: row.SessionID, first: row.Ts, last: row.Ts}
			for _, other := range open[at] {
				if other.id == row.SessionID {
					return fmt.Errorf("event %s of %s begins a session, the feed adds it to %s", row.ID, row.Visitor(), row.SessionID)
				}
			}
			open[at] = append(open[at], found)
		}
		if found.id != row.SessionID {
			return fmt.Errorf("event %s of %s at %s belongs to %s, the feed says %s", row.ID, row.Visitor(), row.Ts, found.id, row.SessionID)
		}
		found.extend(row)
	}
	return nil
}

// extend extends the session to a row.
func (s *session) extend(row *Row) {
	if !row.identity() && (s.guest == "" || row.Ts.Before(s.first)) {
		s.guest, s.first = row.Visitor(), row.Ts
	}
	if row.Ts.After(s.last) {
		s.last = row.Ts
	}
}

func find(sessions []*session, named string, ts time.Time) (best *session) {
	for _, s := range sessions {
		if named != "" {
			if s.id == named {
				return s
			}
			continue
		}
		if !ts.Before(s.first.Add(-gap)) && !ts.After(s.last.Add(gap)) && (best == nil || s.last.After(best.last)) {
			best = s
		}
	}
	return best
}
