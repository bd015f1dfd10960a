// Command state measures the state of actors: the number of small changes by the API that a server makes, each synced
// to disk, and the cost of one. It also measures how soon a killed server makes changes again, with few and with many
// entities in its partitions.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/bench/harness"
)

//go:embed seed.entities.sql
var seedEntities string

//go:embed seed.wakeups.sql
var seedWakeups string

// partitions is the number of the server's partitions.
const partitions = 16

// options are the flags.
type options struct {
	harness.Run

	changes   int
	callers   int
	entities  int
	takeovers int
}

func main() { harness.Main("state", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.changes, "changes", 2000, "changes that are made; 100000 by hand")
	flag.IntVar(&o.callers, "callers", 64, "callers at a time, each with an application of its own")
	flag.IntVar(&o.entities, "entities", 10000, "entities of each partition at a take-over; 100000 by hand")
	flag.IntVar(&o.takeovers, "takeovers", 2, "how often the server is killed with few and with many entities; 10 by hand")
	flag.Parse()
	return o.Within(ctx, "state", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is the server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
	client *http.Client
	store  string // the address of the embedded engine
	goals  []string
}

// measure makes changes, and then kills the server.
func measure(ctx context.Context, o *options, dir string) (err error) {
	b := &bench{options: o, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: o.callers}}}
	b.result = harness.NewResult(ctx, "state", o.Binary, o.Pin)
	b.result.Bottleneck = "changes: the processor time of a request through gates, two actors and the log, and the forced rounds of the log's journal; take-over: opening the embedded store and log"
	b.result.Notes = []string{
		"a change is a PATCH of a goal: it saves an entity, an entry of the ledger and an audit row in one batch, forced to disk",
		"a take-over is a start after kill -9 until a change of every application has succeeded; the entities, and one wake-up for each ten of them, are put into the tables while the server runs",
	}
	if b.store, err = harness.FreeAddress(ctx); err != nil {
		return err
	}
	b.server, err = harness.NewServer(ctx, harness.Settings{
		Binary: o.Binary, Dir: filepath.Join(dir, "server"), Sync: "always", CPU: o.CPU(),
		Environment: []string{"SVC_LOG_LEVEL=warn", "SVC_CLICKHOUSE_LISTEN=" + b.store, "SVC_PARTITIONS=" + strconv.Itoa(partitions)},
	})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		b.prepare, b.change, func(ctx context.Context) error { return b.takeOver(ctx, 0) }, b.seed,
		func(ctx context.Context) error { return b.takeOver(ctx, o.entities) },
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := b.server.Stop(); err != nil {
		return err
	}
	return o.Keep(b.result)
}

// call sends one request and reads its answer.
func (b *bench) call(ctx context.Context, method, address string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+b.server.Token)
	request.Header.Set("Content-Type", "application/json")
	return b.fetch(request, into)
}

func (b *bench) fetch(request *http.Request, into any) error {
	response, err := b.client.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s: %w", request.URL.Path, err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: status %d: %.300s", request.Method, request.URL.Path, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// prepare creates an application with a goal for each caller.
func (b *bench) prepare(ctx context.Context) error {
	base := "http://" + b.server.Address + "/api/v1"
	for n := range b.callers {
		slug := fmt.Sprintf("app-%d", n)
		if err := b.call(ctx, http.MethodPost, base+"/orgs/"+b.server.Organization+"/apps", map[string]any{"name": slug, "slug": slug}, nil); err != nil {
			return err
		}
		goals := base + "/apps/" + b.server.Organization + "/" + slug + "/goals"
		var made struct{ ID string }
		if err := b.call(ctx, http.MethodPost, goals, map[string]any{"name": "Goal", "kind": "event", "match": "a"}, &made); err != nil {
			return err
		}
		b.goals = append(b.goals, goals+"/"+made.ID)
	}
	return nil
}

// patch changes the goal of a caller.
func (b *bench) patch(ctx context.Context, caller, n int) error {
	return b.call(ctx, http.MethodPatch, b.goals[caller], map[string]any{"name": fmt.Sprintf("Goal %d", n)}, nil)
}

// change measures changes.
func (b *bench) change(ctx context.Context) error {
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	var made atomic.Int64
	group, changing := errgroup.WithContext(ctx)
	for caller := range b.callers {
		group.Go(func() error {
			for n := made.Add(1); n <= int64(b.changes); n = made.Add(1) {
				if err := b.patch(changing, caller, int(n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.result.Rows = append(b.result.Rows, harness.Measurement{
		Name: fmt.Sprintf("%d changes by %d callers", b.changes, b.callers), Kind: harness.KindService, Events: uint64(b.changes), Seconds: usage.Elapsed.Seconds(),
		EventsPerSecond: float64(b.changes) / usage.Elapsed.Seconds(), CPUPerEvent: float64(usage.Server.Microseconds()) / float64(b.changes), Foreign: usage.Foreign,
	})
	return nil
}

// seed puts entities and wake-ups into the tables.
func (b *bench) seed(ctx context.Context) error {
	for text, rows := range map[string]int{seedEntities: partitions * b.entities, seedWakeups: partitions * b.entities / 10} {
		query := url.Values{"database": {"svc"}, "param_rows": {strconv.Itoa(rows)}}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?"+query.Encode(), strings.NewReader(text))
		if err != nil {
			return fmt.Errorf("making a request: %w", err)
		}
		if err := b.fetch(request, nil); err != nil {
			return err
		}
	}
	return nil
}

// takeOver kills the server and measures the time until it makes changes again.
func (b *bench) takeOver(ctx context.Context, entities int) error {
	for range b.takeovers {
		if err := b.patch(ctx, 0, 0); err != nil { // one change is in the log and not in the tables
			return err
		}
		b.server.Kill()
		began := time.Now()
		ready, err := b.server.Open(ctx)
		if err != nil {
			return err
		}
		group, changing := errgroup.WithContext(ctx)
		for caller := range b.goals {
			group.Go(func() error { return b.patch(changing, caller, caller) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		b.result.Rows = append(b.result.Rows, harness.Measurement{
			Name: fmt.Sprintf("a take-over of %d partitions with %d entities each", partitions, entities), Kind: harness.KindService, Seconds: time.Since(began).Seconds(),
			Extra: map[string]float64{"readyMs": float64(ready.Milliseconds()), "changedMs": float64(time.Since(began).Milliseconds())},
		})
	}
	return nil
}
