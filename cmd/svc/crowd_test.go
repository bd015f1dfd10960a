package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"svc/domain/event"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/database"
)

// crowd generates the events of 500,000 visitors of three applications: sessions of one to nine events, folded as
// event.Session does it, stored in the order of their time.
type crowd struct {
	random       *rand.Rand
	environments [3]uint64
	from, to     time.Time
	events       int
}

const (
	crowdVisitors  = 500_000
	crowdSession   = 5 // events, on average
	crowdPaths     = 400
	crowdBlockRows = 50_000
	// crowdTail is how long the last session may last.
	crowdTail = 40 * time.Minute
)

// newCrowd returns a crowd with sessions that begin between two instants. A third of its events belong to the
// environment.
func newCrowd(environment uint64, from, to time.Time, events int) *crowd {
	return &crowd{
		random:       rand.New(rand.NewPCG(1, 2)),
		environments: [3]uint64{environment, environment ^ 1, environment ^ 2},
		from:         from, to: to.Add(-crowdTail), events: events,
	}
}

// store stores all events.
func (c *crowd) store(ctx context.Context, db *database.DB) error {
	block := db.NewBlock()
	sessions := max(c.events/crowdSession, 1)
	step := c.to.Sub(c.from) / time.Duration(sessions)
	number := uint64(0)
	for left, n := c.events, 0; left > 0; n++ {
		left -= c.session(block, n, c.from.Add(time.Duration(n)*step), left)
		if block.Rows() < crowdBlockRows && left > 0 {
			continue
		}
		number++
		if err := db.Insert(ctx, fmt.Sprint("crowd-", number), number, block); err != nil {
			return err
		}
		block.Reset()
	}
	return nil
}

// session appends the events of one session, at most most, and returns their number.
func (c *crowd) session(block *block.Block, n int, at time.Time, most int) int {
	r := c.random
	visitor := r.IntN(crowdVisitors)
	at = at.Truncate(time.Millisecond)
	e := c.visit(visitor)
	e.SessionID = fmt.Sprintf("%016x", r.Uint64())
	session := event.Session{ID: e.SessionID, Started: at.UnixMilli(), First: at.UnixMilli(), Last: at.UnixMilli()}
	count := min(1+r.IntN(2*crowdSession-1), most)
	for i := range count {
		e.Name = event.PageView
		if i > 0 {
			e.Name = []string{event.PageView, event.PageView, event.PageView, event.EngagementName, "signup", "purchase"}[r.IntN(6)]
		}
		engaged := int64(0)
		if e.Name == event.EngagementName {
			engaged = r.Int64N(30_000)
		}
		delta := session.Add(event.SessionStep{
			TsMs: at.UnixMilli(), Pageview: event.IsPageview(e.Name), Interactive: event.IsInteractive(e.Name), EngagedMs: engaged,
		})
		e.ID = fmt.Sprintf("%016x-%016x", r.Uint64(), r.Uint64())
		e.Ts, e.ReceivedAt = at, at.Add(20*time.Millisecond)
		e.Path = "/p/" + strconv.Itoa(int(crowdPaths*r.Float64()*r.Float64()))
		e.URL, e.Title = "https://shop.example.com"+e.Path+"?utm_source=news", "Item "+e.Path
		block.Append(&event.Row{
			Event: e, EnvironmentNumber: c.environments[n%len(c.environments)], SessionStartedMs: session.Started,
			Bounce: delta.Bounce, DurationMs: delta.DurationMs, EngagedMs: engaged, RetentionDays: 3650,
		})
		at = at.Add(time.Duration(r.Int64N(int64(crowdTail) / 9)).Truncate(time.Millisecond))
	}
	return count
}

// visit holds the common fields of the events of a visitor's session.
func (c *crowd) visit(visitor int) event.Event {
	who := "user-" + strconv.Itoa(visitor)
	source := []string{"direct", "direct", "google", "google", "news", "t.co"}[c.random.IntN(6)]
	return event.Event{
		Referrer: "https://www.google.com/", DistinctID: who, AnonymousID: "a-" + who, PersonID: who,
		Country: []string{"DE", "US", "FR", "NP", "GB", "US", "DE", "US"}[visitor%8], Region: "BE", City: "Berlin", Device: "desktop",
		Browser: []string{"Chrome", "Chrome", "Chrome", "Safari", "Safari", "Firefox"}[visitor%6], BrowserVersion: "130", OS: "Linux",
		Screen: "1920x1080", Locale: "en-US", Library: "svc-js", IsBot: visitor%50 == 0,
		Properties:  []byte(`{"plan":"pro","price":49.95,"currency":"EUR","items":3}`),
		Attribution: event.Attribution{Source: source, Medium: "none", ReferrerDomain: "google.com", UTMSource: source},
	}
}
