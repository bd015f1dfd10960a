package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// funnelOfFive is the funnel that funnel.raw.sql counts.
const funnelOfFive = `{"name":"Five","windowHours":24,"steps":[{"kind":"path","match":"/p/0"},{"kind":"event","match":"signup"},` +
	`{"kind":"path","match":"/p/1"},{"kind":"event","match":"purchase"},{"kind":"path","match":"/p/2"}]}`

// turnsOf lists the reads other than overview and timeseries.
func (r *readsBench) turnsOf() []turn {
	funnel := r.post(appPath+"/funnels", funnelOfFive)["id"].(string)
	return []turn{
		{name: "breakdown-30d", path: "breakdown?range=30d&limit=25&dimension=path", by: "breakdown.raw.sql", figures: ranks},
		{name: "breakdown-30d/browser", path: "breakdown?range=30d&limit=25&dimension=path", by: "breakdown.*.sql", column: "browser", value: "Firefox", figures: ranks},
		{name: "active-30d", path: "active-users?range=30d", by: "active.raw.sql", figures: rolling},
		{name: "retention-week/all", path: "retention?range=30d&cohortBy=week", by: "retention.raw.sql", unit: "week", figures: cohorts},
		{name: "retention-week/browser", path: "retention?range=30d&cohortBy=week", by: "retention.*.sql", unit: "week", column: "browser", value: "Firefox", figures: cohorts},
		{name: "retention-month/all", path: "retention?range=30d&cohortBy=month", by: "retention.raw.sql", unit: "month", figures: cohorts},
		{name: "retention-month/browser", path: "retention?range=30d&cohortBy=month", by: "retention.*.sql", unit: "month", column: "browser", value: "Firefox", figures: cohorts},
		{name: "funnel/five", path: "../funnels/" + funnel + "/results?range=30d", by: "funnel.raw.sql", figures: depths},
	}
}

// rankColumns is the number of figures per value in a hand-written breakdown.
const rankColumns = 4

// ranks are the rows of a breakdown, in their order.
func ranks(answer map[string]any) (out []float64) {
	for _, row := range counted(answer["data"].([]any), "visitors", "pageviews", "sessions", "bounceRate") {
		for _, figure := range row {
			out = append(out, figure.(float64))
		}
	}
	return out
}

// bounceRates converts the bounces of hand-written breakdowns into the API's values.
func bounceRates(rows []float64) []float64 {
	out := slices.Clone(rows)
	for row := range slices.Chunk(out, rankColumns) {
		row[3] /= row[2]
	}
	return out
}

// rolling returns the days on which a visitor was active within a month.
func rolling(answer map[string]any) (out []float64) {
	series := func(name string) [][]any { return counted(answer[name].([]any), "value") }
	daily, weekly, monthly := series("dau"), series("wau"), series("mau")
	for day := range monthly {
		if monthly[day][0] != 0.0 {
			out = append(out, daily[day][0].(float64), weekly[day][0].(float64), monthly[day][0].(float64))
		}
	}
	return out
}

// cohorts returns the periods of all cohorts in which a visitor came back.
func cohorts(answer map[string]any) (out []float64) {
	for _, row := range counted(answer["cohorts"].([]any), "periods") {
		for _, visitors := range row[0].([]any) {
			if visitors != 0.0 {
				out = append(out, visitors.(float64))
			}
		}
	}
	return out
}

// depths returns the number of persons that entered each step of a funnel.
func depths(answer map[string]any) (out []float64) {
	for _, row := range counted(answer["steps"].([]any), "entered") {
		out = append(out, row[0].(float64))
	}
	return out
}

// wanted returns the figures of an answer that hand-written queries must also give. It records the span of the read's
// window and of the previous one.
func (r *readsBench) wanted(b *testing.B, t *turn, answer map[string]any) (want []float64) {
	b.Helper()
	if strings.HasPrefix(t.path, "overview") {
		return r.headlines(b, answer)
	}
	r.to = time.Now()
	r.from = r.to.AddDate(0, 0, -60)
	if t.figures != nil {
		return t.figures(answer)
	}
	for _, point := range answer["points"].([]any) {
		if value := point.(map[string]any)["value"].(float64); value > 0 {
			want = append(want, value)
		}
	}
	return want
}

// comparable converts the rows of a hand-written query into the API's values.
func (t *turn) comparable(rows []float64) []float64 {
	switch {
	case strings.HasPrefix(t.path, "overview"):
		return rates(rows)
	case strings.HasPrefix(t.path, "breakdown"):
		return bounceRates(rows)
	}
	return rows
}
