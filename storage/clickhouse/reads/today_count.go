package reads

import "unique"

// todayValues counts the values of a dimension. A session may show several values.
type todayValues struct {
	values   map[string]*valueToday
	sessions map[uint64]*sessionToday
	members  int
}

// valueToday is one value with its visitors and sessions.
type valueToday struct {
	visitors, sessions map[uint64]struct{}
	views, bounces     uint64
}

// sessionToday is a session with the values that it showed. It bounces while its balance is above zero.
type sessionToday struct {
	balance int64
	values  []*valueToday
}

func newTodayValues() *todayValues {
	return &todayValues{values: map[string]*valueToday{}, sessions: map[uint64]*sessionToday{}}
}

func (t *todayValues) add(r *todayRow) {
	if r.value == "" || len(r.sessions) == 0 { // identity items alone neither begin a visit nor belong to one
		return
	}
	v := t.values[r.value]
	if v == nil {
		v = &valueToday{visitors: map[uint64]struct{}{}, sessions: map[uint64]struct{}{}}
		t.values[r.value] = v
	}
	v.views += r.views
	for _, visitor := range r.visitors {
		v.visitors[visitor] = struct{}{}
	}
	for _, session := range r.sessions {
		if _, known := v.sessions[session]; known {
			continue
		}
		v.sessions[session] = struct{}{}
		t.members++
		s := t.session(session)
		s.values = append(s.values, v)
		if s.balance > 0 {
			v.bounces++
		}
	}
}

func (t *todayValues) session(number uint64) *sessionToday {
	s := t.sessions[number]
	if s == nil {
		s = &sessionToday{}
		t.sessions[number] = s
	}
	return s
}

func (t *todayValues) change(session uint64, by int64) {
	s := t.session(session)
	before := s.balance > 0
	s.balance += by
	for _, v := range s.values {
		switch after := s.balance > 0; {
		case after && !before:
			v.bounces++
		case before && !after:
			v.bounces--
		}
	}
}

func (t *todayValues) ranked() []ranked {
	out := make([]ranked, 0, len(t.values))
	for value, v := range t.values {
		out = append(out, ranked{
			value: unique.Make(value), visitors: uint64(len(v.visitors)), sessions: uint64(len(v.sessions)),
			pageviews: v.views, bounces: v.bounces,
		})
	}
	return out
}

// size counts every session of a value, with its visitor and its entry in the session's list of values.
func (t *todayValues) size() int {
	const perMember, perSession, perValue = 48, 80, 300
	return perMember*t.members + perSession*len(t.sessions) + perValue*len(t.values)
}

// todayMarks counts sessions by the path of their entry page view, or of their exit page view if last is set.
type todayMarks struct {
	last     bool
	sessions map[uint64]*markToday
	totals   map[unique.Handle[string]]*ranked
	visitors map[visitorMark]int // number of sessions of a visitor with a mark
}

// marked is a session with its mark and its page views. The mark is empty if the session has no page view.
type marked struct {
	value   unique.Handle[string]
	visitor uint64
	viewed  uint64
}

// visitorMark is a visitor with a session that has a mark.
type visitorMark struct {
	value   unique.Handle[string]
	visitor uint64
}

// markToday is a session with its mark, and the position of the marking page view among the events. The mark is empty
// if the session has no page view yet.
type markToday struct {
	marked
	place   string
	balance int64
}

func newTodayMarks(last bool) *todayMarks {
	return &todayMarks{last: last, sessions: map[uint64]*markToday{}, totals: map[unique.Handle[string]]*ranked{}, visitors: map[visitorMark]int{}}
}

func (t *todayMarks) add(r *todayRow) {
	for _, number := range r.sessions {
		s := t.session(number)
		t.count(s, -1)
		s.visitor = r.visitors[0]
		s.viewed += r.views
		if r.views > 0 && (s.place == "" || t.last == (r.place > s.place)) {
			s.value, s.place = unique.Make(r.value), r.place
		}
		t.count(s, 1)
	}
}

func (t *todayMarks) session(number uint64) *markToday {
	s := t.sessions[number]
	if s == nil {
		s = &markToday{marked: marked{value: unique.Make("")}}
		t.sessions[number] = s
	}
	return s
}

func (t *todayMarks) change(session uint64, by int64) {
	s := t.session(session)
	t.count(s, -1)
	s.balance += by
	t.count(s, 1)
}

// count adds a session to the sums of its mark, or subtracts it. A subtraction is an unsigned number that wraps around.
func (t *todayMarks) count(s *markToday, times int) {
	if s.value == unique.Make("") {
		return
	}
	total := t.totals[s.value]
	if total == nil {
		total = &ranked{value: s.value}
		t.totals[s.value] = total
	}
	total.sessions += uint64(times)
	total.pageviews += uint64(times) * s.viewed
	if s.balance > 0 {
		total.bounces += uint64(times)
	}
	pair := visitorMark{s.value, s.visitor}
	before := t.visitors[pair]
	after := before + times
	if after == 0 {
		delete(t.visitors, pair)
		total.visitors--
		return
	}
	t.visitors[pair] = after
	if before == 0 {
		total.visitors++
	}
}

func (t *todayMarks) ranked() []ranked {
	out := make([]ranked, 0, len(t.totals))
	for _, total := range t.totals {
		if total.sessions > 0 {
			out = append(out, *total)
		}
	}
	return out
}

func (t *todayMarks) size() int {
	const perSession, perValue = 250, 200
	return perSession*len(t.sessions) + perValue*len(t.totals)
}
