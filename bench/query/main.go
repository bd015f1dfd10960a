// Command query loads events of the last month and measures the reads of the dashboards: cold, which is the first one
// after a restart, and warm; then in turns with the queries of its folder, which are written by hand for the same
// numbers. Inserts are measured in turns with bare columns. With -before it compares two builds of the server instead,
// in turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	events int
	days   int
	warm   int
	only   string
	before string
}

// Parts of a run.
const (
	onlyServer = "server"
	onlyTurns  = "turns"
)

func main() { harness.Main("query", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.events, "events", 200_000, "events to load; 10000000 by hand")
	flag.IntVar(&o.days, "days", 29, "days that the events are spread over")
	flag.IntVar(&o.warm, "warm", 30, "warm runs of each read")
	flag.StringVar(&o.only, "only", "", "server or turns; empty is both")
	flag.StringVar(&o.before, "before", "", "another build of the server: only compare the two, ingest and reads, in turns")
	flag.Parse()
	if o.only != "" && (o.only != onlyServer && o.only != onlyTurns || o.before != "") {
		return fmt.Errorf("-only is %q: it is server or turns, and neither beside -before", o.only)
	}
	return o.Within(ctx, "query", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
}

func measure(ctx context.Context, o *options, dir string) error {
	if o.before != "" {
		return o.part(ctx, "builds", o.Binary, "the machine, which both builds share", func(b *bench) error { return b.builds(ctx, dir) })
	}
	if o.only != onlyTurns {
		err := o.part(ctx, "query", o.Binary, "the engine's scans; one reader at a time", func(b *bench) error { return b.serve(ctx, dir) })
		if err != nil {
			return err
		}
	}
	if o.only == onlyServer {
		return nil
	}
	return o.part(ctx, "turns", "", "the engine's scans; both sides in one process", func(b *bench) error { return b.turns(ctx) })
}

// part runs a part and stores its result.
func (o *options) part(ctx context.Context, scenario, program, bottleneck string, run func(b *bench) error) error {
	b := &bench{options: o, result: harness.NewResult(ctx, scenario, program, o.Pin)}
	b.result.Bottleneck = bottleneck
	if err := run(b); err != nil {
		return err
	}
	return o.Keep(b.result)
}

// serve measures the server from outside.
func (b *bench) serve(ctx context.Context, dir string) error {
	var err error
	if b.server, err = harness.NewServer(ctx, harness.Settings{Binary: b.Binary, Dir: dir, Sync: "os", CPU: b.CPU()}); err != nil {
		return err
	}
	defer b.server.Kill()
	if err := b.load(ctx); err != nil {
		return err
	}
	if err := b.reads(ctx); err != nil {
		return err
	}
	if err := b.underIngest(ctx); err != nil {
		return err
	}
	b.ratios()
	return b.server.Stop()
}

const (
	connections = 8
	// loadTime limits the sending and, separately, the wait for the backlog.
	loadTime = 20 * time.Minute
)

// load sends the events in the order of their time and waits until all are counted.
func (b *bench) load(ctx context.Context) error {
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	outcome, usage, err := b.server.Past(ctx, b.events, b.days, loadTime)
	if err != nil {
		return err
	}
	row := outcome.Fill("load", harness.KindService, usage)
	row.Extra = map[string]float64{"storedPerSecond": float64(outcome.Events) / usage.Elapsed.Seconds()}
	b.add(row)
	headline, err := b.server.Overview(ctx, "production", "30d")
	if err != nil {
		return err
	}
	if headline.Pageviews != uint64(b.events) {
		b.result.Violations = append(b.result.Violations, fmt.Sprintf("%d events were sent, the overview counts %d page views", b.events, headline.Pageviews))
	}
	return nil
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

// read is one read of a dashboard.
type read struct {
	name  string
	path  string
	query url.Values
	// times is the number of reads per run; zero is one.
	times int
	// goal is the bound of the read; a read without one is only listed.
	goal goal
}

// goal is a bound of a read's latency in milliseconds.
type goal struct {
	quantile string
	bound    float64
}

// liveP99 is in milliseconds. liveTimes is the number of reads per run, so that the quantile is meaningful.
const liveP99, liveTimes = 5, 10

// readsOf lists the reads: unfiltered ones use aggregates, filtered ones use rows.
func readsOf() []read {
	unfiltered, filtered, noGoal := goal{"p95", unfilteredP95}, goal{"p95", filteredP95}, goal{}
	const overview, timeseries, breakdown, names, feed = "/analytics/overview", "/analytics/timeseries", "/analytics/breakdown", "/events/names", "/events"
	month := func(more ...string) url.Values {
		query := url.Values{"env": {"production"}, "range": {"30d"}}
		for n := 0; n+1 < len(more); n += 2 {
			query.Add(more[n], more[n+1])
		}
		return query
	}
	page := func(more ...string) url.Values {
		query := month(more...)
		query.Del("range")
		query.Set("limit", "50")
		return query
	}
	return []read{
		{"overview 30d", overview, month(), 0, unfiltered},
		{"overview 24h", overview, url.Values{"env": {"production"}, "range": {"24h"}}, 0, unfiltered},
		{"overview 30d, one path", overview, month("filter", "path:/products/item-42"), 0, filtered},
		{"overview 30d, one browser", overview, month("filter", "browser:Firefox"), 0, filtered},
		{"timeseries 30d, visitors by day", timeseries, month("metric", "visitors", "interval", "day"), 0, unfiltered},
		{"timeseries 30d, page views by hour", timeseries, month("metric", "pageviews", "interval", "hour"), 0, unfiltered},
		{"timeseries 30d, visitors by day, one path", timeseries, month("metric", "visitors", "interval", "day", "filter", "path:/products/item-42"), 0, filtered},
		{"breakdown 30d, paths", breakdown, month("dimension", "path"), 0, unfiltered},
		{"breakdown 30d, browsers", breakdown, month("dimension", "browser"), 0, unfiltered},
		{"breakdown 30d, entry paths", breakdown, month("dimension", "entry_path"), 0, unfiltered},
		{"breakdown 30d, exit paths", breakdown, month("dimension", "exit_path"), 0, unfiltered},
		{"breakdown 30d, paths of one browser", breakdown, month("dimension", "path", "filter", "browser:Firefox"), 0, filtered},
		{"active users 30d", "/analytics/active-users", month(), 0, unfiltered},
		{"retention 30d, by week", "/analytics/retention", month("cohortBy", "week"), 0, filtered},
		{"live", "/analytics/live", url.Values{"env": {"production"}}, liveTimes, goal{"p99", liveP99}},
		{"names 30d", names, month(), 0, noGoal},
		{"names 30d, one path", names, month("filter", "path:/products/item-42"), 0, filtered},
		{"feed", feed, page(), 0, noGoal},
		{"feed, one name", feed, page("name", "$pageview"), 0, noGoal},
		{"feed, one visitor searched", feed, page("search", "user-00001234"), 0, noGoal},
		{"feed, one unknown id", feed, page("id", "00000000-0000-4000-8000-000000000000"), 0, noGoal},
	}
}

// countAhead restarts the server and measures how it counts the past days before the first read.
func (b *bench) countAhead(ctx context.Context) error {
	if err := b.server.Stop(); err != nil {
		return err
	}
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	if err := b.server.AwaitPastDays(ctx, loadTime); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	_, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "past days counted ahead", Kind: harness.KindService, Extra: map[string]float64{
		"seconds": usage.Elapsed.Seconds(), "cpuSeconds": usage.Server.Seconds(), "anonymousMiB": float64(anonymous >> 20),
	}})
	return nil
}

