package traffic

import (
	"encoding/json"
	"fmt"
	"time"
)

// person is one visitor while the plan is made.
type person struct {
	*planner

	number              int
	agent, address      string
	environment         string
	distinct, anonymous string
	// known is set for a person with a distinct id, stays for one that never gets any.
	known, stays bool
	bot          bool
	// mixed is set for a visitor whose id a bot sometimes uses.
	mixed bool
	// belated is set for a visitor that sends some events days late.
	belated bool
	// jumbled is set while the items of a visit arrive in a random order.
	jumbled bool
}

// item begins an item of the person.
func (v *person) item(kind string, at time.Time) *Sent {
	agent, bot := v.agent, v.bot
	if v.mixed && v.chance(25) {
		agent, bot = v.pick(crawlers()), true
	}
	s := &Sent{Environment: v.environment, Bot: bot, Item: Item{
		Type: kind, Ts: at, AnonymousID: v.anonymous, Context: Context{IP: v.address, UserAgent: agent},
	}}
	if v.known {
		s.DistinctID = v.distinct
	}
	if v.number%3 == 0 {
		s.Context.Locale, s.Context.Screen = "de-DE", map[string]any{"width": 1440, "height": 900}
		s.Context.Library, s.Release = "web/1.4.2", "2.0.1"
	}
	return s
}

// session plans one visit.
func (v *person) session(number int, at time.Time) {
	named := ""
	if v.chance(12) {
		named = fmt.Sprintf("client-%x-%d-%d", v.Seed, v.number, number)
	}
	v.jumbled = v.chance(25)
	defer func() { v.jumbled = false }()
	events := 1 + v.random.IntN(3)*v.random.IntN(5)
	landing := true
	for range events {
		s := v.event(at, landing)
		s.SessionID = named
		v.add(s, v.delay())
		landing = false
		if !v.known && !v.stays && v.chance(20) {
			v.identify(at, named)
		}
		switch pause := v.random.IntN(20); {
		case pause < 2: // the same instant
		case pause == 19:
			at = at.Add(30*time.Minute - time.Second + time.Duration(v.random.IntN(3))*time.Second)
		default:
			at = at.Add(time.Duration(1+v.random.IntN(9*60*1000)) * time.Millisecond)
		}
	}
}

// crowd plans many simultaneous visits, as a shared login or a server sends them.
func (v *person) crowd(at time.Time) {
	visits := 5 + v.random.IntN(30)
	for range 1 + v.random.IntN(5) {
		for n := range visits {
			s := v.event(at.Add(time.Duration(v.random.IntN(60_000))*time.Millisecond), false)
			s.SessionID = fmt.Sprintf("crowd-%x-%d-%d", v.Seed, v.number, n)
			v.add(s, v.delay())
		}
		at = at.Add(time.Duration(1+v.random.IntN(20)) * time.Minute)
	}
}

// bridge plans two visits with a pause of less than an hour, and an event between them that arrives last. It joins the later visit, and
// the two stay apart.
func (v *person) bridge(at time.Time) {
	pause := 31*time.Minute + time.Duration(v.random.IntN(28*60))*time.Second
	v.add(v.event(at, true), 0)
	v.add(v.event(at.Add(pause), true), 0)
	v.add(v.event(at.Add(pause/2), false), pause)
}

// delay returns the delay of an event's arrival.
func (v *person) delay() time.Duration {
	switch {
	case v.jumbled:
		return time.Duration(v.random.IntN(25*60)) * time.Second
	case v.belated && v.chance(30):
		return time.Duration(1+v.random.IntN(72)) * time.Hour
	case v.chance(12):
		return time.Duration(v.random.IntN(25*60)) * time.Second
	}
	return 0
}

// late returns the delay of an item that identifies the person.
func (v *person) late() time.Duration {
	if v.jumbled {
		return v.delay()
	}
	return 0
}

// identify identifies the person, sometimes under a second id as well.
func (v *person) identify(at time.Time, session string) {
	v.known = true
	s := v.item("identify", at.Add(time.Millisecond))
	s.SessionID, s.Traits = session, json.RawMessage(`{"plan":"pro","company":"Example"}`)
	v.add(s, v.late())
	if v.chance(30) {
		s = v.item("alias", at.Add(2*time.Millisecond))
		s.SessionID, s.PreviousID = session, v.anonymous
		v.add(s, v.late())
	}
}

const site = "https://shop.example.com"

// event plans one event of a visit; the first one is a landing with an origin.
func (v *person) event(at time.Time, landing bool) *Sent {
	path := v.pick(paths())
	switch kind := v.random.IntN(20); {
	case landing && kind < 17, kind < 9:
		s := v.item("page", at)
		s.URL = site + path
		switch within := v.random.IntN(10); {
		case landing || within == 0: // sometimes the visitor follows another campaign within the visit
			s.URL += v.pick(queries())
			s.Referrer = v.pick(referrers())
		case within < 6:
			s.Referrer = site + v.pick(paths())
		}
		if v.chance(15) {
			s.Type, s.Name = "event", "$pageview"
		}
		if v.chance(30) {
			s.Title = "Title of " + path
		}
		if v.chance(6) {
			s.Context.Campaign = &Campaign{Source: "stated", Medium: "affiliate", Name: "c-1"}
		}
		if v.chance(10) {
			s.EngagedMs = int64(v.random.IntN(20_000))
		}
		return s
	case kind < 11:
		s := v.item("event", at)
		s.Name, s.EngagedMs, s.Path = "engagement", int64(1+v.random.IntN(15_000)), path
		return s
	}
	return v.deed(at, path)
}

// deed plans an event other than a page view, such as a purchase with its price.
func (v *person) deed(at time.Time, path string) *Sent {
	s := v.item("event", at)
	s.Name = v.pick(names())
	if text := v.pick(properties()); text != "" {
		s.Properties = json.RawMessage(text)
	}
	if v.chance(70) {
		s.Path = path
	}
	if s.Name == "purchase" {
		value := float64(v.random.IntN(100_000)) / 100
		s.Value, s.Currency = &value, v.pick([]string{"EUR", "USD", "NPR"})
	}
	return s
}
