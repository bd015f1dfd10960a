package alerting

import (
	"context"
	"errors"
	"slices"
	"sync"

	"svc"
	"svc/actors/grain"
)

// batcher gathers what the monitors of an application tell its alerting actor: while one
// call is under way, what comes goes with the next. So ten thousand monitors that are
// checked for the first time, or five hundred that fail together, are a few messages and a
// few writes. There is no timer; a lone monitor waits for nobody. The zero value is ready.
type batcher struct {
	mu sync.Mutex
	// next holds, for each application with a call under way, the reports of the call that follows.
	next map[svc.AppRef]*batch
}

// batch holds the reports that the next call of an application sends.
type batch struct {
	items []uptimeReport
	done  chan struct{} // closed after err is set
	err   error
}

// maxReports bounds the monitors of one call, at about 120 bytes each.
const maxReports = 1000

// tell returns once send took an item, together with others, or ctx ended.
func (b *batcher) add(ctx context.Context, app svc.AppRef, item uptimeReport, send func(context.Context, []uptimeReport) error) error {
	b.mu.Lock()
	mine, running := b.next[app]
	if mine == nil {
		mine = &batch{done: make(chan struct{})}
	}
	mine.items = append(mine.items, item)
	if b.next == nil {
		b.next = map[svc.AppRef]*batch{}
	}
	b.next[app] = mine
	b.mu.Unlock()
	if !running {
		go b.run(context.WithoutCancel(ctx), app, send) // it is everybody's, and outlives this caller
	}
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sends what an application gathers until there is nothing more.
func (b *batcher) run(ctx context.Context, app svc.AppRef, send func(context.Context, []uptimeReport) error) {
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
