package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"svc/bench/harness"
)

// read is a read and the permitted duration of its answer.
type read struct {
	name  string
	path  string
	query url.Values
	// boundMs is the goal of the 95th percentile.
	boundMs float64
	// vary sets the parts that differ between runs.
	vary func(run int, query url.Values) (path string)
}

// reads measures funnels and retention without links, then everything with them.
func (b *bench) reads(ctx context.Context) error {
	before, err := b.empty(ctx)
	if err != nil {
		return err
	}
	if err := b.seed(ctx, "seeded events", seedEvents, b.people*b.events); err != nil {
		return err
	}
	counts, err := b.makeCounts(ctx)
	if err != nil {
		return err
	}
	const without, with = ", without links", ", with links"
	if err := b.times(ctx, counts, without); err != nil {
		return err
	}
	if err := b.seed(ctx, "seeded identities", seedIdentities, b.people); err != nil {
		return err
	}
	if err := b.times(ctx, counts, with); err != nil {
		return err
	}
	for _, count := range counts {
		median := func(m *harness.Measurement) float64 { return m.Latency.P50 }
		ratio := b.result.Median(count.name+with, median) / b.result.Median(count.name+without, median)
		b.result.Ratios = append(b.result.Ratios, harness.AtMost("people", count.name+" with links beside without", ratio, 1.3))
	}
	after, err := b.rest(ctx, "at rest, with people", b.idle)
	if err != nil {
		return err
	}
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("people", fmt.Sprintf("MiB at rest for %d people", b.people), after-before, 64))
	asked, err := b.questions(ctx)
	if err != nil {
		return err
	}
	if err := b.ask(ctx, asked); err != nil {
		return err
	}
	for _, one := range asked {
		p95 := func(m *harness.Measurement) float64 { return m.Latency.P95 }
		b.result.Ratios = append(b.result.Ratios, harness.AtMost("people", one.name+", p95 ms", b.result.Median(one.name, p95), one.boundMs))
	}
	return nil
}

// empty finds the environment and returns the MiB that the server uses without people.
func (b *bench) empty(ctx context.Context) (float64, error) {
	if err := b.knowEnvironment(ctx); err != nil {
		return 0, err
	}
	return b.rest(ctx, "at rest, without people", 0)
}

// rests measures the memory of a server at rest, without people and with them.
func (b *bench) rests(ctx context.Context) error {
	before, err := b.empty(ctx)
	if err != nil {
		return err
	}
	if err := b.seed(ctx, "seeded events", seedEvents, b.people*b.events); err != nil {
		return err
	}
	if err := b.seed(ctx, "seeded identities", seedIdentities, b.people); err != nil {
		return err
	}
	after, err := b.rest(ctx, "at rest, with people", b.idle)
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("people", fmt.Sprintf("MiB at rest for %d people", b.people), after-before, 64))
	return err
}

// rest restarts the server and returns the MiB of its own memory that it uses after a pause.
func (b *bench) rest(ctx context.Context, name string, idle time.Duration) (float64, error) {
	if err := b.server.Stop(); err != nil {
		return 0, err
	}
	if _, err := b.server.Open(ctx); err != nil {
		return 0, err
	}
	if err := b.server.AwaitPastDays(ctx, drainTime); err != nil {
		return 0, err
	}
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	memory, err := b.server.Weigh(ctx)
	b.add(harness.Measurement{Name: name, Kind: harness.KindService, RSSBytes: int64(memory.Anonymous), Extra: map[string]float64{
		"heldMiB": memory.Held / (1 << 20), "liveMiB": memory.Live / (1 << 20),
	}})
	return memory.Held / (1 << 20), err
}

// make creates an object of the application and returns its id.
func (b *bench) make(ctx context.Context, path string, body any) (string, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("encoding a request: %w", err)
	}
	address := "http://" + b.server.Address + "/api/v1/apps/" + b.server.Organization + "/" + b.server.App + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(encoded))
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+b.server.Token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := b.fetch(request)
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &made); err != nil {
		return "", fmt.Errorf("decoding an answer: %w", err)
	}
	return made.ID, nil
}

// makeCounts returns the reads that count persons by their actions.
func (b *bench) makeCounts(ctx context.Context) ([]read, error) {
	funnel, err := b.make(ctx, "/funnels", map[string]any{"name": "Pricing", "windowHours": 720, "steps": []map[string]any{{"kind": "path", "match": "/pricing"}, {"kind": "event", "match": "purchase"}}})
	month := url.Values{"env": {"production"}, "range": {"30d"}}
	return []read{
		{name: "a funnel of 30 days", path: "/funnels/" + funnel + "/results", query: month},
		{name: "retention by week of 30 days", path: "/analytics/retention", query: url.Values{"env": {"production"}, "range": {"30d"}, "cohortBy": {"week"}}},
	}, err
}

// Bounds of reads, in milliseconds.
const (
	listMs     = 100
	dossierMs  = 30
	timelineMs = 50
	segmentMs  = 300
)

