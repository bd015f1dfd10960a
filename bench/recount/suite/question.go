package suite

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"time"

	"svc/bench/recount/reference"
)

// question is one combination of endpoint, range, filters and paging.
type question struct {
	app *app
	// route is the address below the application as in the route table, path the requested address if it differs.
	route string
	path  string
	query url.Values
	// body is the body of a POST, nil for GET.
	body any
	// want returns the complete answer for a request at an instant; if the answer states its own window, that one
	// counts.
	want func(now time.Time, own *reference.Window) (any, error)
	// pages is the number of pages of a list to read; 0 means that the answer is not a list. The wanted answer of a
	// list is {"data": all rows, …}.
	pages int
	// refused is the code of the expected refusal.
	refused string
}

// asker generates random questions.
type asker struct {
	*rand.Rand
	suite *Suite
}

func (k *asker) chance(percent int) bool { return k.IntN(100) < percent }

func pick[T any](k *asker, from []T) T { return from[k.IntN(len(from))] }

// next makes the next question.
func (k *asker) next() question {
	q := question{app: pick(k, k.suite.apps), query: url.Values{}}
	families := k.suite.families != nil && k.chance(50)
	if families {
		q.app = k.suite.families
	}
	environment := pick(k, []string{"production", "production", "production", "staging", "development", ""})
	if environment != "" {
		q.query.Set("env", environment)
	}
	kinds := k.suite.kinds()
	if families && k.chance(75) {
		kinds = peopleKinds()
	}
	pick(k, kinds)(k, &q)
	if q.path == "" {
		q.path = q.route
	}
	return q
}

// kinds are the possible questions for this server.
func (s *Suite) kinds() []func(*asker, *question) {
	all := []struct {
		path string
		ask  func(*asker, *question)
	}{
		{"/analytics/overview", (*asker).overview},
		{"/analytics/overview", (*asker).refusal},
		{"/analytics/timeseries", (*asker).timeseries},
		{"/analytics/timeseries", (*asker).timeseries},
		{"/analytics/breakdown", (*asker).breakdown},
		{"/analytics/breakdown", (*asker).breakdown},
		{"/analytics/breakdown", (*asker).breakdown},
		{"/analytics/retention", (*asker).retention},
		{"/analytics/active-users", (*asker).activeUsers},
		{"/analytics/goals", (*asker).goals},
		{"/events", (*asker).feed},
		{"/events/names", (*asker).names},
		{"/funnels/{id}/results", (*asker).funnel},
	}
	var kinds []func(*asker, *question)
	for _, one := range all {
		if s.routes[one.path] {
			kinds = append(kinds, one.ask)
		}
	}
	return kinds
}

// covered chooses environment, range, filters and bots of an analytics read.
func (k *asker) covered(q *question) (reference.Query, string) {
	word := pick(k, []string{"24h", "7d", "14d", "30d", "90d", "12m", "today", "yesterday", "", "custom", "custom", "custom", "custom"})
	if word == "custom" {
		word = k.custom(q.app.zone)
	}
	if word != "" {
		q.query.Set("range", word)
	} else {
		word = "7d"
	}
	about := reference.Query{Environment: environmentOf(q), Filters: map[string]string{}}
	for range max(0, k.IntN(5)-2) {
		dimension := pick(k, reference.Dimensions())
		value := k.valueOf(q.app, dimension)
		about.Filters[dimension] = value
		q.query.Add("filter", dimension+":"+value)
	}
	if q.app.members != nil && k.chance(30) {
		k.inSegment(q, &about)
	}
	if k.chance(25) {
		about.IncludeBots = true
		q.query.Set("includeBots", "true")
	}
	return about, word
}

func environmentOf(q *question) string {
	if environment := q.query.Get("env"); environment != "" {
		return environment
	}
	return "production"
}

