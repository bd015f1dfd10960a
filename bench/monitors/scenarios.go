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

// atOnce is the number of definitions that are created concurrently.
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
	defer func() { _ = response.Body.Close() }() // the body was read
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

// prepare creates a channel.
func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.session, err = b.server.Login(ctx, "owner@acme.example"); err != nil {
		return err
	}
	var channel struct{ ID string }
	url := "http://" + b.server.Address + "/console/api/v1/apps/" + b.server.Organization + "/" + b.server.App + "/channels"
	err = b.call(ctx, url, b.session, map[string]string{"name": "Hook", "kind": "webhook", "url": b.target.address + "/hook"}, &channel)
	b.channel = channel.ID
	return err
}

// each creates n objects, some concurrently.
func each(ctx context.Context, n int, one func(ctx context.Context, i int) error) error {
	return eachOf(ctx, n, atOnce, one)
}

// eachOf is each with another limit of concurrent calls.
func eachOf(ctx context.Context, n, limit int, one func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error { return one(ctx, i) })
	}
	return group.Wait()
}

// monitor creates a monitor and returns its id.
func (b *bench) monitor(ctx context.Context, path string) (string, error) {
	var made struct{ ID string }
	err := b.call(ctx, b.app(b.server.App, "monitors"), b.server.Token, map[string]any{
		"name": path, "url": b.target.address + path, "intervalSeconds": 1, "confirmations": 1,
	}, &made)
	return made.ID, err
}

// rule creates a rule.
func (b *bench) rule(ctx context.Context, app, name, kind string, channels []string, condition map[string]string) error {
	return b.call(ctx, b.app(app, "alerts"), b.server.Token, map[string]any{
		"name": name, "kind": kind, "threshold": 1, "comparator": "gte", "condition": condition, "channelIds": append([]string{}, channels...),
	}, nil)
}

// failing creates the monitors that will fail, with a rule for each.
func (b *bench) failing(ctx context.Context) error {
	return each(ctx, b.rounds, func(ctx context.Context, i int) error {
		path := fmt.Sprintf("/fails/%d", i)
		id, err := b.monitor(ctx, path)
		if err != nil {
			return err
		}
		return b.rule(ctx, b.server.App, path, "uptime", []string{b.channel}, map[string]string{"monitorId": id})
	})
}

// failures measures the time from the answer that fails a check to the webhook, while the other monitors are checked.
func (b *bench) failures(ctx context.Context) error {
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
	b.add(harness.Measurement{
		Name: fmt.Sprintf("from the answer that fails a check to the webhook, beside %d", b.monitors), Kind: harness.KindService, Latency: &spread,
	})
	b.compare(harness.AtMost("G16", "check finished to webhook, p99 ms", spread.P99, 10))
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
