// Command destinations measures the forwarding of conversions: the cost of one when thousands per second go to a
// webhook on this machine, and whether a hanging destination delays another one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	rate    int
	seconds int
	slow    int
	rounds  int
	// only names the single measurement to make; empty makes both.
	only string
	// profiles is the folder for the server's profiles; empty takes none.
	profiles string
}

// The goals.
const (
	// costGoal is the permitted cost of a conversion, in microseconds of the server's processors, beyond that of an
	// event that is not forwarded.
	costGoal = 150
	// floorGoal is costGoal as a multiple of a bare handler's time per event on the machine where costGoal was set: 14
	// µs. It is valid for machines of any speed.
	floorGoal = costGoal / 14.0
	// tailGoal is the time after the last event within which the last conversion must arrive, in seconds. Without
	// reads, events are stored every two seconds, and a backlog shows here.
	tailGoal = 4
	// delayGoal limits the change of another destination's 95th percentile by a hanging destination.
	delayGoal = 1.01
	// hang is how long a hanging destination holds each request: as long as the service waits.
	hang = 10 * time.Second
)

func main() { harness.Main("destinations", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	o.Flags(10 * time.Minute)
	flag.IntVar(&o.rate, "rate", 2000, "conversions a second")
	flag.IntVar(&o.seconds, "seconds", 8, "how long each rate is held; 20 by hand")
	flag.IntVar(&o.slow, "slow", 100, "conversions a second while another destination hangs")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each case is measured, in turns")
	flag.StringVar(&o.only, "only", "", "make one measurement, cost or hanging; empty makes both")
	flag.StringVar(&o.profiles, "profiles", "", "folder for the server's profiles of the processor; empty takes none")
	flag.Parse()
	return o.Within(ctx, "destinations", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement, and its receivers.
type bench struct {
	*options
	server  *harness.Server
	result  *harness.Result
	session string
}

// measure runs both measurements, each on a separate server.
func measure(ctx context.Context, o *options, dir string) error {
	result := harness.NewResult(ctx, "destinations", o.Binary, o.Pin)
	result.Bottleneck = "the CPU of the server's process: the engine, for the question who the people are and for the inserts, then net/http's client for a request per conversion"
	result.Notes = []string{
		"cost: the CPU time of the whole server with conversions forwarded, less that with the same events and no destination, by conversion; signature, queue and delivery log included; rounds take turns, medians are compared",
		"latency: from the event's acknowledgement at the sender to its arrival at the receiver",
		fmt.Sprintf("the destination that hangs holds each request for %s; rounds with and without it take turns, and begin with either in turn; it is there during its rounds only", hang),
		"p95 beside over p95 alone: of the exact latencies of the two rounds of a pair, which are next to each other, so that a machine which becomes slower meanwhile changes both; the median of all pairs counts. Those of the rows are of a histogram, up to 1.6 % too high",
	}
	for _, part := range []struct {
		name string
		run  func(*bench, context.Context) error
	}{{"cost", (*bench).cost}, {"hanging", (*bench).hanging}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		b := &bench{options: o, result: result}
		if err := b.serve(ctx, filepath.Join(dir, part.name), part.run); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return o.Keep(result)
}

// serve measures on a new server.
func (b *bench) serve(ctx context.Context, dir string, run func(*bench, context.Context) error) error {
	var err error
	b.server, err = harness.NewServer(ctx, harness.Settings{
		Binary: b.Binary, Dir: dir, Sync: "os", CPU: b.CPU(), Environment: []string{"SVC_MONITOR_ALLOW=127.0.0.1", "SVC_LOG_LEVEL=warn", "SVC_RATE_LIMIT=0"},
	})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	if b.session, err = b.server.Login(ctx, "owner@acme.example"); err != nil {
		return err
	}
	if err := run(b, ctx); err != nil {
		return err
	}
	return b.server.Stop()
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

func (b *bench) compare(ratio harness.Ratio) {
	b.result.Ratios = append(b.result.Ratios, ratio)
	fmt.Printf("  %s: %.3f (%v)\n", ratio.Name, ratio.Value, ratio.Met)
}

// cost alternately sends events that are forwarded and others that are not, at a rate, and compares the server's time.
func (b *bench) cost(ctx context.Context) error {
	r, err := newReceiver(ctx, 0)
	if err != nil {
		return err
	}
	defer r.close()
	if _, err := b.destination(ctx, "Shop", r, conversionEvent); err != nil {
		return err
	}
	load := harness.Load{Path: "/api/v1/events", Connections: 64, Batch: 1, Duration: time.Duration(b.seconds) * time.Second / 2}
	for n := range b.rounds {
		floor, err := bare.HTTP(ctx, bare.Single, b.CPU(), b.server.Dir, load)
		if err != nil {
			return err
		}
		b.add(floor)
		if err := b.round(ctx, unforwardedRow, "viewed", b.rate, nil); err != nil {
			return err
		}
		profiled := b.profile(ctx, n)
		if err := b.round(ctx, forwardedRow, conversionEvent, b.rate, r); err != nil {
			return err
		}
		if err := <-profiled; err != nil {
			return err
		}
	}
	cpu := func(row *harness.Measurement) float64 { return row.CPUPerEvent }
	tail := func(row *harness.Measurement) float64 { return row.Extra[tailSeconds] }
	cost := b.result.Median(forwardedRow, cpu) - b.result.Median(unforwardedRow, cpu)
	b.compare(harness.AtMost(fmt.Sprintf("a conversion costs at most %d µs beyond its event", costGoal), "µs a conversion", cost, costGoal))
	b.compare(harness.AtMost("the same on a machine of any speed", "of what a bare handler takes for an event", cost/b.result.Median("http "+bare.Single, cpu), floorGoal))
	b.compare(harness.AtMost(fmt.Sprintf("%d conversions a second are forwarded as they come", b.rate), "seconds from the last event to the last arrival", b.result.Median(forwardedRow, tail), tailGoal))
	return nil
}

// profile writes the server's processor profile during a round, if a folder is configured.
func (b *bench) profile(ctx context.Context, round int) <-chan error {
	done := make(chan error, 1)
	if b.profiles == "" {
		done <- nil
		return done
	}
	go func() {
		text, err := b.server.Profile(ctx, b.seconds)
		if err == nil {
			err = os.WriteFile(filepath.Join(b.profiles, fmt.Sprintf("forwarded-%d.pprof", round)), text, 0o600)
		}
		done <- err
	}()
	return done
}

// hanging compares the latency of a destination next to a hanging one, and without it.
func (b *bench) hanging(ctx context.Context) error {
	well, err := newReceiver(ctx, 0)
	if err != nil {
		return err
	}
	defer well.close()
	if _, err := b.destination(ctx, "Well", well, conversionEvent); err != nil {
		return err
	}
	if err := b.round(ctx, "warm up", conversionEvent, b.slow, well); err != nil {
		return err
	}
	exact := map[string][][]time.Duration{}
	for n := range b.rounds {
		pair := []string{aloneRow, besideRow}
		if n%2 == 1 {
			slices.Reverse(pair)
		}
		for _, name := range pair {
			if err := b.hangingRound(ctx, name, well); err != nil {
				return err
			}
			exact[name] = append(exact[name], well.exact())
		}
	}
	alone, beside := exact[aloneRow], exact[besideRow]
	var pairs, equal []float64
	for n := range alone {
		pairs = append(pairs, p95(beside[n])/p95(alone[n]))
		if n > 0 {
			equal = append(equal, p95(alone[n])/p95(alone[n-1]))
		}
	}
	slices.Sort(pairs)
	slices.Sort(equal)
	if len(equal) > 0 {
		b.result.Notes = append(b.result.Notes, fmt.Sprintf("p95 beside over p95 alone, by round, from the least: %.3f; a round alone over the one before it: %.3f", pairs, equal))
	}
	b.compare(harness.AtMost("a destination that hangs changes another's p95 by less than 1 %", "p95 beside it over p95 alone, median of the rounds", pairs[len(pairs)/2], delayGoal))
	return nil
}

// hangingRound is one round, with a hanging destination if the row is one of those.
func (b *bench) hangingRound(ctx context.Context, name string, well *receiver) error {
	if name == aloneRow {
		return b.round(ctx, name, conversionEvent, b.slow, well)
	}
	slow, err := newReceiver(ctx, hang)
	if err != nil {
		return err
	}
	defer slow.close()
	id, err := b.destination(ctx, "Hangs", slow, conversionEvent)
	if err != nil {
		return err
	}
	if err := b.round(ctx, name, conversionEvent, b.slow, well); err != nil {
		return err
	}
	if slow.held.Load() == 0 {
		return errors.New("nothing was sent to the destination that hangs")
	}
	return b.remove(ctx, id)
}

// p95 returns the 95th percentile of the latencies of a round, in seconds. It sorts them.
func p95(round []time.Duration) float64 {
	slices.Sort(round)
	return round[min(len(round)*95/100, len(round)-1)].Seconds()
}

// conversionEvent is the name of the events that destinations forward.
const conversionEvent = "purchase"

// Names of rows that are compared.
const (
	unforwardedRow = "events that nothing forwards"
	forwardedRow   = "conversions to a webhook"
	aloneRow       = "conversions, none hangs"
	besideRow      = "conversions, another hangs"
)
