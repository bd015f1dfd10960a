package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/domain/person"
)

// Fixture returns the events of the application acme/web, newest first: two
// visitors of today and one of yesterday.
func Fixture(now time.Time) []event.Event {
	at := func(minutes int) time.Time {
		return now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Millisecond)
	}
	row := func(id string, minutes int, name, path, visitor, session string) event.Event {
		return event.Event{
			ID: id, Ts: at(minutes), ReceivedAt: at(minutes), Name: name, URL: "https://acme.example" + path, Path: path, Title: "Acme",
			DistinctID: visitor, SessionID: session, Attribution: event.Attribution{Source: event.SourceDirect, Medium: event.MediumNone},
			Country: "DE", Device: "desktop", Browser: "Firefox", OS: "Linux", Locale: "de-DE", Properties: json.RawMessage("{}"), Environment: domain.DefaultEnvironment,
		}
	}
	events := []event.Event{
		row("evt_05", 1, event.PageView, "/pricing", "ada@acme.example", "ses_2"),
		row("evt_04", 2, "signup", "/", "ada@acme.example", "ses_2"),
		row("evt_03", 3, event.PageView, "/", "ada@acme.example", "ses_2"),
		row("evt_02", 90, event.PageView, "/", "visitor-2", "ses_1"),
		row("evt_01", 24*60, event.PageView, "/", "visitor-3", "ses_0"),
	}
	events[1].Properties = json.RawMessage(`{"plan":"pro","contact":{"email":"ada@acme.example"}}`)
	return events
}

// selected returns the events that a read covers.
func (m *Memory) selected(scope analytics.Scope, window domain.Window) []event.Event {
	var out []event.Event
	for _, event := range m.events {
		inside := !event.Ts.Before(window.From) && event.Ts.Before(window.To) && event.Environment == scope.Environment.Slug
		matches := !slices.ContainsFunc(scope.Filters, func(f filter.Filter) bool { return valueOf(&event, f.Dimension) != f.Value })
		if inside && matches {
			out = append(out, event)
		}
	}
	return out
}

// valueOf returns an event's value of the dimensions that the fixture has.
func valueOf(event *event.Event, dimension filter.Dimension) string {
	switch dimension {
	case filter.DimPath:
		return event.Path
	case filter.DimSource:
		return event.Source
	case filter.DimCountry:
		return event.Country
	case filter.DimEvent:
		return event.Name
	case "property.plan":
		return map[bool]string{true: "pro"}[strings.Contains(string(event.Properties), "pro")]
	default:
		return ""
	}
}

// distinct counts the different non-empty values of events.
func distinct(events []event.Event, value func(*event.Event) string) uint64 {
	seen := map[string]bool{}
	for i := range events {
		if v := value(&events[i]); v != "" {
			seen[v] = true
		}
	}
	return uint64(len(seen))
}

func pageviews(events []event.Event) uint64 {
	return uint64(len(slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return !event.IsPageview(e.Name) })))
}

