package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

//go:embed seed.monitors.sql
var seedMonitors string

// limits measures bare clients against the same target, on the server's processor: the noise in a check's cost.
func (b *bench) limits(ctx context.Context) error {
	rows, err := bare.Checks(ctx, b.CPU(), b.target.address, b.monitors)
	if err != nil {
		return err
	}
	for _, row := range rows {
		b.add(row)
	}
	b.bare = rows[0].CPUPerEvent
	return nil
}

// seed puts the monitors into the store. Creating each by the API would take longer than everything else, because each
// would need a separate answer.
func (b *bench) seed(ctx context.Context) error {
	var err error
	if b.liveBefore, err = b.live(ctx); err != nil {
		return err
	}
	if _, b.anonymousBefore, err = harness.ProcessRSS(b.server.PID()); err != nil {
		return err
	}
	query := url.Values{
		"database": {"svc"}, "param_app": {b.server.Organization + "/" + b.server.App}, "param_target": {b.target.address},
		"param_match": {bare.CheckText}, "param_monitors": {strconv.Itoa(b.monitors)},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?"+query.Encode(), strings.NewReader(seedMonitors))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	_, err = b.fetch(request)
	return err
}

// begin restarts the server and measures the time from readiness until all are checked.
func (b *bench) begin(ctx context.Context) error {
	if err := b.server.Stop(); err != nil {
		return err
	}
	b.target.forget()
	began := time.Now()
	started, err := b.server.Open(ctx)
	if err != nil {
		return err
	}
	ready := began.Add(started)
	err = harness.Poll(ctx, "a check of every monitor", time.Minute, 5*time.Millisecond, func(context.Context) (bool, string) {
		n := b.target.asked()
		return n >= b.monitors, fmt.Sprint(n)
	})
	if err != nil {
		return err
	}
	took := time.Since(ready)
	b.add(harness.Measurement{
		Name: "a restart", Kind: harness.KindService, Seconds: time.Since(began).Seconds(),
		Extra: map[string]float64{"monitors": float64(b.monitors), "readyMs": float64(started.Milliseconds()), "allCheckedMs": float64(took.Milliseconds())},
	})
	b.compare(harness.AtMost("G15", "from readiness to a check of every monitor, ms", float64(took.Milliseconds()), 1000))
	return nil
}

// checks measures a while of the checks of many monitors.
func (b *bench) checks(ctx context.Context) error {
	if err := b.wait(ctx, 5*time.Second); err != nil { // the work of the start is over
		return err
	}
	profiled := b.profile(ctx, "profile?seconds="+strconv.Itoa(b.seconds), "cpu")
	stored, err := b.storedChecks(ctx)
	if err != nil {
		return err
	}
	b.target.forget()
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	if err := b.wait(ctx, time.Duration(b.seconds)*time.Second); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	done, gaps := b.target.seen()
	total, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	live, err := b.live(ctx)
	if err != nil {
		return err
	}
	if err := b.wait(ctx, 2*time.Second); err != nil { // the latest checks are stored
		return err
	}
	after, err := b.storedChecks(ctx)
	if err != nil {
		return err
	}
	if after-stored < float64(done) {
		b.result.Violations = append(b.result.Violations, fmt.Sprintf("%d checks were made, %.0f were stored", done, after-stored))
	}
	if err := <-profiled; err != nil {
		return err
	}
	b.judge(done, &gaps, usage, total, (live-b.liveBefore)/float64(b.monitors), float64(anonymous-b.anonymousBefore)/float64(b.monitors))
	return nil
}

// judge adds the cost of done checks, and compares it with the goals. lives and grown are bytes per monitor.
func (b *bench) judge(done uint64, gaps *harness.Spread, usage harness.Usage, total int64, lives, grown float64) {
	perCore, cost := float64(done)/usage.Server.Seconds(), float64(usage.Server.Microseconds())/float64(done)
	b.add(harness.Measurement{
		Name: fmt.Sprintf("%d monitors every second", b.monitors), Kind: harness.KindService, Events: done, Seconds: usage.Elapsed.Seconds(),
		EventsPerSecond: float64(done) / usage.Elapsed.Seconds(), CPUPerEvent: cost, Latency: gaps, Foreign: usage.Foreign, RSSBytes: total,
		Extra: map[string]float64{"checksPerSecondAndCore": perCore, "residentBytesPerMonitor": grown, "liveBytesPerMonitor": lives},
	})
	b.compare(harness.AtLeast("G14", "checks a second and core, every result stored", perCore, 25_000))
	b.compare(harness.AtLeast("G14", "of what the bare client does", b.bare/cost, 0.43))
	b.compare(harness.AtMost("G15", "bytes of live heap and stacks a monitor, connections included", lives, 15_000))
	b.compare(harness.AtMost("G16", "distance of two checks from their interval, p99 ms", gaps.P99, 20))
}

// storedChecks returns the number of checks in the store.
func (b *bench) storedChecks(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.store+"/?database=svc", strings.NewReader("SELECT count() FROM checks FORMAT TabSeparated"))
	if err != nil {
		return 0, fmt.Errorf("making a request: %w", err)
	}
	answer, err := b.fetch(request)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(answer)), 64)
}

// live collects the server's garbage and returns the remaining bytes of heap and stacks.
func (b *bench) live(ctx context.Context) (float64, error) {
	if err := <-b.profile(ctx, "heap?gc=1", "heap"); err != nil {
		return 0, err
	}
	metrics, err := b.server.Scrape(ctx)
	return metrics["go_memstats_heap_alloc_bytes"] + metrics["go_memstats_stack_inuse_bytes"], err
}

// profile requests a profile of the server, stores it if the flags name a folder, and signals when it is done.
func (b *bench) profile(ctx context.Context, path, name string) <-chan error {
	done := make(chan error, 1)
	if b.profiles == "" && name == "cpu" {
		done <- nil
		return done
	}
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.server.Admin+"/debug/pprof/"+path, http.NoBody)
		if err == nil {
			err = b.server.SignAsOperator(request)
		}
		if err != nil {
			done <- err
			return
		}
		profile, err := b.fetch(request)
		if err == nil && b.profiles != "" {
			err = errors.Join(os.MkdirAll(b.profiles, 0o755), os.WriteFile(filepath.Join(b.profiles, name), profile, 0o600))
		}
		done <- err
	}()
	return done
}

// fetch sends a request and returns the answer, which must be 200.
func (b *bench) fetch(request *http.Request) ([]byte, error) {
	response, err := b.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", request.URL.Path, err)
	}
	return answer, nil
}
