// Command people measures people. It measures the cost of accepting identifies. It measures the lists, searches,
// dossiers, timelines and segments of an environment with many people, and funnels and retention with and without links
// between ids. It also measures the memory of a server at rest.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc/bench/harness"
)

//go:embed seed.events.sql
var seedEvents string

//go:embed seed.identities.sql
var seedIdentities string

// options are the flags.
type options struct {
	harness.Run

	people int
	events int
	warm   int
	ingest int
	only   string
	idle   time.Duration
}

// Parts of a run.
const (
	onlyReads  = "reads"
	onlyIngest = "ingest"
	onlyRest   = "rest" // only if named explicitly
)

func main() { harness.Main("people", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.people, "people", 100_000, "people of the environment; 1000000 by hand")
	flag.IntVar(&o.events, "events", 10, "events of each of them, an even number")
	flag.IntVar(&o.warm, "warm", 20, "runs of each read")
	flag.IntVar(&o.ingest, "ingest", 200_000, "events of each load")
	flag.StringVar(&o.only, "only", "", "reads, ingest, or rest, which weighs the memory alone; empty is the first two")
	flag.DurationVar(&o.idle, "idle", 0, "pause after a start before the memory of a server with people is weighed; what it holds of the latest events is gone after an hour")
	flag.Parse()
	return o.Within(ctx, "people", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is the server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
	client *http.Client
	store  string // the address of the embedded engine
	// environment is the number of production.
	environment string
}

// measure runs the parts, each with a separate server.
func measure(ctx context.Context, o *options, dir string) error {
	for _, part := range []struct {
		name, bottleneck string
		run              func(*bench, context.Context) error
	}{
		{onlyIngest, "the processor time of the server's process: views of profiles, traits and links in the insert of a block", (*bench).takeIn},
		{onlyReads, "the engine's scans and folds of the rows of visitors; one reader at a time", (*bench).reads},
		{onlyRest, "what the server and its engine keep in memory", (*bench).rests},
	} {
		if o.only != part.name && (o.only != "" || part.name == onlyRest) {
			continue
		}
		if err := o.serve(ctx, filepath.Join(dir, part.name), part.name, part.bottleneck, part.run); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a server, measures and stores the result.
func (o *options) serve(ctx context.Context, dir, name, bottleneck string, run func(*bench, context.Context) error) (err error) {
	b := &bench{options: o, client: &http.Client{Timeout: time.Hour}}
	b.result = harness.NewResult(ctx, "people."+name, o.Binary, o.Pin)
	b.result.Bottleneck = bottleneck
	if b.store, err = harness.FreeAddress(ctx); err != nil {
		return err
	}
	b.server, err = harness.NewServer(ctx, harness.Settings{
		Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU(), Environment: []string{"SVC_LOG_LEVEL=warn", "SVC_CLICKHOUSE_LISTEN=" + b.store},
	})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	if err := run(b, ctx); err != nil {
		return err
	}
	if err := b.server.Stop(); err != nil {
		return err
	}
	return o.Keep(b.result)
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

// query sends a statement to the engine and returns its answer.
func (b *bench) query(ctx context.Context, text string, values map[string]string) (string, error) {
	params := url.Values{"database": {"svc"}}
	for name, value := range values {
		params.Set("param_"+name, value)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?"+params.Encode(), strings.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("making a statement: %w", err)
	}
	return b.fetch(request)
}

// fetch sends a request and returns its answer.
func (b *bench) fetch(request *http.Request) (string, error) {
	response, err := b.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking %s: %w", request.URL.Path, err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("reading an answer: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return "", fmt.Errorf("%s %s: status %d: %.300s", request.Method, request.URL.Path, response.StatusCode, answer)
	}
	return string(answer), nil
}

// knowEnvironment finds the number of production in a stored event.
func (b *bench) knowEnvironment(ctx context.Context) error {
	if err := b.server.Barrier(ctx, 1, time.Minute); err != nil {
		return err
	}
	answer, err := b.query(ctx, "SELECT any(environment) FROM events", nil)
	b.environment = strings.TrimSpace(answer)
	return err
}

const (
	// spread is the time span of the events.
	spread = 28 * 24 * time.Hour
	// chunk is the number of rows per statement of a seed.
	chunk = 500_000
)

// seed inserts rows into the table of events, like a block; the views do the rest.
func (b *bench) seed(ctx context.Context, name, text string, rows int) error {
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	for from := 0; from < rows; from += chunk {
		_, err := b.query(ctx, text, map[string]string{
			"environment": b.environment, "people": strconv.Itoa(b.people), "visits": strconv.Itoa(b.people * b.events / 2), "rounds": strconv.Itoa(b.events / 2),
			"spread_ms": strconv.FormatInt(spread.Milliseconds(), 10), "from": strconv.Itoa(from), "rows": strconv.Itoa(min(chunk, rows-from)),
		})
		if err != nil {
			return err
		}
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: name, Kind: harness.KindService, Events: uint64(rows), Seconds: usage.Elapsed.Seconds(), CPUPerEvent: float64(usage.Server.Microseconds()) / float64(rows), Foreign: usage.Foreign})
	return nil
}
