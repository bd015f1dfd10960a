package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/bench/harness"
)

const (
	// metricKept counts the people that the server caches for fast lists.
	metricKept = "svc_people_kept"
	// keptTime limits the time until the server has cached all people.
	keptTime = 10 * time.Minute
	// comeEvery and comeAtOnce are the pace and the number of visitors that arrive while reads are measured: 100 per
	// second.
	comeEvery, comeAtOnce = 100 * time.Millisecond, 10
)

// ask measures reads: one list before the people are cached, all reads afterwards, and all while other people arrive.
func (b *bench) ask(ctx context.Context, asked []read) error {
	if err := b.kept(ctx, asked[:1]); err != nil {
		return err
	}
	if err := b.times(ctx, asked, ""); err != nil {
		return err
	}
	return b.whileOthersCome(ctx, asked)
}

// kept measures reads once before the server has cached the people, and waits until it has.
func (b *bench) kept(ctx context.Context, all []read) error {
	warm := b.warm
	b.warm = 1
	err := b.times(ctx, all, ", people not kept yet")
	b.warm = warm
	if err != nil {
		return err
	}
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	err = harness.Poll(ctx, "people who are kept", keptTime, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
		metrics, err := b.server.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		return metrics[metricKept] > 0, "none is kept"
	})
	if err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "keeping all people", Kind: harness.KindService, Seconds: usage.Elapsed.Seconds(), Foreign: usage.Foreign, Extra: map[string]float64{
		"cpu-ms": float64(usage.Server.Milliseconds()),
	}})
	return nil
}

// whileOthersCome measures reads while new people arrive all the time.
func (b *bench) whileOthersCome(ctx context.Context, all []read) error {
	coming, end := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return b.come(coming) })
	err := b.times(ctx, all, ", while 100 people a second come")
	end()
	return errors.Join(err, group.Wait())
}

// come sends events of new visitors until ctx ends.
func (b *bench) come(ctx context.Context) error {
	conn := harness.NewConn(b.server.Address, "/api/v1/batch", b.server.Keys["production"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	type item struct {
		Type       string            `json:"type"`
		DistinctID string            `json:"distinctId"`
		Traits     map[string]string `json:"traits"`
	}
	ticker := time.NewTicker(comeEvery)
	defer ticker.Stop()
	for n := 0; ; n += comeAtOnce {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		items := make([]item, comeAtOnce)
		for i := range items {
			items[i] = item{Type: "identify", DistinctID: fmt.Sprintf("comer-%d", n+i), Traits: map[string]string{"name": fmt.Sprintf("Comer Number%d", n+i), "plan": "free"}}
		}
		body, err := json.Marshal(map[string]any{"items": items})
		if err != nil {
			return fmt.Errorf("encoding items: %w", err)
		}
		reply, err := conn.Post(body)
		if err != nil {
			return fmt.Errorf("sending items: %w", err)
		}
		if reply.Status != http.StatusAccepted {
			return fmt.Errorf("sending items: %w", errors.New(string(reply.Body)))
		}
	}
}
