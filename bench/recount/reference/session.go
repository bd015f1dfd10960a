package reference

import (
	"fmt"
	"slices"
	"time"
)

// gap is the pause that ends a session, bounceTime the engagement from which a
// session of one page view is no bounce.
const (
	gap        = 30 * time.Minute
	bounceTime = 10_000
)

// session is a visitor's run of events.
type session struct {
	id string
	// seen is the time of the event of the session that arrived first: bounce and
	// duration count at that instant.
	seen        time.Time
	first, last time.Time
	rows        []*Row
	bounce      bool
	durationMs  int64
}

// sessionKey tells sessions apart: one id may have been given for two visitors, and to a
// person and a bot.
type sessionKey struct {
	environment, id string
	visitor         Visitor
	bot             bool
}

// findSessions groups the rows by the session that the feed names.
func (d *Data) findSessions() {
	sessions := map[sessionKey]*session{}
	for _, row := range d.Rows {
		key := sessionKey{row.Environment, row.SessionID, row.visitor(), row.IsBot}
		if sessions[key] == nil {
			sessions[key] = &session{id: row.SessionID, seen: row.Ts, first: row.Ts}
		}
		row.session = sessions[key]
		if row.began = !row.Ts.After(row.session.first); row.began {
			row.session.first = row.Ts
		}
		row.session.rows = append(row.session.rows, row)
	}
	for _, s := range sessions {
		s.sum()
	}
}

// sum computes what a session is as a whole.
func (s *session) sum() {
	ordered := slices.Clone(s.rows)
	slices.SortFunc(ordered, newer)
	slices.Reverse(ordered)
	s.first, s.last = ordered[0].Ts, ordered[len(ordered)-1].Ts
	var pageviews, interactive, engaged int64
	for _, row := range ordered {
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

// CheckSessions compares the sessions that the feed names with the definition: an
// event belongs to the session that the client names, else to its visitor's latest
// session that has no pause of more than 30 minutes to it, else it begins one.
// named says which session the client gave for a row.
func (d *Data) CheckSessions(named func(*Row) string) error {
	type who struct {
		environment string
		visitor     Visitor
		bot         bool
	}
	open := map[who][]*session{}
	for _, row := range d.Rows {
		at := who{row.Environment, row.visitor(), row.IsBot}
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
		if row.Ts.Before(found.first) {
			found.first = row.Ts
		}
		if row.Ts.After(found.last) {
			found.last = row.Ts
		}
	}
	return nil
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
