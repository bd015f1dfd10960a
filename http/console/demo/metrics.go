package demo

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// metricSettings makes rules, a future silence, and a monitor. The monitor is off, because a demo sends no requests to
// other hosts.
func metricSettings(until time.Time) []Call {
	type object = map[string]any
	rule := func(name, kind string, threshold float64, condition object) Call {
		return Call{Method: http.MethodPost, Path: "/api/v1/apps/{app}/alerts", Body: object{"name": name, "kind": kind, "threshold": threshold, "windowMinutes": 15, "condition": condition}}
	}
	moves := until.Truncate(24*time.Hour).AddDate(0, 0, 3).Add(5 * time.Hour)
	return []Call{
		rule("Answers are slow", "metric", 400, object{"name": "http.duration", "agg": "p95"}),
		rule("The queue grows", "metric", 250, object{"name": "queue.depth", "agg": "max"}),
		rule("Many errors", "error_rate", 30, object{}),
		{
			Method: http.MethodPost, Path: "/api/v1/apps/{app}/silences", Unless: "/api/v1/apps/{app}/silences",
			Body: object{"name": "The database moves", "startsAt": moves.Format(time.RFC3339), "endsAt": moves.Add(2 * time.Hour).Format(time.RFC3339)},
		},
		{Method: http.MethodPost, Path: "/api/v1/apps/{app}/monitors", Body: object{"name": "Site", "url": "https://example.com/", "intervalSeconds": 300, "enabled": false}},
	}
}

// measurements returns the points of a day: every hour of the past, every five minutes of the last day, and vitals of visits.
func measurements(d *day) (items []Item) {
	step := time.Hour
	if d.number == days-1 {
		step = 5 * time.Minute
	}
	for at := d.begin; at.Before(d.begin.Add(24 * time.Hour)); at = at.Add(step) {
		items = append(items, d.points(at, step)...)
	}
	for _, v := range d.visits {
		if v.number%8 == 0 {
			items = append(items, d.vitals(v)...)
		}
	}
	return items
}

// points returns the measurements of the servers at a time.
func (d *day) points(at time.Time, step time.Duration) []Item {
	hour := float64(at.Hour()) + float64(at.Minute())/60
	load := busy(d.number) * (0.35 + math.Exp(-(hour-14)*(hour-14)/25)) * (0.9 + 0.2*d.random.Float64())
	slow := 1.0
	if d.number == 63 && hour >= 12 && hour < 16 {
		slow = 4.2
	}
	point := func(name, kind, unit string, labels map[string]any, with Item) Item {
		item := Item{"type": "metric", "ts": at, "name": name, "kind": kind, "unit": unit, "labels": labels, "id": fmt.Sprintf("demo-%s-%v-%d", name, labels, at.Unix())}
		for key, value := range with {
			item[key] = value
		}
		return item
	}
	var items []Item
	for n, route := range []string{"/api/cards", "/api/search", "/api/reports"} {
		values := make([]float64, 4)
		for i := range values {
			values[i] = math.Round((40+90*float64(n)+60*d.random.ExpFloat64())*slow*(0.8+0.3*load)*10) / 10
		}
		labels := map[string]any{"route": route}
		items = append(items, point("http.duration", "histogram", "ms", labels, Item{"values": values}), point("http.requests", "counter", "", labels, Item{"value": math.Round(load * step.Minutes() * 40 / float64(n+1))}))
	}
	return append(items,
		point("queue.depth", "gauge", "", nil, Item{"value": math.Round(20 * load * slow * slow)}),
		point("memory.used", "gauge", "MB", map[string]any{"host": "harbor-1"}, Item{"value": math.Round(900 + 300*load + 4*hour)}),
		point("memory.used", "gauge", "MB", map[string]any{"host": "harbor-2"}, Item{"value": math.Round(870 + 280*load + 3*hour)}),
	)
}

// vitals returns the web vitals of the first page of a visit.
func (d *day) vitals(v visit) []Item {
	poor := 1 + 2*math.Pow(d.random.Float64(), 4)
	vital := func(name string, value float64) Item {
		return Item{"type": "vital", "ts": v.begin.Add(9 * time.Second), "name": name, "value": math.Round(value*1000) / 1000, "url": Site + v.paths[0], "id": v.session + "-" + name, "context": map[string]any{"userAgent": v.agent}}
	}
	return []Item{vital("LCP", 1500*poor), vital("INP", 110*poor), vital("CLS", 0.05*poor), vital("FCP", 900*poor), vital("TTFB", 260*poor)}
}
