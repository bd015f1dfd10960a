package main

import (
	"context"
	"fmt"
	"time"

	"svc/bench/harness"
)

const (
	// tick is the time between two requests of the sender.
	tick = 50 * time.Millisecond
	// restTime limits the wait for the last conversions.
	restTime = time.Minute
	// tailSeconds is the name of the figure of the time from the last event to the arrival of the last conversion.
	tailSeconds = "tailSeconds"
	// buyers is the number of people in the events.
	buyers = 1000
)

// round sends events of a name at a rate, waits until the receiver has all of them, and adds a row with the server's
// cost and the latencies. Without a receiver, it waits only for the store.
func (b *bench) round(ctx context.Context, name, event string, rate int, to *receiver) error {
	if to != nil {
		to.begin()
	}
	conn := harness.NewConn(b.server.Address, "/api/v1/batch", b.server.Keys["production"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	sent, err := b.send(ctx, conn, event, rate, to)
	if err != nil {
		return err
	}
	ended := time.Now()
	if err := b.rest(ctx, sent, to); err != nil {
		return err
	}
	tail := time.Since(ended).Seconds()
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	row := harness.Measurement{
		Name: name, Kind: harness.KindService, Events: uint64(sent), Seconds: usage.Elapsed.Seconds(), EventsPerSecond: float64(sent) / usage.Elapsed.Seconds(),
		CPUPerEvent: float64(usage.Server.Microseconds()) / float64(sent), Foreign: usage.Foreign, Extra: map[string]float64{tailSeconds: tail},
	}
	if to != nil {
		to.mu.Lock()
		spread := to.latency.Spread()
		to.mu.Unlock()
		row.Latency = &spread
	}
	b.add(row)
	return nil
}

// send sends the events of a round and returns the number of acknowledged ones.
func (b *bench) send(ctx context.Context, conn *harness.Conn, event string, rate int, to *receiver) (sent int, err error) {
	began := time.Now()
	run := began.UnixNano()
	for due := began; due.Sub(began) < time.Duration(b.seconds)*time.Second; due = due.Add(tick) {
		if err := ctx.Err(); err != nil {
			return sent, err
		}
		time.Sleep(time.Until(due))
		want := int(due.Add(tick).Sub(began).Seconds() * float64(rate))
		body, ids := []byte(`{"items":[`), []string(nil)
		for ; sent < want; sent++ {
			if len(ids) > 0 {
				body = append(body, ',')
			}
			id := fmt.Sprintf("%x-%d", run, sent)
			ids = append(ids, id)
			body = fmt.Appendf(body, `{"type":"event","name":%q,"id":%q,"distinctId":"buyer-%d","value":12.5,"currency":"EUR","url":"https://shop.example/thanks","properties":{"order":"%d"},"context":{"userAgent":%q}}`,
				event, id, sent%buyers, sent, harness.UserAgents()[0])
		}
		if len(ids) == 0 {
			continue
		}
		reply, err := conn.Post(append(body, `]}`...))
		if err != nil {
			return sent, fmt.Errorf("sending events: %w", err)
		}
		if reply.Status != 202 {
			return sent, fmt.Errorf("sending events: %d %s", reply.Status, reply.Body)
		}
		if to != nil {
			to.acknowledged(ids, time.Now())
		}
	}
	return sent, nil
}

// rest waits until all sent events have arrived.
func (b *bench) rest(ctx context.Context, sent int, to *receiver) error {
	if to == nil {
		return b.server.AwaitDrained(ctx, restTime)
	}
	return harness.Poll(ctx, "the conversions arrive", restTime, 5*time.Millisecond, func(context.Context) (bool, string) {
		taken := to.taken.Load()
		return taken == int64(sent), fmt.Sprintf("%d of %d have arrived", taken, sent)
	})
}
