package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// seriesTime is how long a series counts at least against its environment's limit
// after its last point; twice as long at most.
const seriesTime = 12 * time.Hour

// seriesHistory reads the series of the recent past.
type seriesHistory interface {
	SeriesSince(ctx context.Context, since time.Time, yield func(environment uint64, series []uint64)) error
}

// Cardinality counts the series of every environment that came through this node or
// were stored before it started. Each node has its own count, so an environment that
// is served by several nodes at once may exceed its limit by what each has not seen.
type Cardinality struct {
	mu           sync.RWMutex
	environments map[uint64]*seriesCount
}

// seriesCount holds series in two halves, the newer and the older, so that series
// that ended are forgotten.
type seriesCount struct {
	newer, older map[uint64]struct{}
	turned       time.Time
}

// NewCardinality returns a count of nothing.
func NewCardinality() *Cardinality { return &Cardinality{environments: map[uint64]*seriesCount{}} }

// Load counts what is stored.
func (c *Cardinality) Load(ctx context.Context, store seriesHistory, now time.Time) error {
	err := store.SeriesSince(ctx, now.Add(-seriesTime), func(environment uint64, series []uint64) {
		for _, one := range series {
			c.Admit(environment, one, int(^uint(0)>>1), now)
		}
	})
	if err != nil {
		return fmt.Errorf("counting series: %w", err)
	}
	return nil
}

// Admit says whether a point of a series may be taken: the series is known, or its
// environment has fewer than limit.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if count = c.environments[environment]; count == nil {
		count = &seriesCount{newer: map[uint64]struct{}{}, turned: now}
		c.environments[environment] = count
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
