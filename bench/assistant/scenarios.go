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
	memorySeconds  = 6
	afterTheirRush = 3 * time.Second
)

// seated prepares members for a number of questions and returns a listener that asks one question.
func (b *bench) seated(ctx context.Context, questions int) (func(*listener) error, error) {
	tokens, err := b.seats.fill(ctx, questions)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	return func(l *listener) error { return b.ask(ctx, l, tokens[next.Add(1)-1]) }, nil
}

// stagger is the time between the beginnings of paced turns: people do not ask at the same instant, and each question
// and each end is stored.
const stagger = 20 * time.Millisecond

// bareStagger is the same for a relay, which stores nothing.
const bareStagger = 5 * time.Millisecond

// ramp is how long it takes until all turns run.
func (b *bench) ramp() time.Duration { return time.Duration(b.turns) * stagger }

// staggered makes listeners ask one after another, with a pause.
func staggered(apart time.Duration, ask func(*listener) error) func(*listener) error {
	var order atomic.Int64
	return func(l *listener) error {
		time.Sleep(time.Duration(order.Add(1)) * apart)
		return ask(l)
	}
}

// bareStream returns a listener that reads a stream of a bare program.
func (b *bench) bareStream(ctx context.Context, url string) func(*listener) error {
	return func(l *listener) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
		if err != nil {
			return err
		}
		return l.listen(b.client, request)
	}
}

// startRelay starts a bare relay of the model and returns a listener of it.
func (b *bench) startRelay(ctx context.Context) (*harness.Process, func(*listener) error, error) {
	process, address, err := bare.Relay(ctx, b.CPU(), b.dir, b.model.url)
	return process, b.bareStream(ctx, "http://"+address+bare.RelayPath), err
}

// relay lets the bare programs and the service alternately relay frames, as fast as they can.
func (b *bench) relay(ctx context.Context) error {
	writer, address, err := bare.Streams(ctx, b.CPU(), b.dir)
	if err != nil {
		return err
	}
	defer writer.Kill()
	url := "http://" + address + bare.StreamsPath + "?count=" + strconv.Itoa(b.frames)
	relay, fromRelay, err := b.startRelay(ctx)
	if err != nil {
		return err
	}
	defer relay.Kill()
	b.model.plays(script{count: b.frames})
	for round := range b.rounds {
		if err := b.run(writer.PID(), "frames written, bare", harness.KindLimit, round+1, b.lanes, b.bareStream(ctx, url)); err != nil {
			return err
		}
		if err := b.run(relay.PID(), "frames relayed, bare", harness.KindLimit, round+1, b.lanes, fromRelay); err != nil {
			return err
		}
		ask, err := b.seated(ctx, b.lanes)
		if err != nil {
			return err
		}
		if err := b.run(b.server.PID(), "frames relayed", harness.KindService, round+1, b.lanes, ask); err != nil {
			return err
		}
	}
	perCore := func(row *harness.Measurement) float64 { return row.Extra["framesPerCore"] }
	service := b.result.Median("frames relayed", perCore)
	b.goal(harness.AtLeast("assistant", "frames a second and core relayed", service, framesPerCore))
	b.goal(harness.AtLeast("assistant", "the same per those of a bare relay of the same model", service/b.result.Median("frames relayed, bare", perCore), shareOfLimit))
	b.goal(harness.AtLeast("assistant", "the same per those of a bare writer, which reads nothing", service/b.result.Median("frames written, bare", perCore), shareOfLimit))
	return nil
}

// run runs count listeners and adds a row with their results and the cost.
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

// failed is the error of listeners that did not finish.
func failed(whole *harness.Outcome) error {
	if whole.Failures > 0 {
		return fmt.Errorf("%d streams failed: %s", whole.Failures, whole.FirstFailure)
	}
	return nil
}

// pace runs many turns at a pace, first through a bare relay and then through the service.
func (b *bench) pace(ctx context.Context) error {
	name := fmt.Sprintf("%d turns of %d frames/s", b.turns, b.rate)
	relay, fromRelay, err := b.startRelay(ctx)
	if err != nil {
		return err
	}
	defer relay.Kill()
	b.paced(time.Duration(b.turns) * bareStagger)
	if err := b.run(relay.PID(), name+", bare", harness.KindLimit, 1, b.turns, staggered(bareStagger, fromRelay)); err != nil {
		return err
	}
	limit := b.result.Rows[len(b.result.Rows)-1].Latency.P99
	ask, err := b.seated(ctx, b.turns)
	if err != nil {
		return err
	}
	b.paced(b.ramp())
	if err := b.run(b.server.PID(), name, harness.KindService, 1, b.turns, staggered(stagger, ask)); err != nil {
		return err
	}
	whole := b.result.Rows[len(b.result.Rows)-1].Latency.P99
	b.goal(harness.AtMost("assistant", "from the model to the client among "+name+", p99 ms", whole, addedMillis))
	b.goal(harness.AtMost("assistant", "the same less that of a bare relay, p99 ms", max(0, whole-limit), addedMillis))
	return nil
}

// paced makes the model speak at the rate while all turns run, and during their ramp.
func (b *bench) paced(ramp time.Duration) {
	b.model.plays(script{count: b.rate * (b.seconds + int(ramp.Seconds())), gap: time.Second / time.Duration(b.rate)})
}

// first measures the first frame of turns one after another, on a server at rest.
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
		if n > 0 { // the very first turn opens connections
			first.Merge(&l.first)
		}
	}
	spread := first.Spread()
	b.add(harness.Measurement{Name: "question to first frame, alone", Kind: harness.KindService, Latency: &spread})
	b.goal(harness.AtMost("assistant", "question to first frame, p95 ms", spread.P95, firstMillis))
	return nil
}

// live collects the server's garbage and returns the remaining bytes of heap and stacks.
func (b *bench) live(ctx context.Context) (float64, error) {
	for range collections {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.server.Admin+"/debug/pprof/heap?gc=1", http.NoBody)
		if err != nil {
			return 0, err
		}
		if err := b.server.SignAsOperator(request); err != nil {
			return 0, err
		}
		response, err := b.client.Do(request)
		if err != nil {
			return 0, fmt.Errorf("collecting garbage: %w", err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("collecting garbage: %d, %w", response.StatusCode, err)
		}
	}
	metrics, err := b.server.Scrape(ctx)
	if err != nil {
		return 0, err
	}
	return metrics["go_memstats_heap_alloc_bytes"] + metrics["go_memstats_stack_inuse_bytes"], nil
}

// collections is the number of garbage collections per figure: pools release their contents in the second one, and each
// one halves stacks.
const collections = 3

// memory measures open turns in the middle of their life.
func (b *bench) memory(ctx context.Context) error {
	b.model.plays(script{count: 10 * (memorySeconds + int(b.ramp().Seconds())), gap: time.Second / 10})
	ask, err := b.seated(ctx, b.turns)
	if err != nil {
		return err
	}
	before, err := b.live(ctx)
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
	whole, _ := together(b.turns, staggered(stagger, ask), func() {
		time.Sleep(afterTheirRush + b.ramp())
		_, row.RSSBytes, weighing = harness.ProcessRSS(b.server.PID())
		if weighing == nil {
			during, weighing = b.live(ctx)
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
