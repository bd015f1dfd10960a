package alerting

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/domain"
)

// OpenBlockPublisher reports the counts of this node's open block to the alerting actors, so that rules fire without
// waiting for the end of a flush interval. If a rule may fire, or an issue may be new, it makes the sink store the
// block at once. Its reports change no state: the actor receives the counts again when the block is stored.
type OpenBlockPublisher struct {
	Rules  *RuleIndex
	Actors grain.Caller
	Sinks  OpenBlocks
	Logger *slog.Logger
}

// OpenBlocks are the blocks of a node that are not stored yet.
type OpenBlocks interface {
	// Peek calls show with the listeners of the open blocks. show must retain nothing of them.
	Peek(show func(listener pipeline.BlockListener))
	// Hurry stores the folded records before the end of the interval.
	Hurry()
}

const (
	// gatherTime is how long changes of the open block are gathered before they are reported.
	gatherTime = 20 * time.Millisecond
	// flushPause is the least time between two blocks that are stored early: a column store suffers most from many
	// small parts.
	flushPause = 200 * time.Millisecond
	// reportsAtOnce bounds the actors that are called at the same time.
	reportsAtOnce = 64
	// reportTimeout bounds one report.
	reportTimeout = 5 * time.Second
	// missedEvery is the pause between two attempts to notify actors that missed blocks.
	missedEvery = time.Second
)

// Run reports until ctx ends.
func (l *OpenBlockPublisher) Run(ctx context.Context) error {
	missed := time.NewTicker(missedEvery)
	defer missed.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-missed.C:
			l.reportMissed(ctx)
			continue
		case <-l.Rules.wake:
		}
		pause := gatherTime
		if l.round(ctx) {
			pause = flushPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// round reports the open blocks to the actors, and makes the sink store them early if a rule or an issue needs it. It
// returns whether the next round must wait for longer.
func (l *OpenBlockPublisher) round(ctx context.Context) bool {
	soon, apps, touched := false, map[domain.AppRef]bool{}, l.Rules.take()
	for _, set := range touched {
		soon = set.flushSoon.Swap(false) || soon
		apps[set.app] = true
	}
	if !soon {
		look, failed := l.publish(ctx, l.peek(apps))
		for _, set := range touched {
			if slices.Contains(failed, set.app) {
				l.Rules.touch(set) // no further row may arrive that causes a report
			}
		}
		if !look {
			return len(failed) > 0
		}
	}
	l.Sinks.Hurry()
	return true
}

// peek returns the counts of the open blocks so far, for the rules of applications.
func (l *OpenBlockPublisher) peek(apps map[domain.AppRef]bool) map[domain.AppRef][]counted {
	brought := map[domain.AppRef][]counted{}
	l.Sinks.Peek(func(listener pipeline.BlockListener) {
		if block, ok := listener.(*countedBlock); ok {
			for app, counts := range block.byApp(func(app domain.AppRef) bool { return apps[app] }, true) {
				brought[app] = append(brought[app], counts...)
			}
		}
	})
	return brought
}

// publish reports counts to the actors of applications. It returns whether any of them waits for the block to be
// stored, and the applications that did not answer.
func (l *OpenBlockPublisher) publish(ctx context.Context, brought map[domain.AppRef][]counted) (stored bool, failed []domain.AppRef) {
	var look atomic.Bool
	failed = l.each(ctx, slices.Collect(maps.Keys(brought)), func(ctx context.Context, app domain.AppRef) error {
		answer, err := alertingStream.Ask(ctx, l.Actors, app.String(), openBlockReport{brought[app]})
		if err == nil && answer.Look {
			look.Store(true)
		}
		return err
	})
	return look.Load(), failed
}

// reportMissed asks actors that missed a block to read the store again. An actor that misses a block meanwhile is put
// on the list again.
func (l *OpenBlockPublisher) reportMissed(ctx context.Context) {
	apps := l.Rules.missed.take()
	failed := l.each(ctx, apps, func(ctx context.Context, app domain.AppRef) error {
		_, err := alertingMissed.Ask(ctx, l.Actors, app.String(), grain.None{})
		return err
	})
	for _, app := range apps {
		if slices.Contains(failed, app) {
			l.Rules.missed.add(app)
		} else {
			l.Rules.missed.told(app)
		}
	}
}

// each runs work for applications and returns the applications for which it failed.
func (l *OpenBlockPublisher) each(ctx context.Context, apps []domain.AppRef, work func(ctx context.Context, app domain.AppRef) error) (failed []domain.AppRef) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(reportsAtOnce)
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
