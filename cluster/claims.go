package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Claim is the right to write the state of a partition's actors. Writes fail without it, and as soon as another node
// takes it.
type Claim interface {
	// Lost is closed once another node is known to have the claim.
	Lost() <-chan struct{}
	// Close gives up the claim. Later writes fail.
	Close()
}

// ClaimsConfig configures [Claims].
type ClaimsConfig struct {
	// Take takes the claim of a partition from its current holder. A read of the state after Take returns the latest
	// state.
	Take func(ctx context.Context, partition int) (Claim, error)
	// Evict stops the activations of a partition. Vacated waits until all evicted activations have stopped.
	Evict   func(partition int)
	Vacated func(ctx context.Context, partition int) error
	// Confirm returns nil if the coordinator names a generation as the current one, and ErrMoved if it does not.
	Confirm func(ctx context.Context, generation uint32) error
	Logger  *slog.Logger
}

// Claims manages the claims of the partitions that a node owns.
//
// The coordinator's word starts a claim, but does not protect the state. Two nodes that both believe to own a partition
// take the claim from each other, and each reads the state after it took the claim. If a claim is lost while the
// coordinator still names this node, the node takes it again. An activation never outlives the claim under which it was
// loaded.
type Claims struct {
	config ClaimsConfig

	mu         sync.Mutex
	generation uint32
	slots      map[int]*slot
	closed     bool
	working    sync.WaitGroup
}

// slot is a partition that the coordinator has assigned to this node.
type slot struct {
	partition int
	end       context.CancelFunc

	// The following fields are guarded by the mutex of Claims.
	held    bool
	refused bool          // the generation is over: the claim must not be taken again
	changed chan struct{} // closed and replaced when held or refused changes
}

// NewClaims returns a Claims without partitions.
func NewClaims(config ClaimsConfig) *Claims {
	return &Claims{config: config, slots: map[int]*slot{}}
}

// Assign begins a generation in which this node owns the given partitions. It returns at once and takes the claims in
// the background. The caller must already have evicted the activations of partitions that the node did not own in the
// directly preceding generation.
func (c *Claims) Assign(generation uint32, partitions []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	unbroken := generation == c.generation+1
	c.generation = generation
	for partition, s := range c.slots {
		if unbroken && !s.refused && slices.Contains(partitions, partition) {
			continue
		}
		s.end()
		delete(c.slots, partition)
		c.set(s, false, true)
	}
	for _, partition := range partitions {
		if c.slots[partition] != nil {
			continue
		}
		ctx, end := context.WithCancel(context.Background())
		s := &slot{partition: partition, end: end, changed: make(chan struct{})}
		c.slots[partition] = s
		c.working.Go(func() { c.keep(ctx, s) })
	}
}

// Await returns once this node has the claim of a partition. ErrMoved means that the claim belongs to another node.
func (c *Claims) Await(ctx context.Context, partition int) error {
	for {
		c.mu.Lock()
		s := c.slots[partition]
		if s == nil || s.refused {
			c.mu.Unlock()
			return ErrMoved
		}
		held, changed := s.held, s.changed
		c.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Run waits until ctx ends and then gives up all claims. ctx must end after the actors have stopped.
func (c *Claims) Run(ctx context.Context) error {
	<-ctx.Done()
	c.mu.Lock()
	c.closed = true
	for _, s := range c.slots {
		s.end()
	}
	c.mu.Unlock()
	c.working.Wait()
	return nil
}

// set sets the state of a slot. The caller holds the lock.
func (c *Claims) set(s *slot, held, refused bool) {
	s.held, s.refused = held, refused
	close(s.changed)
	s.changed = make(chan struct{})
}

// mark calls set if the slot still belongs to this node, and reports whether it does.
func (c *Claims) mark(s *slot, held, refused bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots[s.partition] != s {
		return false
	}
	c.set(s, held, refused)
	return true
}

// keep takes the claim of a slot, and takes it again whenever it is lost, until ctx ends or the coordinator names
// another node.
func (c *Claims) keep(ctx context.Context, s *slot) {
	for again := false; ; again = true {
		claim, err := c.take(ctx, s, again)
		if err != nil {
			c.mark(s, false, true)
			return
		}
		if !c.mark(s, true, false) {
			claim.Close()
			return
		}
		select {
		case <-claim.Lost():
			c.config.Logger.Warn("another node has taken a partition's claim", "partition", s.partition)
		case <-ctx.Done():
		}
		c.mark(s, false, false)
		claim.Close()
		if ctx.Err() != nil {
			return
		}
	}
}

// take takes a claim and retries while that fails. It returns an error if the slot is over. Before it takes a claim
// again, it stops the activations that were loaded before and asks the coordinator.
func (c *Claims) take(ctx context.Context, s *slot, again bool) (Claim, error) {
	if again {
		c.config.Evict(s.partition)
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		claim, err := c.attempt(ctx, s, again)
		if err == nil {
			return claim, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrMoved) {
			return nil, err
		}
		c.config.Logger.Warn("a partition's claim is not taken yet", "partition", s.partition, "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		again = true
	}
}

func (c *Claims) attempt(ctx context.Context, s *slot, again bool) (Claim, error) {
	if err := c.config.Vacated(ctx, s.partition); err != nil {
		return nil, err
	}
	if again && c.config.Confirm != nil {
		c.mu.Lock()
		generation := c.generation
		c.mu.Unlock()
		if err := c.config.Confirm(ctx, generation); err != nil {
			return nil, err
		}
	}
	return c.config.Take(ctx, s.partition)
}