// custom chooses a range of whole days, often around a clock change.
func (k *asker) custom(zone *time.Location) string {
	days := pick(k, []int{1, 1, 2, 3, 7, 14, 30, 31, 89, 90, 91, 180, 365, 366, 400})
	begin := k.suite.Now.In(zone).AddDate(0, 0, -k.IntN(405))
	if k.chance(25) {
		if start, _ := k.suite.Now.In(zone).ZoneBounds(); !start.IsZero() {
			begin = start.AddDate(0, 0, -k.IntN(days))
		}
	}
	return "custom:" + begin.Format(time.DateOnly) + ".." + begin.AddDate(0, 0, days-1).Format(time.DateOnly)
}

// valueOf chooses a value of a dimension that occurs, or one that does not.
func (k *asker) valueOf(a *app, dimension string) string {
	if dimension == "entry_path" || dimension == "exit_path" {
		dimension = "path"
	}
	for range 20 {
		if len(a.data.Rows) == 0 || k.chance(3) {
			break
		}
		if value := pick(k, a.data.Rows).Dimension(dimension); value != "" {
			return value
		}
	}
	return "nowhere:to be found"
}

// over returns the wanted answer of a window.
func over(q *question, word string, answer func(reference.Window) any) func(time.Time, *reference.Window) (any, error) {
	return func(now time.Time, own *reference.Window) (any, error) {
		if own != nil {
			return answer(*own), nil
		}
		window, err := q.app.data.Window(word, now)
		if err != nil {
			return nil, err
		}
		return answer(window), nil
	}
}

func (k *asker) overview(q *question) {
	q.route = "/analytics/overview"
	about, word := k.covered(q)
	q.want = over(q, word, func(w reference.Window) any { return q.app.data.Overview(about, w) })
}

func (k *asker) timeseries(q *question) {
	q.route = "/analytics/timeseries"
	about, word := k.covered(q)
	metric := pick(k, []string{"visitors", "pageviews", "sessions", "events", "conversions", ""})
	if metric != "" {
		q.query.Set("metric", metric)
	} else {
		metric = "visitors"
	}
	interval := pick(k, []string{"hour", "day", "week", "month", ""})
	if interval != "" {
		q.query.Set("interval", interval)
	}
	if window, err := q.app.data.Window(word, k.suite.Now); err == nil && interval != "" && !slices.Contains(window.Intervals(), interval) {
		q.refused = "unknown_value"
	}
	q.want = over(q, word, func(w reference.Window) any {
		if interval == "" {
			interval = w.Grain
		}
		return q.app.data.Timeseries(about, w, metric, interval)
	})
}

// limit chooses a page size and sets the number of pages.
func (k *asker) limit(q *question, pages int, sizes ...int) {
	q.pages = pages
	if size := pick(k, append(sizes, 0)); size > 0 {
		q.query.Set("limit", strconv.Itoa(size))
	}
}

func listOf(rows []any, more map[string]any) map[string]any {
	answer := map[string]any{"data": rows}
	for name, value := range more {
		answer[name] = value
	}
	return answer
}

func (k *asker) breakdown(q *question) {
	q.route = "/analytics/breakdown"
	about, word := k.covered(q)
	dimension := pick(k, reference.Dimensions())
	q.query.Set("dimension", dimension)
	search := ""
	if k.chance(20) {
		value := []rune(k.valueOf(q.app, dimension))
		at := k.IntN(len(value))
		search = string(value[at:min(len(value), at+1+k.IntN(4))])
		q.query.Set("search", search)
	}
	k.limit(q, 8, 1, 3, 10, 100)
	q.want = over(q, word, func(w reference.Window) any {
		rows, capped := q.app.data.Breakdown(about, w, dimension, search)
		return listOf(rows, map[string]any{"capped": capped, "environment": about.Environment})
	})
}

func (k *asker) retention(q *question) {
	q.route = "/analytics/retention"
	about, word := k.covered(q)
	by := pick(k, []string{"week", "month"})
	q.query.Set("cohortBy", by)
	event := ""
	if k.chance(30) {
		event = pick(k, []string{"page_view", "signup", "search", "never"})
		q.query.Set("event", event)
	}
	q.want = over(q, word, func(w reference.Window) any { return q.app.data.Retention(about, w, by, event) })
}

