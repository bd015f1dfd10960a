// Package demo invents an application for demonstrations: 90 days of visitors, people, errors and metrics of a
// fictional product. A demo is a list of ordinary calls of the API. Its user (the button of the console, `svc demo`)
// makes an application with a key, and sends the calls; nothing is written in another way.
//
// The calls are the same for everyone except for their dates, and items have ids, so an interrupted demo is simply sent
// again.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/http/route"
)

// Call is one request of the API. Its path may contain {app}, which is replaced by the organization and the slug of the
// demo.
type Call struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body"`
	// Ingest is true if the call uses the secret ingest key of the demo; the other calls use the rights of the person
	// that wants the demo.
	Ingest bool `json:"ingest,omitempty"`
	// Unless is the path of a list, for calls that the service would otherwise accept twice: the call is omitted if a
	// row of the list has the name or the title of the body.
	Unless string `json:"unless,omitempty"`
}

// consolePath begins the paths of calls that require a session of the console instead of a token.
const consolePath = "/console/api/v1/"

// Console reports whether the call needs a session of the console.
func (c *Call) Console() bool { return strings.HasPrefix(c.Path, consolePath) }

// Part is a part of the demo. Parts are sent one after another.
type Part struct {
	Parts int `json:"parts"`
	// Until is the end of the demo; it is a parameter of the requests for the other parts.
	Until time.Time `json:"until"`
	Calls []Call    `json:"calls"`
}

// Item is one item of a batch.
type Item map[string]any

// chapter is the part of the demo for one module.
type chapter struct {
	// settings returns the calls that come before all items.
	settings func(until time.Time) []Call
	// day returns the items of a day.
	day func(d *day) []Item
}

// chapters lists the content of the demo. A module with content adds its chapter.
func chapters() []chapter {
	return []chapter{
		{settings: analyticsSettings, day: visits},
		{settings: errorSettings, day: crashes},
		{settings: metricSettings, day: measurements},
		{settings: flagSettings, day: noDay},
		{settings: peopleSettings, day: noDay},
		{settings: outboundSettings, day: noDay},
	}
}

// The length of the demo, and of one of its parts after the first, which contains the settings.
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
			made.Calls = append(made.Calls, chapter.settings(until)...)
		}
		return made, true
	}
	var items []Item
	for number := (part - 1) * partDays; number < part*partDays; number++ {
		items = append(items, itemsOf(number, until)...)
	}
	if part == parts-1 {
		made.Calls = append(append(made.Calls, evaluations()...), subscriptions(until)...)
	}
	for batch := range slices.Chunk(items, event.MaxBatchItems) {
		made.Calls = append(made.Calls, Call{Method: http.MethodPost, Path: "/api/v1/batch", Body: map[string]any{"items": batch}, Ingest: true})
	}
	return made, true
}

// itemsOf returns the items of a day in the order of time, without items after the end.
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

// patience is the time for which the parts of one demo may be requested with the same end.
const patience = time.Hour

// Rows returns the row of the parts, for any signed-in person.
func Rows() []route.Route {
	return []route.Route{{
		Surface: route.Console, Method: http.MethodGet, Path: "/demo/{part}", Operation: "console.demo.get", Addition: true, Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
		Summary: "A part of the demo: calls that fill an application", Handler: route.Typed(answer),
	}}
}

type partQuery struct {
	Number string `path:"part" doc:"The number of the part; the first one is 0 and has the settings."`
	Until  string `query:"until" doc:"When the demo ends, as the first part says; now where it is absent."`
}

// shownPart is a part as the answer shows it.
type shownPart struct {
	Parts int         `json:"parts" doc:"How many parts there are."`
	Until route.Time  `json:"until" doc:"When the demo ends."`
	Calls []shownCall `json:"calls" doc:"Calls to make one after the other."`
}

type shownCall struct {
	Method string          `json:"method"`
	Path   string          `json:"path" doc:"With {app} where the organization and the slug of the demo stand."`
	Body   json.RawMessage `json:"body"`
	Ingest bool            `json:"ingest" doc:"Whether the call goes with an ingest key."`
	Unless string          `json:"unless" doc:"The path of a list; the call is left out where a row of it has the name or the title of the body. Empty where nothing is looked at."`
}

func answer(_ context.Context, call *route.Call, in partQuery) (shownPart, error) {
	until := call.Now.UTC().Truncate(time.Second)
	if asked, err := time.Parse(time.RFC3339, in.Until); err == nil && asked.Before(until) && until.Sub(asked) < patience {
		until = asked
	}
	number, err := strconv.Atoi(in.Number)
	part, known := Of(number, until)
	if err != nil || !known {
		return shownPart{}, domain.NotFound("part")
	}
	shown := shownPart{Parts: part.Parts, Until: route.Time(part.Until), Calls: make([]shownCall, len(part.Calls))}
	for i, one := range part.Calls {
		body, err := json.Marshal(one.Body)
		if err != nil {
			return shownPart{}, fmt.Errorf("encoding a call of the demo: %w", err)
		}
		shown.Calls[i] = shownCall{one.Method, one.Path, body, one.Ingest, one.Unless}
	}
	return shown, nil
}
