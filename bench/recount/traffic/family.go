package traffic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// known is the number of distinct ids of a family, devices the number of anonymous ones. ghosts is the number of ids
// that send nothing themselves until the last round.
const (
	knownIDs = 3
	devices  = 3
	ghosts   = 2
)

// roundMarkers distinguishes the markers of rounds.
const roundMarkers = 1_000_000

// family is a few ids that identify themselves as each other on shared devices.
type family struct {
	*planner

	number, round int
	environment   string
	taken         map[time.Time]bool
}

// Families plans one of several rounds of events of families, whose ids are the same in all rounds. Each family
// identifies its ids on its devices and joins them by aliases, in an order that differs from the times of the events.
// No two of the events have the same instant.
func Families(settings Settings, round, families, items int) []*Sent {
	p := &planner{Settings: settings, random: rand.New(rand.NewPCG(settings.Seed, uint64(100+round)))}
	p.Now = p.Now.In(p.Zone)
	p.findEdges()
	p.findShifts()
	taken := map[time.Time]bool{}
	for n := range families {
		f := family{planner: p, number: n, round: round, environment: "production", taken: taken}
		if n%5 == 4 {
			f.environment = "staging"
		}
		for range 1 + p.random.IntN(items) {
			f.deed()
		}
	}
	for i, s := range p.sent {
		if s.ID != "" {
			s.ID = fmt.Sprintf("f-%x-%d-%d", settings.Seed, round, i)
			continue
		}
		s.Marker += (round + 1) * roundMarkers
		s.Properties = json.RawMessage(fmt.Sprintf(`{"marker":%d}`, s.Marker))
	}
	slices.SortStableFunc(p.sent, func(a, b *Sent) int { return a.arrives.Compare(b.arrives) })
	p.repeat()
	return p.sent
}

// id chooses one of the ids of a kind.
func (f *family) id(kind string, of int) string {
	return fmt.Sprintf("%s-%d-%d", kind, f.number, f.random.IntN(of))
}

// instant chooses a unique instant for an event: in one millisecond of ten for each round.
func (f *family) instant() time.Time {
	const rounds = 10
	at := f.begin().Truncate(rounds * time.Millisecond).Add(time.Duration(f.round) * time.Millisecond)
	for f.taken[at] {
		at = at.Add(-rounds * time.Millisecond)
	}
	f.taken[at] = true
	return at
}

// deed plans one event, and some that follow it within the visit.
func (f *family) deed() {
	v := person{planner: f.planner, number: f.number, agent: f.pick(agents()), address: f.pick(addresses()), environment: f.environment, belated: f.chance(40)}
	if v.bot = f.chance(6); v.bot {
		v.agent = f.pick(crawlers())
	}
	at := f.instant()
	switch kind := f.random.IntN(20); {
	case kind < 7:
		v.anonymous = f.id("device", devices)
	case kind < 11:
		v.known, v.distinct = true, f.id("member", knownIDs)
	case kind < 13:
		v.known, v.distinct, v.anonymous = true, f.id("member", knownIDs), f.id("device", devices)
	case kind < 17:
		f.identify(&v, at)
		return
	case kind < 18:
		f.alias(&v, at)
		return
	default:
		v.known, v.distinct = true, f.id("member", knownIDs)
		if f.round > 0 {
			v.distinct = f.id("ghost", ghosts)
		}
	}
	for n := range 1 + f.random.IntN(3) {
		f.add(v.event(at, n == 0), v.delay())
		at = f.instantAfter(at)
	}
}

// instantAfter returns a free instant some minutes after another.
func (f *family) instantAfter(at time.Time) time.Time {
	for {
		at = at.Add(time.Duration(1+f.random.IntN(60*100)) * 10 * time.Millisecond)
		if !f.taken[at] {
			f.taken[at] = true
			return at
		}
	}
}

// identify links a device to a distinct id, or sometimes two distinct ids, which links nothing.
func (f *family) identify(v *person, at time.Time) {
	v.known, v.distinct = true, f.id("member", knownIDs)
	switch f.random.IntN(8) {
	case 0:
		v.anonymous = f.id("member", knownIDs)
	case 1:
	default:
		v.anonymous = f.id("device", devices)
	}
	s := v.item("identify", at)
	s.Traits = f.traits(v.distinct)
	f.add(s, v.delay())
}

// alias joins two ids, some of which never send anything.
func (f *family) alias(v *person, at time.Time) {
	v.known, v.distinct = true, f.id("member", knownIDs)
	s := v.item("alias", at)
	switch f.random.IntN(4) {
	case 0:
		s.PreviousID = f.id("ghost", ghosts)
	case 1:
		s.PreviousID = f.id("device", devices)
	default:
		s.PreviousID = f.id("member", knownIDs)
	}
	s.AnonymousID = s.PreviousID
	f.add(s, v.delay())
}

// traits generates the traits of an identify: some of several traits, null for removed ones, and set-once traits.
func (f *family) traits(id string) json.RawMessage {
	told, once := map[string]any{}, map[string]any{}
	for _, trait := range []struct {
		name  string
		value any
	}{
		{"email", fmt.Sprintf("%s.%d@example.com", id, f.random.IntN(3))},
		{"name", f.pick([]string{"Ada Lovelace", "Grace Größe", "Alan"})},
		{"company", f.pick([]string{"Acme", "Globex", "größe"})},
		{"plan", f.pick([]string{"free", "pro", "team"})},
		{"score", f.random.IntN(100)},
		{"beta", f.chance(50)},
		{"joined", f.Now.AddDate(0, 0, -f.random.IntN(200)).UTC().Format(time.RFC3339)},
	} {
		switch n := f.random.IntN(20); {
		case n < 8:
			told[trait.name] = trait.value
		case n < 10:
			told[trait.name] = nil
		case n < 12:
			once[trait.name] = trait.value
		}
	}
	if len(once) > 0 {
		told["$set_once"] = once
	}
	return encoded(told)
}

// encoded returns a value as JSON; all generated values can be encoded.
func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
