package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"svc/bench/harness"
)

const (
	connections = 8
	batchSize   = 500
	// drainTime limits a load and, separately, the wait for its backlog.
	drainTime = 10 * time.Minute
)

// takeIn measures the cost of an event when three of ten items are identifies, compared with events alone.
func (b *bench) takeIn(ctx context.Context) error {
	loads := []struct {
		name   string
		bodies func(stream int) func(out []byte, size int, ts time.Time) []byte
	}{
		{"events alone", nil},
		{"3 of 10 identify, with traits", telling},
	}
	const rounds = 2
	for round := range rounds {
		for _, load := range loads {
			outcome, usage, err := b.server.Store(ctx, harness.Load{
				Path: "/api/v1/batch", Connections: connections, Batch: batchSize, Events: b.ingest, Seed: uint64(round), Bodies: load.bodies,
			}, drainTime)
			if err != nil {
				return err
			}
			b.add(outcome.Fill(load.name, harness.KindService, usage))
		}
	}
	cpu := func(m *harness.Measurement) float64 { return m.CPUPerEvent }
	ratio := b.result.Median(loads[1].name, cpu) / b.result.Median(loads[0].name, cpu)
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("people", "processor time of an event with 30 % identify beside events alone, stored", ratio, 1.25))
	return nil
}

// telling makes batches in which three of ten items are identify with an anonymous id and traits.
func telling(stream int) func(out []byte, size int, ts time.Time) []byte {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(stream)))
	return func(out []byte, size int, ts time.Time) []byte {
		out = append(out, `{"items":[`...)
		for n := range size {
			if n > 0 {
				out = append(out, ',')
			}
			user := random.IntN(harness.Users)
			id := strconv.AppendUint(nil, random.Uint64(), 36)
			if n%10 > 2 {
				out = harness.AppendItem(out, id, user, random.IntN(harness.Paths), ts)
				continue
			}
			out = fmt.Appendf(out, `{"type":"identify","id":%q,"ts":%q,"distinctId":"user-%08d","anonymousId":"anon-%d","traits":{"email":"user%d@example.com","name":"User %d","plan":"pro","company":"Company %d","seats":%d}}`,
				id, ts.UTC().Format(harness.TimeFormat), user, user, user, user, user/20, n)
		}
		return append(out, `]}`...)
	}
}
