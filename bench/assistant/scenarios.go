package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// The goals of the assistant.
const (
	framesPerCore  = 70_000
	shareOfLimit   = 0.5
	bytesPerTurn   = 64 << 10
	addedMillis    = 20
	firstMillis    = 5
	bytesPerIdle   = 64
	actorsPerIdle  = 0.001
	idleLanes      = 16
	memorySeconds  = 6
	afterTheirRush = 3 * time.Second
)

// seated readies so many questions and returns a listener that asks one of them.
func (b *bench) seated(ctx context.Context, questions int) (func(*listener) error, error) {
	tokens, err := b.seats.fill(ctx, questions)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	return func(l *listener) error { return b.ask(ctx, l, tokens[next.Add(1)-1]) }, nil
}

// stagger is the time between the beginnings of turns that run at a pace: people do not
// ask in one instant, and each question and each end is stored.
const stagger = 20 * time.Millisecond

// ramp is how long it takes until all turns run.
func (b *bench) ramp() time.Duration { return time.Duration(b.turns) * stagger }

// staggered readies a listener for each turn that asks when its time has come.
func (b *bench) staggered(ctx context.Context) (func(*listener) error, error) {
	ask, err := b.seated(ctx, b.turns)
	if err != nil {
		return nil, err
	}
	var order atomic.Int64
	return func(l *listener) error {
		time.Sleep(time.Duration(order.Add(1)) * stagger)
		return ask(l)
	}, nil
}

// relay has limit and service relay frames in turns, as fast as they can.
func (b *bench) relay(ctx context.Context) error {
	process, address, err := bare.Streams(ctx, b.cpu, b.dir)
	if err != nil {
		return err
	}
	defer process.Kill()
	url := "http://" + address + bare.StreamsPath + "?count=" + strconv.Itoa(b.frames)
	for round := range b.rounds {
		err := b.run(process.PID(), "frames written, bare", harness.KindLimit, round+1, b.lanes, func(l *listener) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
			if err != nil {
				return err
			}
			return l.listen(b.client, request)
		})
		if err != nil {
			return err
		}
		b.model.plays(script{count: b.frames})
		ask, err := b.seated(ctx, b.lanes)
		if err != nil {
			return err
		}
		if err := b.run(b.server.PID(), "frames relayed", harness.KindService, round+1, b.lanes, ask); err != nil {
			return err
		}
	}
	perCore := func(row *harness.Measurement) float64 { return row.Extra["framesPerCore"] }
	service, limit := b.result.Median("frames relayed", perCore), b.result.Median("frames written, bare", perCore)
	b.goal(harness.AtLeast("assistant", "frames a second and core relayed", service, framesPerCore))
	b.goal(harness.AtLeast("assistant", "the same per those of a bare writer of streams", service/limit, shareOfLimit))
	return nil
}

// run runs so many listeners and adds a row of what they heard and what it cost.
func (b *bench) run(pid int, name, kind string, round, count int, listen func(*listener) error) error {
	meter, err := harness.StartMeter(pid)
	if err != nil {
		return err
	}
	whole, first := together(count, listen, nil)
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	row := whole.Fill(name, kind, usage)
	row.Round = round
	row.Extra = map[string]float64{"streams": float64(count), "first-p50-ms": first.Spread().P50, "first-p99-ms": first.Spread().P99}
	if usage.Server > 0 {
		row.Extra["framesPerCore"] = float64(whole.Events) / usage.Server.Seconds()
	}
	b.add(row)
	return failed(&whole)
}

// failed is the error of listeners that did not come to their end.
func failed(whole *harness.Outcome) error {
	if whole.Failures > 0 {
		return fmt.Errorf("%d streams failed: %s", whole.Failures, whole.FirstFailure)
	}
	return nil
}

