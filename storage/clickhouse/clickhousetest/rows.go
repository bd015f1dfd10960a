package clickhousetest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// Production is the environment of the rows.
func Production() domain.Environment { return domain.Environment{Number: 7, Slug: "production"} }

// Location returns a time zone.
func Location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// Rows returns the rows of 150 visitors over five weeks.
func Rows() []event.Row {
	return Generate(1, 150, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC))
}

// Row returns a page view.
func Row(environment uint64, ts time.Time, id, visitor, session string) *event.Row {
	return &event.Row{
		EnvironmentNumber: environment, SessionStartedMs: ts.UnixMilli(), Bounce: 1, RetentionDays: 365,
		Event: event.Event{ID: id, Ts: ts, ReceivedAt: ts, Name: event.PageView, DistinctID: visitor, SessionID: session, Path: "/"},
	}
}

// site generates the events of visitors of one environment: sessions with page views and other events, including bots.
// It divides them into sessions like event.Session.
type site struct {
	random      *rand.Rand
	environment uint64
	rows        []event.Row
}

// visitor generates the sessions of one visitor between two times.
func (s *site) visitor(n int, from, to time.Time) {
	r := s.random
	distinctID, anonymousID := fmt.Sprintf("user-%d", n), fmt.Sprintf("anon-%d", n)
	if n%3 == 0 {
		distinctID = ""
	}
	bot := n%11 == 0
	b := browsers()[r.IntN(5)]
	for range 1 + r.IntN(4) {
		at := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))).Truncate(time.Millisecond))
		id := fmt.Sprintf("s-%d-%d", n, at.UnixMilli())
		source := []string{"direct", "google", "news"}[r.IntN(3)]
		session := event.Session{ID: id, Started: at.UnixMilli(), First: at.UnixMilli(), Last: at.UnixMilli()}
		for i := range 1 + r.IntN(6) {
			if i > 0 {
				at = at.Add(time.Duration(r.Int64N(int64(25 * time.Minute)))).Truncate(time.Millisecond)
			}
			name := []string{event.PageView, event.PageView, "$pageview", "signup", "purchase", event.EngagementName}[r.IntN(6)]
			engaged := int64(0)
			if name == event.EngagementName {
				engaged = r.Int64N(20000)
			}
			delta := session.Add(event.SessionStep{TsMs: at.UnixMilli(), Pageview: event.IsPageview(name), Interactive: event.IsInteractive(name), EngagedMs: engaged})
			e := &event.Event{
				ID: fmt.Sprintf("e-%s-%d", id, i), Ts: at, ReceivedAt: at.Add(time.Second), Name: name,
				Path: fmt.Sprintf("/p/%d", r.IntN(6)), URL: "https://shop.example.com/?q=" + distinctID, Title: "Title",
				DistinctID: distinctID, AnonymousID: anonymousID, SessionID: id,
				Device: b.device, Browser: b.name, OS: b.os, Country: []string{"DE", "NP", "US"}[n%3], City: "Ü-Stadt 'quoted' \\ \t",
				Properties: []byte(`{"plan":"pro"}`), IsBot: bot, Screen: "1x1", Locale: "de",
			}
			e.Source, e.Medium, e.UTMCampaign, e.ReferrerDomain = source, "none", "spring", source+".com"
			s.rows = append(s.rows, event.Row{
				Event: *e, EnvironmentNumber: s.environment, SessionStartedMs: time.UnixMilli(session.Started).UnixMilli(),
				Bounce: delta.Bounce, DurationMs: delta.DurationMs, EngagedMs: engaged, Session: session.State(at.UnixMilli()), RetentionDays: 3650,
			})
		}
	}
}

// Generate returns the rows of a number of visitors, and rows of a second environment.
func Generate(seed uint64, visitors int, from, to time.Time) []event.Row {
	s := &site{random: rand.New(rand.NewPCG(seed, 1)), environment: 7}
	for n := range visitors {
		s.visitor(n, from, to)
	}
	s.environment = 8
	for n := range visitors / 4 {
		s.visitor(n, from, to)
	}
	s.random.Shuffle(len(s.rows), func(i, j int) { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] })
	return s.rows
}

// browser is one of the five user agents of the reference event.
type browser struct{ name, version, os, osVersion, device string }

func browsers() []browser {
	return []browser{
		{"Chrome", "130.0", "Windows", "10", "desktop"},
		{"Safari", "18.1", "macOS", "15.1", "desktop"},
		{"Firefox", "132.0", "Linux", "", "desktop"},
		{"Safari", "18.0", "iOS", "18.0", "mobile"},
		{"Chrome", "129.0", "Android", "14", "mobile"},
	}
}

// Reference generates rows like the reference event of the performance notes: 10,000 users, 200 paths, 5 user agents,
// random ids.
type Reference struct {
	random   *rand.Rand
	browsers []browser
	row      event.Row
	event    event.Event
	users    int
}

// NewReference returns a generator for rows of a number of users.
func NewReference(users int) *Reference {
	r := &Reference{random: rand.New(rand.NewPCG(1, 2)), browsers: browsers(), users: users}
	r.event = event.Event{
		Name: "$pageview", Referrer: "https://www.google.com/", Country: "DE", Region: "BE", City: "Berlin",
		Screen: "1920x1080", Locale: "en-US", Library: "svc-js",
		Properties: []byte(`{"plan":"pro","price":49.95,"currency":"EUR","items":3}`),
	}
	r.event.Attribution = event.Attribution{
		ReferrerDomain: "google.com", Source: "news", Medium: "email", UTMSource: "news", UTMMedium: "email", UTMCampaign: "spring",
	}
	r.row = event.Row{Event: r.event, EnvironmentNumber: 123456789, RetentionDays: 365}
	return r
}

// Next returns a row with a time. The row is valid until the next call.
func (r *Reference) Next(at time.Time) *event.Row {
	user, path, b := r.random.IntN(r.users), r.random.IntN(200), r.browsers[r.random.IntN(5)]
	e := &r.row.Event
	e.ID = uuid(r.random)
	e.Ts, e.ReceivedAt = at, at.Add(time.Duration(r.random.IntN(20))*time.Millisecond)
	e.URL = fmt.Sprintf("https://shop.example.com/products/item-%d?utm_source=news&utm_medium=email&utm_campaign=spring", path)
	e.Path, e.Title = fmt.Sprintf("/products/item-%d", path), fmt.Sprintf("Item %d - Example Shop", path)
	e.DistinctID, e.SessionID = fmt.Sprintf("user-%08d", user), fmt.Sprintf("sess-%08d", user)
	e.Browser, e.BrowserVersion, e.OS, e.OSVersion, e.Device = b.name, b.version, b.os, b.osVersion, b.device
	r.row.SessionStartedMs = at.Truncate(10 * time.Minute).Add(time.Duration(user) * 37 * time.Millisecond).UnixMilli()
	if r.row.Inside = user%5 != 0; !r.row.Inside { // a fifth of the events begin a visit
		r.row.SessionStartedMs = at.UnixMilli()
	}
	r.row.DurationMs = int64(r.random.IntN(60000))
	return &r.row
}

func uuid(random *rand.Rand) string {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	text := hex.EncodeToString(raw[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// CPU returns the CPU time that the process has used.
func CPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