// questions are the reads of people.
func (b *bench) questions(ctx context.Context) ([]read, error) {
	definition := map[string]any{"all": []map[string]any{
		{"field": "trait.plan", "op": "eq", "value": "pro"},
		{"field": "trait.seats", "op": "gt", "value": 25},
		{"field": "did_event", "op": "within_days", "value": 30, "event": map[string]any{"name": "purchase", "count": 1}},
	}}
	segment, err := b.make(ctx, "/segments", map[string]any{"name": "Buyers", "kind": "dynamic", "definition": definition})
	if err != nil {
		return nil, err
	}
	production := func(pairs ...string) url.Values {
		query := url.Values{"env": {"production"}}
		for i := 0; i < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		return query
	}
	persons, err := b.somePersons(ctx)
	if err != nil {
		return nil, err
	}
	person := func(run int) string { return persons[run*13%len(persons)] }
	search := func(format string) func(int, url.Values) string {
		return func(run int, query url.Values) string {
			query.Set("q", fmt.Sprintf(format, run*9973%b.people/5*5))
			return ""
		}
	}
	return []read{
		{name: "list", path: "/people", query: production(), boundMs: listMs},
		{name: "second page", path: "/people", query: production("limit", "50"), boundMs: listMs, vary: b.secondPage(ctx)},
		{name: "search, an id", path: "/people", query: production(), boundMs: listMs, vary: search("user-%d")},
		{name: "search, an address", path: "/people", query: production(), boundMs: listMs, vary: search("person%d@EXAMPLE")},
		{name: "search, part of a name", path: "/people", query: production(), boundMs: listMs, vary: search("umber%d")},
		{name: "search, a company", path: "/people", query: production("q", "company 7"), boundMs: listMs},
		{name: "search, nobody", path: "/people", query: production("q", "zyx-nobody"), boundMs: listMs},
		{name: "search, two letters", path: "/people", query: production("q", "da"), boundMs: listMs},
		{name: "stage signup", path: "/people", query: production("stage", "signup"), boundMs: listMs},
		{name: "stage lead, nobody", path: "/people", query: production("stage", "lead"), boundMs: listMs},
		{name: "tag, nobody", path: "/people", query: production("tag", "vip"), boundMs: listMs},
		{name: "companies", path: "/companies", query: production(), boundMs: listMs},
		{name: "dossier", boundMs: dossierMs, query: production(), vary: func(run int, _ url.Values) string { return "/people/" + person(run) }},
		{name: "timeline", boundMs: timelineMs, query: production(), vary: func(run int, _ url.Values) string { return "/people/" + person(run) + "/timeline" }},
		{name: "segments with memberCount", path: "/segments", query: production(), boundMs: segmentMs},
		{name: "first page of a segment", path: "/segments/" + segment + "/members", query: production(), boundMs: segmentMs},
	}, nil
}

// somePersons returns the ids of people that exist from the beginning.
func (b *bench) somePersons(ctx context.Context) ([]string, error) {
	var page struct{ Data []struct{ ID string } }
	err := b.server.Read(ctx, "/people", url.Values{"env": {"production"}, "q": {"company 7"}, "limit": {"50"}}, &page)
	ids := make([]string, len(page.Data))
	for i, row := range page.Data {
		ids[i] = row.ID
	}
	if err == nil && len(ids) == 0 {
		err = errors.New("nobody of the company was found")
	}
	return ids, err
}

// secondPage makes a read request the page after the first one.
func (b *bench) secondPage(ctx context.Context) func(int, url.Values) string {
	cursor := ""
	return func(_ int, query url.Values) string {
		if cursor == "" {
			var page struct{ NextCursor string }
			if err := b.server.Read(ctx, "/people", query, &page); err != nil {
				b.result.Violations = append(b.result.Violations, err.Error())
			}
			cursor = page.NextCursor
		}
		query.Set("cursor", cursor)
		return ""
	}
}

// times runs each read a few times.
func (b *bench) times(ctx context.Context, all []read, suffix string) error {
	for _, one := range all {
		var latency harness.Latency
		meter, err := harness.StartMeter(b.server.PID())
		if err != nil {
			return err
		}
		var rows int
		for run := range b.warm + 1 {
			path := one.path
			if one.vary != nil {
				if varied := one.vary(run, one.query); varied != "" {
					path = varied
				}
			}
			var page struct{ Data []json.RawMessage }
			began := time.Now()
			if err := b.server.Read(ctx, path, one.query, &page); err != nil {
				return err
			}
			rows += len(page.Data)
			if run > 0 { // the first run has cold caches
				latency.Record(time.Since(began))
			}
		}
		usage, err := meter.Read()
		if err != nil {
			return err
		}
		spread := latency.Spread()
		b.add(harness.Measurement{Name: one.name + suffix, Kind: harness.KindService, Latency: &spread, Foreign: usage.Foreign, Extra: map[string]float64{
			"cpu-ms": float64(usage.Server.Milliseconds()) / float64(b.warm+1), "rows": float64(rows) / float64(b.warm+1),
		}})
	}
	return nil
}
