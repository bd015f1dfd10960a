package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-faster/city"

	"svc"
)

// Fixture returns the events of the application acme/web, newest first: two
// visitors of today and one of yesterday.
func Fixture(now time.Time) []svc.Event {
	at := func(minutes int) time.Time {
		return now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Millisecond)
	}
	row := func(id string, minutes int, name, path, visitor, session string) svc.Event {
		return svc.Event{
			ID: id, Ts: at(minutes), ReceivedAt: at(minutes), Name: name, URL: "https://acme.example" + path, Path: path, Title: "Acme",
			DistinctID: visitor, SessionID: session, Attribution: svc.Attribution{Source: svc.SourceDirect, Medium: svc.MediumNone},
			Country: "DE", Device: "desktop", Browser: "Firefox", OS: "Linux", Locale: "de-DE", Properties: json.RawMessage("{}"), Environment: svc.DefaultEnvironment,
		}
	}
	events := []svc.Event{
		row("evt_05", 1, svc.PageView, "/pricing", "ada@acme.example", "ses_2"),
		row("evt_04", 2, "signup", "/", "ada@acme.example", "ses_2"),
		row("evt_03", 3, svc.PageView, "/", "ada@acme.example", "ses_2"),
		row("evt_02", 90, svc.PageView, "/", "visitor-2", "ses_1"),
		row("evt_01", 24*60, svc.PageView, "/", "visitor-3", "ses_0"),
	}
	events[1].Properties = json.RawMessage(`{"plan":"pro","contact":{"email":"ada@acme.example"}}`)
	return events
}

// selected returns the events that a read covers.
func (m *Memory) selected(scope svc.AnalyticsScope, window svc.Window) []svc.Event {
	var out []svc.Event
	for _, event := range m.events {
		inside := !event.Ts.Before(window.From) && event.Ts.Before(window.To) && event.Environment == scope.Environment.Slug
		matches := !slices.ContainsFunc(scope.Filters, func(f svc.Filter) bool { return valueOf(&event, f.Dimension) != f.Value })
		if inside && matches {
			out = append(out, event)
		}
	}
	return out
}

// valueOf returns an event's value of the dimensions that the fixture has.
func valueOf(event *svc.Event, dimension svc.Dimension) string {
	switch dimension {
	case svc.DimPath:
		return event.Path
	case svc.DimSource:
		return event.Source
	case svc.DimCountry:
		return event.Country
	case svc.DimEvent:
		return event.Name
	case "property.plan":
		return map[bool]string{true: "pro"}[strings.Contains(string(event.Properties), "pro")]
	default:
		return ""
	}
}

// distinct counts the different non-empty values of events.
func distinct(events []svc.Event, value func(*svc.Event) string) uint64 {
	seen := map[string]bool{}
	for i := range events {
		if v := value(&events[i]); v != "" {
			seen[v] = true
		}
	}
	return uint64(len(seen))
}

func pageviews(events []svc.Event) uint64 {
	return uint64(len(slices.DeleteFunc(slices.Clone(events), func(e svc.Event) bool { return !svc.IsPageview(e.Name) })))
}

// headline folds events into the metrics of an overview. It measures the sessions of the events as a whole.
func (m *Memory) headline(events []svc.Event, location *time.Location) svc.Headline {
	h := svc.Headline{
		Visitors:       distinct(events, func(e *svc.Event) string { return e.Ts.In(location).Format(time.DateOnly) + e.Visitor() }),
		UniqueVisitors: distinct(events, (*svc.Event).Visitor),
		Pageviews:      pageviews(events), Events: uint64(len(events)),
		Sessions: distinct(events, func(e *svc.Event) string { return e.SessionID }),
	}
	sessions := map[string]*svc.Session{}
	for i := range events {
		sessions[events[i].SessionID] = nil
	}
	for i := range m.events {
		event := &m.events[i]
		session, asked := sessions[event.SessionID]
		if !asked {
			continue
		}
		ts := event.Ts.UnixMilli()
		if session == nil {
			session = &svc.Session{First: ts, Last: ts}
			sessions[event.SessionID] = session
		}
		session.Add(svc.SessionStep{TsMs: ts, Pageview: svc.IsPageview(event.Name), Interactive: svc.IsInteractive(event.Name)})
	}
	var bounces, duration int64
	for _, session := range sessions {
		duration += session.DurationMs()
		if session.Bounced() {
			bounces++
		}
	}
	if n := int64(len(sessions)); n > 0 {
		h.BounceRate, h.AvgDurationMs = float64(bounces)/float64(n), uint64(duration/n)
	}
	return h
}