func (k *asker) activeUsers(q *question) {
	q.route = "/analytics/active-users"
	about, word := k.covered(q)
	q.want = over(q, word, func(w reference.Window) any { return q.app.data.ActiveUsers(about, w) })
}

func (k *asker) goals(q *question) {
	q.route = "/analytics/goals"
	about, word := k.covered(q)
	q.want = over(q, word, func(w reference.Window) any {
		rows, capped := q.app.data.GoalResults(about, w)
		return listOf(rows, map[string]any{"capped": capped, "environment": about.Environment})
	})
}

func (k *asker) names(q *question) {
	q.route = "/events/names"
	about, word := k.covered(q)
	k.limit(q, 8, 1, 3, 200)
	q.want = over(q, word, func(w reference.Window) any {
		rows, capped := q.app.data.Names(about, w)
		return listOf(rows, map[string]any{"capped": capped, "environment": about.Environment})
	})
}

func (k *asker) feed(q *question) {
	q.route = "/events"
	about := reference.FeedQuery{Environment: environmentOf(q)}
	row := pick(k, q.app.data.Rows)
	for _, field := range []struct {
		name, value string
		into        *string
		percent     int
	}{
		{"id", row.ID, &about.ID, 8},
		{"name", row.Name, &about.Name, 30},
		{"sessionId", row.SessionID, &about.SessionID, 15},
		{"search", k.fragment(row), &about.Search, 35},
	} {
		if k.chance(field.percent) && field.value != "" {
			*field.into = field.value
			q.query.Set(field.name, field.value)
		}
	}
	k.limit(q, 5, 7, 50, 500)
	q.want = func(time.Time, *reference.Window) (any, error) {
		return listOf(q.app.data.Feed(about), map[string]any{"environment": about.Environment}), nil
	}
}

// fragment returns a part of a searched value, in some letter case.
func (k *asker) fragment(row *reference.Row) string {
	text := []rune(pick(k, []string{row.Name, row.Path, row.URL, row.DistinctID, row.PropertiesText, "%", "_", "nothing like it"}))
	if len(text) == 0 {
		return ""
	}
	at := k.IntN(len(text))
	return string(text[at:min(len(text), at+1+k.IntN(8))])
}

func (k *asker) funnel(q *question) {
	funnel := pick(k, q.app.funnels)
	q.route, q.path = "/funnels/{id}/results", "/funnels/"+funnel.ID+"/results"
	about, word := k.covered(q)
	about.Filters, about.IncludeBots, about.Segment = nil, false, nil
	q.query.Del("filter")
	q.query.Del("includeBots")
	q.want = over(q, word, func(w reference.Window) any {
		steps, capped := q.app.data.FunnelSteps(about, w, &funnel)
		return map[string]any{"funnel": map[string]any{"id": funnel.ID, "name": funnel.Name}, "steps": steps, "capped": capped}
	})
}

// refusal generates a question that must be answered 400.
func (k *asker) refusal(q *question) {
	q.route = pick(k, []string{"/analytics/overview", "/analytics/timeseries", "/events/names"})
	switch k.IntN(5) {
	case 0:
		q.refused = "unknown_dimension"
		q.query.Set("filter", fmt.Sprintf("nothing_%d:x", k.IntN(10)))
	case 1:
		q.refused = "missing_value"
		q.query.Set("filter", pick(k, []string{"path", "path:", "event"}))
	case 2:
		q.refused = "unknown_value"
		q.query.Set("range", pick(k, []string{"8d", "custom:2026-01-01", "custom:2026-02-01..2026-01-01", "custom:2020-01-01..2026-01-01", "custom:2026-02-30..2026-03-01"}))
	case 3:
		q.refused = "unknown_value"
		q.query.Set("env", "nowhere")
	default:
		q.route, q.refused = "/events", "invalid_value"
		q.query.Set("limit", pick(k, []string{"0", "-1", "ten", "1.5"}))
	}
}
