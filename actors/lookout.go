package actors

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
)

// Lookout tells the alerting actors what the stream of this node brings, so that rules
// that count fire without waiting for the end of a flush interval. Where a rule may fire,
// or an issue may be new, it has the open block stored at once.
type Lookout struct {
	Rules  *Rulebook
	Actors caller
	Sink   *Sink
	Logger *slog.Logger
}

const (
	// tellEvery is how long what happens is gathered before it is told of.
	tellEvery = 20 * time.Millisecond
	// hurryEvery is the least time between two blocks that are stored early: many small
	// parts are what a column store suffers from most.
	hurryEvery = 200 * time.Millisecond
	// tellAtOnce bounds the actors that are told at the same time.
	tellAtOnce = 64
	// tellTime bounds one telling.
	tellTime = 5 * time.Second
)

// Run tells until ctx ends.
func (l *Lookout) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.Rules.wake:
		}
		pause := tellEvery
		if l.round(ctx) {
			pause = hurryEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// round tells everybody of what happened since the last round, and says whether a block
// was stored early.
func (l *Lookout) round(ctx context.Context) bool {
	sets, hurry := l.Rules.take(), false
	told := map[svc.AppRef][]*ruleset{}
	for _, set := range sets {
		hurry = set.hurry.Swap(false) || hurry
		told[set.app] = append(told[set.app], set)
	}
	looking := l.tell(ctx, told)
	if !hurry && len(looking) == 0 {
		return false
	}
	if err := l.Sink.Store(ctx); err != nil {
		l.Logger.Warn("storing a block early failed", "error", err)
		return true
	}
	l.each(ctx, looking, func(ctx context.Context, app svc.AppRef) error {
		_, err := ask[none](ctx, l.Actors, KindAlerting, app.String(), "look", none{})
		return err
	})
	return true
}

// tell tells the actors of applications, and returns those that wait for what they were
// told of to be stored. What nobody could be told of is told of later.
func (l *Lookout) tell(ctx context.Context, sets map[svc.AppRef][]*ruleset) (looking []svc.AppRef) {
	counted := map[svc.AppRef][]*tally{}
	messages := map[svc.AppRef]toldStream{}
	var apps []svc.AppRef
	for app, sets := range sets {
		message := toldStream{}
		for _, set := range sets {
			for _, tally := range set.tallies {
				if n := tally.n.Swap(0); n > 0 {
					message.Counts = append(message.Counts, streamCount{set.environment, tally.kind, tally.word, n})
					counted[app] = append(counted[app], tally)
				}
			}
		}
		if len(message.Counts) > 0 {
			messages[app] = message
			apps = append(apps, app)
		}
	}
	var mu sync.Mutex
	failed := l.each(ctx, apps, func(ctx context.Context, app svc.AppRef) error {
		answer, err := ask[heardStream](ctx, l.Actors, KindAlerting, app.String(), "stream", messages[app])
		if err == nil && answer.Look {
			mu.Lock()
			defer mu.Unlock()
			looking = append(looking, app)
		}
		return err
	})
	for _, app := range failed {
		for i, tally := range counted[app] {
			tally.n.Add(messages[app].Counts[i].N)
		}
		for _, set := range sets[app] {
			l.Rules.touch(set)
		}
	}
	return looking
}

// each does something for applications and returns those for which it failed.
func (l *Lookout) each(ctx context.Context, apps []svc.AppRef, work func(ctx context.Context, app svc.AppRef) error) (failed []svc.AppRef) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(tellAtOnce)
	errs := make([]error, len(apps))
	for i, app := range apps {
		group.Go(func() error {
			errs[i] = work(ctx, app)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for i, err := range errs {
		if err != nil {
			l.Logger.Debug("telling an application's alert rules failed", "app", apps[i].String(), "error", err)
			failed = append(failed, apps[i])
		}
	}
	return slices.Clip(failed)
}

// Store stores what was folded so far without waiting for the end of the interval.
func (s *Sink) Store(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return s.flush(ctx)
}