// reads measures every read: once as the first of its kind, which finds past days already counted, once after a
// restart, then warm.
func (b *bench) reads(ctx context.Context) error {
	if err := b.countAhead(ctx); err != nil {
		return err
	}
	all := readsOf()
	first := make([]harness.Latency, len(all))
	for i := range all {
		once := all[i]
		once.times = 1
		if err := b.repeat(ctx, &once, &first[i]); err != nil {
			return err
		}
	}
	if err := b.server.Stop(); err != nil {
		return err
	}
	took, err := b.server.Open(ctx)
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "restart to ready", Kind: harness.KindService, Extra: map[string]float64{"ms": float64(took.Milliseconds()), "events": float64(b.events)}})
	for i := range all {
		read := all[i]
		times := read.times
		var cold, warm harness.Latency
		read.times = 1
		if err := b.repeat(ctx, &read, &cold); err != nil {
			return err
		}
		read.times = times * b.warm
		if times == 0 {
			read.times = b.warm
		}
		if err := b.repeat(ctx, &read, &warm); err != nil {
			return err
		}
		spread := warm.Spread()
		b.add(harness.Measurement{Name: read.name, Kind: harness.KindService, Latency: &spread, Extra: map[string]float64{
			"firstMs": first[i].Spread().Max, "coldMs": cold.Spread().Max,
		}})
	}
	rss, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "after the reads", Kind: harness.KindService, RSSBytes: rss, Extra: map[string]float64{"anonymousMiB": float64(anonymous >> 20)}})
	return nil
}

// ratios compares the reads with their goals, and the reads under ingest with the limits for that.
func (b *bench) ratios() {
	for _, read := range readsOf() {
		if read.goal == (goal{}) {
			continue
		}
		figure := func(m *harness.Measurement) float64 {
			if read.goal.quantile == "p99" {
				return m.Latency.P99
			}
			return m.Latency.P95
		}
		for _, side := range []struct {
			name   string
			factor float64
		}{{read.name, 1}, {read.name + beside, ingestFactor}} {
			text := fmt.Sprintf("%s on %d events, %s ms", side.name, b.events, read.goal.quantile)
			b.result.Ratios = append(b.result.Ratios, harness.AtMost("G19", text, b.result.Median(side.name, figure), side.factor*read.goal.bound))
		}
	}
}
