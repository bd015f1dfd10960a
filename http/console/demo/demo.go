// Package demo invents an application that one can look at: 90 days of visitors, people, errors and metrics of
// a product that does not exist. A demo is a list of ordinary calls of the API. Whoever wants one (the button of the
// console, `svc demo`) makes an application with a key, and sends the calls; nothing is written in another way.
//
// The calls are the same for everybody but for their dates, and items have ids, so a demo that was interrupted is
// simply sent again.
package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc"
	"svc/http/route"
)

// Slug is that of the application that holds the demo.
const Slug = "demo"

// Call is one request of the API. Its path may hold {app}, which stands for the organization and
// the slug of the demo.
type Call struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body"`
	// Ingest says that the call goes with the secret ingest key of the demo; the others go with the rights
	// of the person who wants it.
	Ingest bool `json:"ingest,omitempty"`
}

// Part is a part of the demo. Parts are sent one after the other.
type Part struct {
	Parts int `json:"parts"`
	// Until is when the demo ends; the other parts are asked for with it.
	Until time.Time `json:"until"`
	Calls []Call    `json:"calls"`
}

// Item is one item of a batch.
type Item map[string]any

// chapter is what one module shows in the demo.
type chapter struct {
	// settings returns the calls that come before all items.
	settings func() []Call
	// day returns the items of a day.
	day func(d *day) []Item
}

// chapters lists what the demo shows. A module that has something to show adds its chapter.
func chapters() []chapter {
	return []chapter{
		{settings: analyticsSettings, day: visits},
		{settings: errorSettings, day: crashes},
		{settings: metricSettings, day: measurements},
	}
}

// The length of the demo, and of one of its parts after the first, which holds the settings.
const (
	days     = 90
	partDays = 10
	parts    = 1 + days/partDays
)

// Of returns a part of the demo that ends at a time.
func Of(part int, until time.Time) (Part, bool) {
	made := Part{Parts: parts, Until: until, Calls: []Call{}}
	if part < 0 || part >= parts {
		return Part{}, false
	}
	if part == 0 {
		for _, chapter := range chapters() {
			made.Calls = append(made.Calls, chapter.settings()...)
		}
		return made, true
	}
	var items []Item
	for number := (part - 1) * partDays; number < part*partDays; number++ {
		items = append(items, itemsOf(number, until)...)
	}
	for batch := range slices.Chunk(items, svc.MaxBatchItems) {
		made.Calls = append(made.Calls, Call{Method: http.MethodPost, Path: "/api/v1/batch", Body: map[string]any{"items": batch}, Ingest: true})
	}
	return made, true
}

// itemsOf returns the items of a day in the order of time; what would lie after the end is left out.
func itemsOf(number int, until time.Time) []Item {
	d := newDay(number, until)
	type timed struct {
		at   time.Time
		item Item
	}
	var all []timed
	for _, chapter := range chapters() {
		for n, item := range chapter.day(d) {
			at, _ := item["ts"].(time.Time)
			if at.After(until) {
				continue
			}
			if item["id"] == nil {
				item["id"] = fmt.Sprintf("demo-%d-%v-%d", number, item["type"], n)
			}
			item["ts"] = at.UTC().Format("2006-01-02T15:04:05.000Z")
			all = append(all, timed{at, item})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return a.at.Compare(b.at) })
	items := make([]Item, len(all))
	for i, one := range all {
		items[i] = one.item
	}
	return items
}

// patience is how long the parts of one demo may be asked for with the same end.
const patience = time.Hour

// Rows returns the row of the parts. They are invented and say nothing about anybody, so strangers may read them
// as they may read the pages of the console.
func Rows(now func() time.Time) []route.Route {
	return []route.Route{{
		Surface: route.Share, Method: http.MethodGet, Path: "/console/demo/{part}", Operation: "console.demo", Effect: route.Read,
		Summary: "A part of the demo: calls that fill an application.",
		Raw: func(w *route.Response, r *http.Request) {
			until := now().UTC().Truncate(time.Second)
			if asked, err := time.Parse(time.RFC3339, r.URL.Query().Get("until")); err == nil && asked.Before(until) && until.Sub(asked) < patience {
				until = asked
			}
			number, err := strconv.Atoi(r.PathValue("part"))
			part, known := Of(number, until)
			if err != nil || !known {
				w.Refuse(r, svc.NotFound("part"), nil)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_ = json.NewEncoder(w).Encode(part) // a client that went away needs no answer
		},
	}}
}
