package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"svc/bench/harness"
)

// overview holds the relevant part of an answer.
type overview struct {
	Totals struct {
		ActiveSubscriptions int   `json:"activeSubscriptions"`
		PaymentsCents       int64 `json:"paymentsCents"`
	} `json:"totals"`
}

// read reads the overview of twelve months, and compares it with the sent items.
func (b *bench) read(ctx context.Context) (answer overview, took time.Duration, err error) {
	began := time.Now()
	err = b.server.Read(ctx, "/revenue/overview", url.Values{"range": {b.window}}, &answer)
	took = time.Since(began)
	active := 0
	for n := range b.subscriptions {
		if !canceled(n) {
			active++
		}
	}
	if err == nil && answer.Totals.ActiveSubscriptions != active {
		err = fmt.Errorf("%d subscriptions are active, sent were %d", answer.Totals.ActiveSubscriptions, active)
	}
	return answer, took, err
}

// first kills the server, starts it again, and reads until there is an answer.
func (b *bench) first(ctx context.Context) error {
	b.server.Kill()
	ready, err := b.server.Open(ctx)
	if err != nil {
		return err
	}
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	answer, err := b.ask(ctx, "SELECT any(environment) FROM billing")
	if err != nil {
		return err
	}
	b.environment = strings.TrimSpace(answer)
	began, asked := time.Now(), 0
	err = harness.Poll(ctx, "the first revenue", storeTime, 10*time.Millisecond, func(ctx context.Context) (bool, string) {
		answer, _, err := b.read(ctx)
		asked++
		b.payments = answer.Totals.PaymentsCents
		return err == nil, fmt.Sprint(err)
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	rss, _, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.add(harness.Measurement{
		Name: "first overview after a start", Kind: harness.KindService, Events: uint64(b.items), Seconds: took.Seconds(), EventsPerSecond: float64(int(float64(b.items) / took.Seconds())),
		CPUPerEvent: float64(usage.Server.Microseconds()) / float64(b.items), RSSBytes: rss,
		Extra: map[string]float64{"asked": float64(asked), "readyMs": float64(ready.Milliseconds()), "subscriptions": float64(b.subscriptions)},
	})
	return nil
}

// steady reads while nothing changes, in turns with the query with which each read begins.
func (b *bench) steady(ctx context.Context) error {
	var whole, spans harness.Latency
	var cpu time.Duration
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	for range b.reads {
		before, err := harness.ProcessCPU(b.server.PID())
		if err != nil {
			return err
		}
		_, took, err := b.read(ctx)
		if err != nil {
			return err
		}
		after, err := harness.ProcessCPU(b.server.PID())
		if err != nil {
			return err
		}
		cpu += after - before
		whole.Record(took)
		began := time.Now()
		if _, err := b.ask(ctx, spansQuery); err != nil {
			return err
		}
		spans.Record(time.Since(began))
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.addLatency(steadyRow, harness.KindService, &whole, cpu, usage.Foreign)
	b.addLatency(spansRow, harness.KindLimit, &spans, 0, usage.Foreign)
	return nil
}

func (b *bench) addLatency(name, kind string, latency *harness.Latency, cpu time.Duration, foreign float64) {
	spread := latency.Spread()
	row := harness.Measurement{Name: name, Kind: kind, Events: latency.Count(), Latency: &spread, Foreign: foreign, Extra: map[string]float64{"subscriptions": float64(b.subscriptions)}}
	if cpu > 0 {
		row.CPUPerEvent = float64(cpu.Microseconds()) / float64(latency.Count())
	}
	b.add(row)
}

// change sends one item after the other, alternately a payment and a change of a subscription, and reads when it is
// stored.
func (b *bench) change(ctx context.Context) error {
	conn := b.conn()
	defer conn.Close()
	var after harness.Latency
	var cpu time.Duration
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	for n := range b.changes {
		one := item{Type: "payment", Ts: stamp(time.Now()), CustomerID: "payer-1", Currency: "USD", AmountCents: 7, PaymentID: fmt.Sprint("late-", n)}
		paid := b.payments + 7
		if n%2 == 1 {
			one, paid = history(1, time.Now())[0], b.payments
			one.ID, one.Ts, one.AmountCents = fmt.Sprint("late-", n), stamp(time.Now()), int64(9000+n)
		}
		if err := send(conn, []item{one}); err != nil {
			return err
		}
		b.items++
		if err := b.stored(ctx); err != nil {
			return err
		}
		before, err := harness.ProcessCPU(b.server.PID())
		if err != nil {
			return err
		}
		answer, took, err := b.read(ctx)
		if err != nil {
			return err
		}
		used, err := harness.ProcessCPU(b.server.PID())
		if err != nil {
			return err
		}
		if b.payments = answer.Totals.PaymentsCents; b.payments != paid {
			return fmt.Errorf("the overview after change %d has payments of %d, sent were %d", n, b.payments, paid)
		}
		after.Record(took)
		cpu += used - before
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.addLatency(changeRow, harness.KindService, &after, cpu, usage.Foreign)
	return nil
}