// pace runs many turns at a pace.
func (b *bench) pace(ctx context.Context) error {
	b.model.plays(script{count: b.rate * (b.seconds + int(b.ramp().Seconds())), gap: time.Second / time.Duration(b.rate)})
	ask, err := b.staggered(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d turns of %d frames/s", b.turns, b.rate)
	if err := b.run(b.server.PID(), name, harness.KindService, 1, b.turns, ask); err != nil {
		return err
	}
	row := &b.result.Rows[len(b.result.Rows)-1]
	b.goal(harness.AtMost("assistant", "added time of a frame among "+name+", p99 ms", row.Latency.P99, addedMillis))
	return nil
}

// first times the first frame of turns one after another, on a server at rest.
func (b *bench) first(ctx context.Context) error {
	b.model.plays(script{count: 1})
	ask, err := b.seated(ctx, b.firsts+1)
	if err != nil {
		return err
	}
	var first harness.Latency
	for n := range b.firsts + 1 {
		var l listener
		if err := ask(&l); err != nil {
			return err
		}
		if n > 0 { // the very first opens connections
			first.Merge(&l.first)
		}
	}
	spread := first.Spread()
	b.add(harness.Measurement{Name: "question to first frame, alone", Kind: harness.KindService, Latency: &spread})
	b.goal(harness.AtMost("assistant", "question to first frame, p95 ms", spread.P95, firstMillis))
	return nil
}

// live collects the server's garbage and returns the bytes of heap and stacks that are
// left, and how many actors are in memory.
func (b *bench) live(ctx context.Context) (bytes, actors float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.server.Admin+"/debug/pprof/heap?gc=1", http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	response, err := b.client.Do(request)
	if err != nil {
		return 0, 0, fmt.Errorf("collecting garbage: %w", err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("collecting garbage: %d, %w", response.StatusCode, err)
	}
	metrics, err := b.server.Scrape(ctx)
	if err != nil {
		return 0, 0, err
	}
	return metrics["go_memstats_heap_alloc_bytes"] + metrics["go_memstats_stack_inuse_bytes"], metrics["svc_actors_resident"], nil
}

// memory weighs open turns in the middle of their life.
func (b *bench) memory(ctx context.Context) error {
	b.model.plays(script{count: 10 * (memorySeconds + int(b.ramp().Seconds())), gap: time.Second / 10})
	ask, err := b.staggered(ctx)
	if err != nil {
		return err
	}
	before, _, err := b.live(ctx)
	if err != nil {
		return err
	}
	_, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	row := harness.Measurement{Name: fmt.Sprintf("%d open turns", b.turns), Kind: harness.KindService}
	var during float64
	var weighing error
	whole, _ := together(b.turns, ask, func() {
		time.Sleep(afterTheirRush + b.ramp())
		_, row.RSSBytes, weighing = harness.ProcessRSS(b.server.PID())
		if weighing == nil {
			during, _, weighing = b.live(ctx)
		}
	})
	if weighing != nil {
		return weighing
	}
	each := (during - before) / float64(b.turns)
	row.Extra = map[string]float64{"live-bytes-a-turn": each, "rss-bytes-a-turn": float64(row.RSSBytes-anonymous) / float64(b.turns)}
	b.add(row)
	b.goal(harness.AtMost("assistant", "live bytes of an open turn", each, bytesPerTurn))
	return failed(&whole)
}

// idleness has many conversations fall idle and weighs what stays of them.
func (b *bench) idleness(ctx context.Context) error {
	b.model.plays(script{count: 3})
	ask, err := b.seated(ctx, b.idle)
	if err != nil {
		return err
	}
	before, actorsBefore, err := b.live(ctx)
	if err != nil {
		return err
	}
	var left atomic.Int64
	left.Store(int64(b.idle))
	whole, _ := together(idleLanes, func(l *listener) error {
		for left.Add(-1) >= 0 {
			if err := ask(l); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err := failed(&whole); err != nil {
		return err
	}
	busy, actorsBusy, err := b.live(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = harness.Poll(ctx, "the conversations leave memory", b.settle, 5*time.Second, func(ctx context.Context) (bool, string) {
		metrics, err := b.server.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		actors := metrics["svc_actors_resident"]
		return actors <= actorsBefore, fmt.Sprintf("%.0f actors, %.0f before", actors, actorsBefore)
	})
	if err != nil {
		b.result.Violations = append(b.result.Violations, err.Error())
	}
	after, actors, err := b.live(ctx)
	if err != nil {
		return err
	}
	n := float64(b.idle)
	b.add(harness.Measurement{Name: fmt.Sprintf("%d idle conversations", b.idle), Kind: harness.KindService, Extra: map[string]float64{
		"actors-at-first": actorsBusy - actorsBefore, "actors-at-last": actors - actorsBefore, "bytes-each-at-first": (busy - before) / n, "bytes-each-at-last": (after - before) / n,
		"seconds-to-leave": time.Since(began).Seconds(),
	}})
	b.goal(harness.AtMost("assistant", "actors in memory of an idle conversation", max(0, actors-actorsBefore)/n, actorsPerIdle))
	b.goal(harness.AtMost("assistant", "live bytes of an idle conversation", max(0, after-before)/n, bytesPerIdle))
	return nil
}
