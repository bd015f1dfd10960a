package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Claim is the right to write the state of a partition's actors. Writes fail without it, and
// they fail from the moment on in which another node takes it.
type Claim interface {
	// Lost is closed once the claim is known to be another's.
	Lost() <-chan struct{}
	// Close gives the claim up. Writes that follow fail.
	Close()
}

// ClaimsConfig configures [Claims].
type ClaimsConfig struct {
	// Take takes the claim of a partition away from its present holder. The state that is read
	// afterwards is the last one.
	Take func(ctx context.Context, partition int) (Claim, error)
	// Evict stops the activations of a partition, and Vacated waits until all that were
	// evicted have stopped.
	Evict   func(partition int)
	Vacated func(ctx context.Context, partition int) error
	// Confirm returns nil where the coordinator says that a generation is the present one, and
	// ErrMoved where it says that it is not.
	Confirm func(ctx context.Context, generation uint32) error
	Logger  *slog.Logger
}

// Claims keeps the claims of the partitions that a node owns.
//
// The coordinator's word is where a claim begins, but not what protects the state: two nodes
// that both believe to own a partition take the claim from each other, and each reads the state
// after it took it. A claim that is lost while the coordinator still names this node is taken
// again. Activations never survive the claim under which they were loaded.
type Claims struct {
	config ClaimsConfig

	mu         sync.Mutex
	generation uint32
	slots      map[int]*slot
	closed     bool
	working    sync.WaitGroup
}

// slot is a partition that the coordinator has given to this node.
type slot struct {
	partition int
	end       context.CancelFunc

	// Guarded by the mutex of the Claims.
	held    bool
	refused bool          // the generation is over: the claim is not taken again
	changed chan struct{} // closed and replaced when held or refused changes
}

// NewClaims returns claims of no partition.
func NewClaims(config ClaimsConfig) *Claims {
	return &Claims{config: config, slots: map[int]*slot{}}
}

// Assign begins a generation in which this node owns some partitions. It returns at once; the
// claims are taken meanwhile. The caller has evicted the activations of partitions that the
// node did not own in the generation right before.
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

// Await returns once this node has the claim of a partition; ErrMoved says that it is another
// node's.
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

// Run waits until ctx ends, which is to be after the actors have stopped, and gives all claims
// up.
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

// set notes where a slot stands; the caller holds the lock.
func (c *Claims) set(s *slot, held, refused bool) {
	s.held, s.refused = held, refused
	close(s.changed)
	s.changed = make(chan struct{})
}

// mark is set for a slot that is still this node's; it reports whether it is.
func (c *Claims) mark(s *slot, held, refused bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots[s.partition] != s {
		return false
	}
	c.set(s, held, refused)
	return true
}

// keep takes the claim of a slot, and again whenever it is lost, until ctx ends or the
// coordinator names another node.
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

// take takes a claim, and tries again while that fails. It fails where the slot is over. Before
// it takes a claim again it has the activations stop that were loaded before, and asks the
// coordinator.
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
