package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/bench/harness"
)

// atOnce is how many definitions are made at the same time.
const atOnce = 32

// call sends a request and decodes the answer.
func (b *bench) call(ctx context.Context, url, token string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		return fmt.Errorf("posting to %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("posting to %s: status %d: %.300s", url, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// app returns the address of an application's resource.
func (b *bench) app(slug, resource string) string {
	return "http://" + b.server.Address + "/api/v1/apps/" + b.server.Organization + "/" + slug + "/" + resource
}

// prepare makes a channel.
func (b *bench) prepare(ctx context.Context) error {
	var session struct{ Secret string }
	if err := b.call(ctx, "http://"+b.server.Admin+"/admin/v1/login", "", map[string]string{"email": "owner@acme.example"}, &session); err != nil {
		return err
	}
	b.session = session.Secret
	var channel struct{ ID string }
	url := "http://" + b.server.Address + "/console/api/v1/apps/" + b.server.Organization + "/" + b.server.App + "/channels"
	err := b.call(ctx, url, b.session, map[string]string{"name": "Hook", "kind": "webhook", "url": b.target.address + "/hook"}, &channel)
	b.channel = channel.ID
	return err
}

// each makes n things, some at a time.
func each(ctx context.Context, n int, one func(ctx context.Context, i int) error) error {
	return eachOf(ctx, n, atOnce, one)
}

// eachOf is each with another number at a time.
func eachOf(ctx context.Context, n, limit int, one func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error { return one(ctx, i) })
	}
	return group.Wait()
}

// monitor makes a monitor and returns its id.
func (b *bench) monitor(ctx context.Context, path string) (string, error) {
	var made struct{ ID string }
	err := b.call(ctx, b.app(b.server.App, "monitors"), b.server.Token, map[string]any{
		"name": path, "url": b.target.address + path, "intervalSeconds": 1, "confirmations": 1,
	}, &made)
	return made.ID, err
}

// rule makes a rule.
func (b *bench) rule(ctx context.Context, app, name, kind string, channels []string, condition map[string]string) error {
	return b.call(ctx, b.app(app, "alerts"), b.server.Token, map[string]any{
		"name": name, "kind": kind, "threshold": 1, "comparator": "gte", "condition": condition, "channelIds": append([]string{}, channels...),
	}, nil)
}

// failures measures the time from the answer that fails a check to the webhook.
func (b *bench) failures(ctx context.Context) error {
	err := each(ctx, b.rounds, func(ctx context.Context, i int) error {
		path := fmt.Sprintf("/fails/%d", i)
		id, err := b.monitor(ctx, path)
		if err != nil {
			return err
		}
		return b.rule(ctx, b.server.App, path, "uptime", []string{b.channel}, map[string]string{"monitorId": id})
	})
	if err != nil {
		return err
	}
	var latency harness.Latency
	for i := range b.rounds {
		path := fmt.Sprintf("/fails/%d", i)
		b.target.fail(path)
		at, err := b.target.heard(ctx, path)
		if err != nil {
			return err
		}
		b.target.mu.Lock()
		latency.Record(at.Sub(b.target.failed[path]))
		b.target.mu.Unlock()
	}
	spread := latency.Spread()
	b.add(harness.Measurement{Name: "from the answer that fails a check to the webhook", Kind: harness.KindService, Latency: &spread})
	b.compare(harness.AtMost("G16", "check finished to webhook, p99 ms", spread.P99, 10))
	return nil
}

// checks makes many monitors and measures a while of their checks.
func (b *bench) checks(ctx context.Context) error {
	_, before, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	err = each(ctx, b.monitors, func(ctx context.Context, i int) error {
		_, err := b.monitor(ctx, fmt.Sprintf("/many/%d", i))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.wait(ctx, 5*time.Second); err != nil { // what making them cost is over
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
	total, after, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.target.mu.Lock()
	done, gaps := b.target.checks, b.target.gaps.Spread()
	b.target.mu.Unlock()
	perCore := float64(done) / usage.Server.Seconds()
	b.add(harness.Measurement{
		Name: fmt.Sprintf("%d monitors every second", b.monitors), Kind: harness.KindService, Events: done, Seconds: usage.Elapsed.Seconds(),
		EventsPerSecond: float64(done) / usage.Elapsed.Seconds(), CPUPerEvent: float64(usage.Server.Microseconds()) / float64(done), Latency: &gaps,
		Foreign: usage.Foreign, RSSBytes: total,
		Extra: map[string]float64{"checksPerSecondAndCore": perCore, "bytesPerMonitor": float64(after-before) / float64(b.monitors)},
	})
	b.compare(harness.AtLeast("G14", "checks a second and core, every result stored", perCore, 25_000))
	b.compare(harness.AtMost("G15", "bytes of memory a monitor", float64(after-before)/float64(b.monitors), 15_000))
	b.compare(harness.AtMost("G16", "distance of two checks from their interval, p99 ms", gaps.P99, 20))
	return nil
}

// begin restarts the server and measures how long after it serves all are checked.
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

// wait waits unless ctx ends.
func (b *bench) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