// headline folds events into the metrics of an overview. It measures the sessions of the events as a whole.
func (m *Memory) headline(events []event.Event, location *time.Location) analytics.Headline {
	h := analytics.Headline{
		Visitors:       distinct(events, func(e *event.Event) string { return e.Ts.In(location).Format(time.DateOnly) + e.Visitor() }),
		UniqueVisitors: distinct(events, (*event.Event).Visitor),
		Pageviews:      pageviews(events), Events: uint64(len(events)),
		Sessions: distinct(events, func(e *event.Event) string { return e.SessionID }),
	}
	sessions := map[string]*event.Session{}
	for i := range events {
		sessions[events[i].SessionID] = nil
	}
	for i := range m.events {
		ev := &m.events[i]
		session, asked := sessions[ev.SessionID]
		if !asked {
			continue
		}
		ts := ev.Ts.UnixMilli()
		if session == nil {
			session = &event.Session{First: ts, Last: ts}
			sessions[ev.SessionID] = session
		}
		session.Add(event.SessionStep{TsMs: ts, Pageview: event.IsPageview(ev.Name), Interactive: event.IsInteractive(ev.Name)})
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
func covered(scope analytics.Scope) (domain.Window, bool) {
	if len(scope.Filters) == 0 {
		return scope.Window, false
	}
	return scope.Window.Capped()
}

// Overview implements analytics.Analytics.
func (m *Memory) Overview(_ context.Context, scope analytics.Scope, goals []goal.Matcher) (analytics.Overview, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	count := func(window domain.Window) analytics.Headline {
		events := m.selected(scope, window)
		h := m.headline(events, window.Location)
		h.Conversions = conversions(goals, events)
		return h
	}
	return analytics.Overview{Window: scope.Window, Capped: capped, Current: count(window), Previous: count(window.Previous())}, nil
}

// Timeseries implements analytics.Analytics.
func (m *Memory) Timeseries(_ context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval, goals []goal.Matcher) (analytics.Series, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	series := analytics.Series{Metric: metric, Interval: interval, Capped: capped}
	for _, begin := range window.Buckets(interval) {
		bucket := window
		bucket.From, bucket.To = begin, interval.Next(begin)
		events := m.selected(scope, bucket)
		h := m.headline(events, window.Location)
		value := map[analytics.Metric]uint64{
			analytics.MetricVisitors: h.UniqueVisitors, analytics.MetricPageviews: h.Pageviews, analytics.MetricSessions: h.Sessions, analytics.MetricEvents: h.Events,
			analytics.MetricConversions: conversions(goals, events),
		}[metric]
		series.Points = append(series.Points, analytics.Point{T: begin, Value: float64(value)})
	}
	return series, nil
}

// Live implements analytics.Presence.
func (m *Memory) Live(_ context.Context, env domain.Environment) (analytics.Live, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window := domain.Window{From: m.now().Add(-analytics.LiveSeconds * time.Second), To: m.now(), Location: time.UTC}
	events := m.selected(analytics.Scope{Environment: env}, window)
	rows := func(value func(*event.Event) string) []analytics.LiveRow {
		visitors := map[string][]event.Event{}
		for i := range events {
			visitors[value(&events[i])] = append(visitors[value(&events[i])], events[i])
		}
		var out []analytics.LiveRow
		for word, events := range visitors {
			out = append(out, analytics.LiveRow{Value: word, Visitors: distinct(events, (*event.Event).Visitor)})
		}
		slices.SortFunc(out, func(a, b analytics.LiveRow) int {
			return cmp.Or(cmp.Compare(b.Visitors, a.Visitors), strings.Compare(a.Value, b.Value))
		})
		return out
	}
	return analytics.Live{
		AsOf: m.now(), Visitors: distinct(events, (*event.Event).Visitor), Pageviews: pageviews(events),
		Pages: rows(func(e *event.Event) string { return e.Path }), Sources: rows(func(e *event.Event) string { return e.Source }),
		Countries: rows(func(e *event.Event) string { return e.Country }), Devices: rows(func(e *event.Event) string { return e.Device }),
	}, nil
}

// feed implements analytics.Events.
type feed struct{ *Memory }

// List returns a page of the feed.
func (f feed) List(_ context.Context, query analytics.EventQuery) (page []event.Event, more bool, err error) {
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
func personID(event *event.Event) string {
	if event.IsBot {
		return ""
	}
	return person.ID(city.CH64([]byte(event.Visitor())))
}

// matches reports whether an event is in the feed of a query.
func matches(event *event.Event, query analytics.EventQuery) bool {
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
		text = domain.MaskShapes(text)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(query.Search))
}

// Names returns a page of the catalogue.
func (f feed) Names(_ context.Context, query analytics.EventNamesQuery, goals []goal.Matcher) (analytics.EventNames, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window, capped := covered(query.Scope)
	byName := map[string][]event.Event{}
	all := query.Scope
	all.Filters = nil
	completed := f.selected(all, window)
	for _, event := range f.selected(query.Scope, window) {
		name := event.Name
		if query.Masked {
			name = domain.MaskShapes(name)
		}
		byName[name] = append(byName[name], event)
	}
	names := analytics.EventNames{Capped: capped}
	for name, events := range byName {
		last := events[0].Ts
		ofRow := slices.DeleteFunc(slices.Clone(completed), func(e event.Event) bool {
			return !slices.ContainsFunc(events, func(shown event.Event) bool { return shown.Visitor() == e.Visitor() })
		})
		names.Rows = append(names.Rows, analytics.EventName{
			Name: name, Count: uint64(len(events)), Users: distinct(events, (*event.Event).Visitor), LastSeenAt: &last,
			Conversions: conversions(goals, ofRow),
		})
	}
	slices.SortFunc(names.Rows, func(a, b analytics.EventName) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	if after := query.After; after != nil {
		names.Rows = slices.DeleteFunc(names.Rows, func(row analytics.EventName) bool {
			return row.Count > after.Count || row.Count == after.Count && row.Name <= after.Name
		})
	}
	names.More = len(names.Rows) > query.Limit
	names.Rows = names.Rows[:min(query.Limit, len(names.Rows))]
	return names, nil
}

// Properties implements analytics.Events; the fixture has so few events that each value is frequent.
func (f feed) Properties(_ context.Context, query analytics.EventPropertiesQuery) (analytics.EventProperties, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window, capped := query.Window.Capped()
	found := analytics.EventProperties{Capped: capped}
	byKey := map[string][]json.RawMessage{}
	for _, event := range f.selected(query.Scope, window) {
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
	slices.SortFunc(found.Rows, func(a, b analytics.EventProperty) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Key, b.Key))
	})
	if after := query.After; after != nil {
		found.Rows = slices.DeleteFunc(found.Rows, func(row analytics.EventProperty) bool {
			return row.Count > after.Count || row.Count == after.Count && row.Key <= after.Key
		})
	}
	found.More = len(found.Rows) > query.Limit
	found.Rows = found.Rows[:min(query.Limit, len(found.Rows))]
	return found, nil
}

// propertyRow counts the values of a key, which are texts or objects.
func propertyRow(key string, values []json.RawMessage, masked bool) analytics.EventProperty {
	row := analytics.EventProperty{Key: key, Count: uint64(len(values)), Values: []analytics.EventPropertyValue{}}
	seen := map[string]uint64{}
	for _, value := range values {
		kind := analytics.PropertyObject
		if value[0] == '"' {
			kind = analytics.PropertyText
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
			if text = domain.MaskShapes(text); domain.IsPersonal(key) {
				text = "***"
			}
		}
		row.Values = append(row.Values, analytics.EventPropertyValue{Value: text, Count: count})
	}
	return row
}
