package alerting

import (
	"context"
	"errors"
	"slices"
	"sync"

	"svc/actors/grain"
	"svc/domain"
)

// batcher gathers the reports of an application's monitors for its alerting actor: reports that arrive during a call
// are sent with the next one. So the first checks of ten thousand monitors, or five hundred monitors that fail
// together, cost a few messages and writes. There is no timer; a single report is sent at once. The zero value is
// ready. The calls run on the node's workers, which the node awaits at its stop.
type batcher struct {
	mu sync.Mutex
	// next holds, for each application with a call under way, the reports of the call that follows.
	next map[domain.AppRef]*batch
}

// batch holds the reports that the next call of an application sends.
type batch struct {
	items []uptimeReport
	done  chan struct{} // closed after err is set
	err   error
}

// maxReports bounds the reports of one call, at about 120 bytes each.
const maxReports = 1000

// add returns once send has sent an item, together with others, or ctx has ended.
func (b *batcher) add(ctx context.Context, workers *grain.Workers, app domain.AppRef, item uptimeReport, send func(context.Context, []uptimeReport) error) error {
	b.mu.Lock()
	mine, running := b.next[app]
	if mine == nil {
		mine = &batch{done: make(chan struct{})}
	}
	mine.items = append(mine.items, item)
	if b.next == nil {
		b.next = map[domain.AppRef]*batch{}
	}
	b.next[app] = mine
	b.mu.Unlock()
	if !running {
		workers.Go(func(ctx context.Context) { b.run(ctx, app, send) }) // the batch belongs to all callers, so it outlives this one
	}
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sends an application's batches until none is left.
func (b *batcher) run(ctx context.Context, app domain.AppRef, send func(context.Context, []uptimeReport) error) {
	for {
		b.mu.Lock()
		now := b.next[app]
		if now == nil {
			delete(b.next, app)
			b.mu.Unlock()
			return
		}
		b.next[app] = nil
		b.mu.Unlock()
		for some := range slices.Chunk(now.items, maxReports) {
			bounded, cancel := context.WithTimeout(ctx, grain.IOTime)
			now.err = errors.Join(now.err, send(bounded, some))
			cancel()
		}
		close(now.done)
	}
}