// covered returns the window of a read and whether it is cut.
func covered(scope svc.AnalyticsScope) (svc.Window, bool) {
	if len(scope.Filters) == 0 {
		return scope.Window, false
	}
	return scope.Window.Capped()
}

// Overview implements analytics.Analytics.
func (m *Memory) Overview(_ context.Context, scope svc.AnalyticsScope, goals []svc.Matcher) (svc.Overview, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	count := func(window svc.Window) svc.Headline {
		events := m.selected(scope, window)
		h := m.headline(events, window.Location)
		h.Conversions = conversions(goals, events)
		return h
	}
	return svc.Overview{Window: scope.Window, Capped: capped, Current: count(window), Previous: count(window.Previous())}, nil
}

// Timeseries implements analytics.Analytics.
func (m *Memory) Timeseries(_ context.Context, scope svc.AnalyticsScope, metric svc.Metric, interval svc.Interval, goals []svc.Matcher) (svc.Series, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	series := svc.Series{Metric: metric, Interval: interval, Capped: capped}
	for _, begin := range window.Buckets(interval) {
		bucket := window
		bucket.From, bucket.To = begin, interval.Next(begin)
		events := m.selected(scope, bucket)
		h := m.headline(events, window.Location)
		value := map[svc.Metric]uint64{
			svc.MetricVisitors: h.UniqueVisitors, svc.MetricPageviews: h.Pageviews, svc.MetricSessions: h.Sessions, svc.MetricEvents: h.Events,
			svc.MetricConversions: conversions(goals, events),
		}[metric]
		series.Points = append(series.Points, svc.Point{T: begin, Value: float64(value)})
	}
	return series, nil
}

// Live implements analytics.Presence.
func (m *Memory) Live(_ context.Context, env svc.Environment) (svc.Live, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window := svc.Window{From: m.now().Add(-svc.LiveSeconds * time.Second), To: m.now(), Location: time.UTC}
	events := m.selected(svc.AnalyticsScope{Environment: env}, window)
	rows := func(value func(*svc.Event) string) []svc.LiveRow {
		visitors := map[string][]svc.Event{}
		for i := range events {
			visitors[value(&events[i])] = append(visitors[value(&events[i])], events[i])
		}
		var out []svc.LiveRow
		for word, events := range visitors {
			out = append(out, svc.LiveRow{Value: word, Visitors: distinct(events, (*svc.Event).Visitor)})
		}
		slices.SortFunc(out, func(a, b svc.LiveRow) int {
			return cmp.Or(cmp.Compare(b.Visitors, a.Visitors), strings.Compare(a.Value, b.Value))
		})
		return out
	}
	return svc.Live{
		AsOf: m.now(), Visitors: distinct(events, (*svc.Event).Visitor), Pageviews: pageviews(events),
		Pages: rows(func(e *svc.Event) string { return e.Path }), Sources: rows(func(e *svc.Event) string { return e.Source }),
		Countries: rows(func(e *svc.Event) string { return e.Country }), Devices: rows(func(e *svc.Event) string { return e.Device }),
	}, nil
}

// feed implements analytics.Events.
type feed struct{ *Memory }

// List returns a page of the feed.
func (f feed) List(_ context.Context, query svc.EventQuery) (page []svc.Event, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, event := range f.events {
		event.PersonID = personID(&event)
		if !matches(&event, query) {
			continue
		}
		if len(page) == query.Limit {
			return page, true, nil
		}
		page = append(page, event)
	}
	return page, false, nil
}

// personID names the person of an event of the fixture, where every visitor is a person.
func personID(event *svc.Event) string {
	if event.IsBot {
		return ""
	}
	return svc.PersonID(city.CH64([]byte(event.Visitor())))
}

