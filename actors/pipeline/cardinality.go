package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// seriesTime is how long a series counts against the limit of its environment after its last point: at least this
	// long, and at most twice as long.
	seriesTime = 12 * time.Hour
	// readAtOnce bounds the environments of one query to the store. readAgain is the pause after a query that failed.
	readAtOnce = 100
	readAgain  = 5 * time.Second
	// forgetEvery is the pause between two searches for environments without points.
	forgetEvery = time.Hour
)

// SeriesHistory reads the series of the recent past.
type SeriesHistory interface {
	// SeriesSince calls yield with each series of some environments that had a point since an instant.
	SeriesSince(ctx context.Context, environments []uint64, since time.Time, yield func(environment uint64, series []uint64)) error
}

// Cardinality counts the series of the environments that have points on this node. The first point of an environment
// starts a query for its stored series. Until they are read, new series are counted alone, so more series than the
// limit may be admitted. Each node has its own count, so an environment that several nodes serve may exceed its limit
// by the series that each node has not seen. An environment without points is dropped within a day.
type Cardinality struct {
	store  SeriesHistory
	now    func() time.Time
	logger *slog.Logger

	mu           sync.RWMutex
	environments map[uint64]*seriesCount
	// unread lists the environments with stored series that are not read yet. wake holds a token while there may be
	// any.
	unread []uint64
	wake   chan struct{}
}

// seriesCount holds series in two halves, the newer and the older, so that series that ended are dropped.
type seriesCount struct {
	newer, older map[uint64]struct{}
	turned       time.Time
}

// NewCardinality returns an empty count.
func NewCardinality(store SeriesHistory, now func() time.Time, logger *slog.Logger) *Cardinality {
	return &Cardinality{store: store, now: now, logger: logger, environments: map[uint64]*seriesCount{}, wake: make(chan struct{}, 1)}
}

// Run reads stored series and drops environments without points, until ctx ends.
func (c *Cardinality) Run(ctx context.Context) error {
	forget := time.NewTicker(forgetEvery)
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-forget.C:
			c.forget()
		case <-c.wake:
			if err := c.read(ctx); err != nil && ctx.Err() == nil {
				c.logger.Warn("series are counted without those of before", "error", err)
				time.AfterFunc(readAgain, c.signal)
			}
		}
	}
}

// signal wakes Run, so that it reads.
func (c *Cardinality) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// read counts the stored series of environments that are new on this node.
func (c *Cardinality) read(ctx context.Context) error {
	for {
		c.mu.RLock()
		some := append([]uint64{}, c.unread[:min(len(c.unread), readAtOnce)]...)
		c.mu.RUnlock()
		if len(some) == 0 {
			return nil
		}
		now := c.now()
		err := c.store.SeriesSince(ctx, some, now.Add(-seriesTime), func(environment uint64, series []uint64) {
			for _, one := range series {
				c.count(environment, one, int(^uint(0)>>1), now)
			}
		})
		if err != nil {
			return fmt.Errorf("counting series: %w", err)
		}
		c.mu.Lock()
		c.unread = c.unread[len(some):]
		c.mu.Unlock()
	}
}

// forget drops environments that have no counted series any more.
func (c *Cardinality) forget() {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for environment, count := range c.environments {
		if now.Sub(count.turned) >= 2*seriesTime {
			delete(c.environments, environment)
		}
	}
}

// Admit reports whether a point of a series is accepted: the series is known, or its environment has fewer than limit.
func (c *Cardinality) Admit(environment, series uint64, limit int, now time.Time) bool {
	c.mu.RLock()
	count := c.environments[environment]
	if count != nil && now.Sub(count.turned) < seriesTime {
		if _, known := count.newer[series]; known {
			c.mu.RUnlock()
			return true
		}
	}
	c.mu.RUnlock()
	return c.count(environment, series, limit, now)
}

// count adds a series to its environment, unless the environment has reached its limit.
func (c *Cardinality) count(environment, series uint64, limit int, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.environments[environment]
	if count == nil {
		count = &seriesCount{newer: map[uint64]struct{}{}, turned: now}
		c.environments[environment] = count
		c.unread = append(c.unread, environment)
		c.signal()
	}
	if now.Sub(count.turned) >= seriesTime {
		count.older, count.newer, count.turned = count.newer, map[uint64]struct{}{}, now
	}
	_, known := count.older[series]
	if _, newer := count.newer[series]; !known && !newer && len(count.newer)+len(count.older) >= limit {
		return false
	}
	delete(count.older, series)
	count.newer[series] = struct{}{}
	return true
}
