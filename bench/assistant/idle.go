package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// The goals of idle conversations, and the number of lanes that ask the questions.
const (
	bytesPerIdle = 64
	idleLanes    = 32
)

// idleness lets many conversations become idle and measures the memory that they retain.
func (b *bench) idleness(ctx context.Context) error {
	b.model.plays(script{count: 3})
	ask, err := b.seated(ctx, b.idle)
	if err != nil {
		return err
	}
	before, err := b.live(ctx)
	if err != nil {
		return err
	}
	at, err := b.server.Scrape(ctx)
	if err != nil {
		return err
	}
	b.tell("%d conversations are asked", b.idle)
	asked, err := b.converse(ask)
	if err != nil {
		return err
	}
	busy, err := b.live(ctx)
	if err != nil {
		return err
	}
	full, err := b.server.Scrape(ctx)
	if err != nil {
		return err
	}
	b.tell("%d were, %.0f of them are in memory; they leave after two minutes", asked, full[conversations]-at[conversations])
	began := time.Now()
	if err := b.left(ctx, at); err != nil {
		b.result.Violations = append(b.result.Violations, err.Error())
	}
	after, err := b.live(ctx)
	if err != nil {
		return err
	}
	last, err := b.server.Scrape(ctx)
	if err != nil {
		return err
	}
	b.weighed(asked, at, full, last, [3]float64{before, busy, after}, time.Since(began))
	return nil
}

// weighed adds the row of asked idle conversations. It compares scrapes and live bytes before them, after the
// questions, and after they were unloaded.
func (b *bench) weighed(asked int, at, full, last harness.Metrics, bytes [3]float64, took time.Duration) {
	n := float64(asked)
	stay := max(0, last[conversations]-at[conversations])
	b.add(harness.Measurement{Name: fmt.Sprintf("%d idle conversations", asked), Kind: harness.KindService, Extra: map[string]float64{
		"conversations-at-first": full[conversations] - at[conversations], "conversations-at-last": stay,
		"actors-at-first": full[actors] - at[actors], "actors-at-last": last[actors] - at[actors],
		"bytes-each-at-first": (bytes[1] - bytes[0]) / n, "bytes-each-at-last": (bytes[2] - bytes[0]) / n, "seconds-to-leave": took.Seconds(),
	}})
	b.goal(harness.AtMost("assistant", "idle conversations in memory", stay, 0))
	if b.desks {
		b.goal(harness.AtMost("assistant", "live bytes of an idle conversation", max(0, bytes[2]-bytes[0])/n, bytesPerIdle))
	}
}

// The scraped metrics: the actors in memory, and those of conversations.
const (
	actors        = "svc_actors_resident"
	conversations = actors + `{kind="conversation"}`
)

// converse asks all the questions, or as many as time permits, and returns their number.
func (b *bench) converse(ask func(*listener) error) (int, error) {
	var next atomic.Int64
	until := time.Now().Add(b.asking)
	whole, _ := together(idleLanes, func(l *listener) error {
		for time.Now().Before(until) && next.Load() < int64(b.idle) && next.Add(1) <= int64(b.idle) {
			if err := ask(l); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	return int(min(next.Load(), int64(b.idle))), failed(&whole)
}

// left waits until no more conversations are in memory than before. With -desks, it waits for all kinds of actors: the
// desks and the tokens of members stay for five minutes.
func (b *bench) left(ctx context.Context, at harness.Metrics) error {
	what := conversations
	if b.desks {
		what = actors
	}
	return harness.Poll(ctx, "the conversations leave memory", b.settle, time.Second, func(ctx context.Context) (bool, string) {
		metrics, err := b.server.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		return metrics[what] <= at[what], fmt.Sprintf("%.0f actors, %.0f before", metrics[what], at[what])
	})
}