// matches reports whether an event is in the feed of a query.
func matches(event *svc.Event, query svc.EventQuery) bool {
	if event.Environment != query.Environment.Slug {
		return false
	}
	for _, pair := range [][2]string{{query.ID, event.ID}, {query.Name, event.Name}, {query.PersonID, event.PersonID}, {query.SessionID, event.SessionID}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	if before := query.Before; before != nil && event.Key().Compare(*before) >= 0 {
		return false
	}
	text := strings.Join([]string{event.Name, event.Path, event.URL, event.DistinctID, string(event.Properties)}, "\n")
	if query.SearchMasked {
		text = svc.MaskShapes(text)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(query.Search))
}

// Names returns a page of the catalogue.
func (f feed) Names(_ context.Context, query svc.EventNamesQuery, goals []svc.Matcher) (svc.EventNames, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window, capped := covered(query.AnalyticsScope)
	byName := map[string][]svc.Event{}
	all := query.AnalyticsScope
	all.Filters = nil
	completed := f.selected(all, window)
	for _, event := range f.selected(query.AnalyticsScope, window) {
		name := event.Name
		if query.Masked {
			name = svc.MaskShapes(name)
		}
		byName[name] = append(byName[name], event)
	}
	names := svc.EventNames{Capped: capped}
	for name, events := range byName {
		last := events[0].Ts
		ofRow := slices.DeleteFunc(slices.Clone(completed), func(e svc.Event) bool {
			return !slices.ContainsFunc(events, func(shown svc.Event) bool { return shown.Visitor() == e.Visitor() })
		})
		names.Rows = append(names.Rows, svc.EventName{
			Name: name, Count: uint64(len(events)), Users: distinct(events, (*svc.Event).Visitor), LastSeenAt: &last,
			Conversions: conversions(goals, ofRow),
		})
	}
	slices.SortFunc(names.Rows, func(a, b svc.EventName) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	if after := query.After; after != nil {
		names.Rows = slices.DeleteFunc(names.Rows, func(row svc.EventName) bool {
			return row.Count > after.Count || row.Count == after.Count && row.Name <= after.Name
		})
	}
	names.More = len(names.Rows) > query.Limit
	names.Rows = names.Rows[:min(query.Limit, len(names.Rows))]
	return names, nil
}

// Properties implements analytics.Events; the fixture has so few events that each value is frequent.
func (f feed) Properties(_ context.Context, query svc.EventPropertiesQuery) (svc.EventProperties, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window, capped := query.Window.Capped()
	found := svc.EventProperties{Capped: capped}
	byKey := map[string][]json.RawMessage{}
	for _, event := range f.selected(query.AnalyticsScope, window) {
		if query.Name != "" && event.Name != query.Name {
			continue
		}
		found.Events++
		var properties map[string]json.RawMessage
		if err := json.Unmarshal(event.Properties, &properties); err != nil {
			return found, err
		}
		for key, value := range properties {
			if strings.Contains(strings.ToLower(key), strings.ToLower(query.Search)) {
				byKey[key] = append(byKey[key], value)
			}
		}
	}
	for key, values := range byKey {
		found.Rows = append(found.Rows, propertyRow(key, values, query.Masked))
	}
	slices.SortFunc(found.Rows, func(a, b svc.EventProperty) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Key, b.Key))
	})
	if after := query.After; after != nil {
		found.Rows = slices.DeleteFunc(found.Rows, func(row svc.EventProperty) bool {
			return row.Count > after.Count || row.Count == after.Count && row.Key <= after.Key
		})
	}
	found.More = len(found.Rows) > query.Limit
	found.Rows = found.Rows[:min(query.Limit, len(found.Rows))]
	return found, nil
}

// propertyRow counts the values of a key, which are texts or objects.
func propertyRow(key string, values []json.RawMessage, masked bool) svc.EventProperty {
	row := svc.EventProperty{Key: key, Count: uint64(len(values)), Values: []svc.EventPropertyValue{}}
	seen := map[string]uint64{}
	for _, value := range values {
		kind := svc.PropertyObject
		if value[0] == '"' {
			kind = svc.PropertyText
		}
		if seen[string(value)]++; !slices.Contains(row.Types, kind) {
			row.Types = append(row.Types, kind)
		}
	}
	row.DistinctValues = uint64(len(seen))
	for value, count := range seen {
		var text string
		if json.Unmarshal([]byte(value), &text) != nil {
			continue
		}
		if masked {
			if text = svc.MaskShapes(text); svc.IsPersonal(key) {
				text = "***"
			}
		}
		row.Values = append(row.Values, svc.EventPropertyValue{Value: text, Count: count})
	}
	return row
}
