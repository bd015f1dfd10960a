package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// The goals of idle conversations, and how many lanes ask the questions.
const (
	bytesPerIdle = 64
	idleLanes    = 32
)

// idleness has many conversations fall idle and weighs what stays of them.
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
	at := harness.Metrics{}
	if at, err = b.server.Scrape(ctx); err != nil {
		return err
	}
	b.tell("%d conversations are asked", b.idle)
	if err := b.converse(ask); err != nil {
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
	b.tell("%.0f of them are in memory; they leave after two minutes", full[conversations]-at[conversations])
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
	n := float64(b.idle)
	stay := max(0, last[conversations]-at[conversations])
	b.add(harness.Measurement{Name: fmt.Sprintf("%d idle conversations", b.idle), Kind: harness.KindService, Extra: map[string]float64{
		"conversations-at-first": full[conversations] - at[conversations], "conversations-at-last": stay,
		"actors-at-first": full[actors] - at[actors], "actors-at-last": last[actors] - at[actors],
		"bytes-each-at-first": (busy - before) / n, "bytes-each-at-last": (after - before) / n, "seconds-to-leave": time.Since(began).Seconds(),
	}})
	b.goal(harness.AtMost("assistant", "idle conversations in memory", stay, 0))
	if b.desks {
		b.goal(harness.AtMost("assistant", "live bytes of an idle conversation", max(0, after-before)/n, bytesPerIdle))
	}
	return nil
}

// What is scraped: the actors in memory, and those of conversations.
const (
	actors        = "svc_actors_resident"
	conversations = actors + `{kind="conversation"}`
)

// converse asks all the questions.
func (b *bench) converse(ask func(*listener) error) error {
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
	return failed(&whole)
}

// left waits until no more conversations are in memory than there were; with -desks, no
// more actors of any kind: the desks and the tokens of members stay for five minutes.
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
