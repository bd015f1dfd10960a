package traffic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Days is the number of past days with visits.
const Days = 420

// guard is the time around instants that move with the clock in which there are no events: reads of ranges that end now
// may run this long after the plan was made.
const guard = 45 * time.Minute

// Settings describe a plan.
type Settings struct {
	Seed     uint64
	Visitors int
	Zone     *time.Location
	// Now is the latest moment of the plan.
	Now time.Time
}

// planner makes one plan.
type planner struct {
	Settings
	random *rand.Rand
	edges  []time.Time
	sent   []*Sent
	shifts []time.Time
}

// Plan returns all items to send, in order.
func Plan(settings Settings) []*Sent {
	p := &planner{Settings: settings, random: rand.New(rand.NewPCG(settings.Seed, 7))}
	p.Now = p.Now.In(p.Zone)
	p.findEdges()
	p.findShifts()
	for n := range p.Visitors {
		p.visitor(n)
	}
	slices.SortStableFunc(p.sent, func(a, b *Sent) int { return a.arrives.Compare(b.arrives) })
	p.repeat()
	return p.sent
}

// findEdges lists the beginnings of the ranges that end now, and of the windows before them.
func (p *planner) findEdges() {
	ends := []time.Time{p.Now.Add(-24 * time.Hour), p.Now.AddDate(-1, 0, 0)}
	for _, days := range []int{1, 7, 14, 30, 90} {
		ends = append(ends, p.Now.AddDate(0, 0, -days))
	}
	for _, end := range ends {
		p.edges = append(p.edges, end, end.Add(-p.Now.Sub(end)))
	}
	// The window before today is as long as today so far.
	p.edges = append(p.edges, p.Now)
}

// findShifts lists the instants of local clock changes in the span.
func (p *planner) findShifts() {
	for at := p.Now.AddDate(0, 0, -Days); ; {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.After(p.Now) {
			return
		}
		p.shifts, at = append(p.shifts, end), end
	}
}

func (p *planner) chance(percent int) bool { return p.random.IntN(100) < percent }

func (p *planner) pick(words []string) string { return words[p.random.IntN(len(words))] }

// begin chooses the beginning of a session: mostly recent, some around midnights and clock changes.
func (p *planner) begin() time.Time {
	span := Days * 24 * time.Hour
	if p.chance(60) {
		span = 40 * 24 * time.Hour
	}
	at := p.Now.Add(-time.Minute - time.Duration(p.random.Int64N(int64(span))))
	switch {
	case len(p.shifts) > 0 && p.chance(8):
		at = p.shifts[p.random.IntN(len(p.shifts))].Add(time.Duration(p.random.Int64N(int64(6*time.Hour))) - 3*time.Hour)
	case p.chance(12):
		at = time.Date(at.Year(), at.Month(), at.Day(), 23, 40+p.random.IntN(20), p.random.IntN(60), 0, p.Zone)
	}
	return at.Add(time.Duration(p.random.IntN(1000)) * time.Millisecond).Truncate(time.Millisecond)
}

// visitor plans the visits of one visitor.
func (p *planner) visitor(n int) {
	v := person{planner: p, number: n, agent: p.pick(agents()), address: p.pick(addresses()), environment: "production"}
	if v.bot = p.chance(7); v.bot {
		v.agent = p.pick(crawlers())
	}
	v.mixed = !v.bot && p.chance(6)
	switch {
	case p.chance(12):
		v.environment = "staging"
	case p.chance(4):
		v.environment = "development"
	}
	v.distinct, v.anonymous = fmt.Sprintf("user-%d", n), fmt.Sprintf("anon-%d", n)
	switch p.random.IntN(4) {
	case 0:
		v.stays, v.distinct = true, ""
	case 1: // is known from some session on
	default:
		v.known, v.anonymous = true, ""
	}
	sessions := make([]time.Time, 1+p.random.IntN(3)*p.random.IntN(5))
	for i := range sessions {
		sessions[i] = p.begin()
	}
	slices.SortFunc(sessions, time.Time.Compare)
	v.belated = len(sessions) <= 3 && p.chance(10)
	for i, at := range sessions {
		v.session(i, at)
	}
	if p.chance(4) {
		v.crowd(p.begin())
	}
	if p.chance(6) {
		v.bridge(p.begin())
	}
}

// add schedules an item unless it falls into a guarded time.
func (p *planner) add(s *Sent, delay time.Duration) {
	for _, edge := range p.edges {
		if s.Ts.After(edge.Add(-2*time.Minute)) && s.Ts.Before(edge.Add(2*guard)) {
			return
		}
	}
	oldest := p.Now.AddDate(0, 0, -Days)
	if s.Ts.Before(oldest) || s.Ts.After(p.Now) {
		return
	}
	marker := len(p.sent)
	s.Ts = s.Ts.UTC()
	s.ID, s.arrives = fmt.Sprintf("e-%x-%d", p.Seed, marker), s.Ts.Add(delay)
	if s.Type == "event" && p.chance(5) {
		s.ID, s.Marker = "", marker+1
		s.Properties = json.RawMessage(fmt.Sprintf(`{"marker":%d}`, s.Marker))
	}
	p.sent = append(p.sent, s)
}

// repeat sends some items again, soon or long after.
func (p *planner) repeat() {
	var out []*Sent
	for i, s := range p.sent {
		out = append(out, s)
		if p.chance(3) {
			again := *p.sent[p.random.IntN(i+1)]
			again.Again = true
			out = append(out, &again)
		}
	}
	p.sent = out
}
