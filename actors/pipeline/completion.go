package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"svc/actors/attempt"
)

// completion is an interrupted block that this node completes. Its work outlives the generation that began it: while
// the block is undecided, no node goes past it. So neither its records nor the states that they are folded with change.
// If a node is too slow to complete a block within one generation, it continues in the next.
type completion struct {
	block pendingBlock
	// generation is the generation in which making the block began.
	generation int32
	// made is closed once open, states and err are set.
	made   chan struct{}
	cancel context.CancelFunc
	// open is the block; states are the states of partitions after it.
	open   *openBlock
	states map[int]*begin
	err    error
}

// completeAll completes the undecided blocks of a generation, one after another. It waits for blocks that another node
// completes.
func (s *shardStream) completeAll(ctx context.Context, g *generation, wanted []int) error {
	select {
	case s.completing <- struct{}{}: // the previous generation may still complete blocks
		defer func() { <-s.completing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s.dropDecided(g)
	for len(g.undecided) > 0 {
		block := g.undecided[0]
		if g.owns(block.spans[0].partition) {
			if err := s.complete(ctx, g, block, wanted); err != nil {
				return err
			}
		} else {
			if err := s.follow(ctx, g, block); err != nil {
				return err
			}
			for _, partition := range block.partitions() { // they were read before the block was stored
				delete(g.states, partition)
			}
		}
		g.undecided = g.undecided[1:]
	}
	return nil
}

// dropDecided cancels completions of blocks that this node no longer has to complete.
func (s *shardStream) dropDecided(g *generation) {
	for id, c := range s.completions {
		wanted := slices.ContainsFunc(g.undecided, func(block pendingBlock) bool {
			return block.id == id && g.owns(block.spans[0].partition)
		})
		if !wanted {
			c.cancel()
			delete(s.completions, id)
		}
	}
}

// complete stores an interrupted block as the sink stores its own blocks. It adds the states of the wanted partitions
// after the block to the states of the generation.
func (s *shardStream) complete(ctx context.Context, g *generation, block pendingBlock, wanted []int) error {
	c := s.completions[block.id]
	if c == nil {
		c = s.begin(ctx, g, block, wanted)
		s.completions[block.id] = c
	}
	select {
	case <-c.made:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.err != nil {
		delete(s.completions, block.id)
		return c.err
	}
	c.adopt(g)
	err := s.sink.finish(ctx, c.open, func() error { return s.commitAfter(ctx, g, block) })
	if err != nil {
		return err
	}
	delete(s.completions, block.id)
	maps.Copy(g.states, c.states)
	return nil
}

// begin begins to make a block. Making only reads, so it does not end with the generation.
func (s *shardStream) begin(ctx context.Context, g *generation, block pendingBlock, wanted []int) *completion {
	s.config.Logger.Info("completing an interrupted block", "partitions", len(block.spans))
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &completion{block: block, generation: g.number, made: make(chan struct{}), cancel: cancel}
	s.working.Go(func() {
		defer close(c.made)
		defer cancel()
		c.err = attempt.Contained(func() error { return s.make(ctx, g, c, wanted) })
	})
	return c
}

// make makes the rows of a block from its records. It starts from the states of the partitions without the block's
// rows. It also reads the states of the wanted partitions.
func (s *shardStream) make(ctx context.Context, g *generation, c *completion, wanted []int) (err error) {
	needed := slices.Clone(wanted)
	for _, partition := range c.block.partitions() {
		if !slices.Contains(needed, partition) {
			needed = append(needed, partition)
		}
	}
	if c.states, err = s.states(ctx, g, needed, c.block.id); err != nil {
		return err
	}
	c.open = s.sink.newBlock(g.number)
	c.open.id, c.open.recovered = c.block.id, s.places(c.block.partitions())
	for _, span := range c.block.spans {
		records, err := s.config.Log.Read(ctx, span.partition, span.first, span.last)
		if err != nil {
			return fmt.Errorf("reading an interrupted block: %w", err)
		}
		intake := newIntake(s.config.Intakes, span.partition, c.open)
		intake.onBegin(c.states[span.partition])
		if err := intake.foldAll(g.number, records); err != nil { //nolint:contextcheck // an intake waits for processors without a context, as in its mailbox
			return err
		}
	}
	return nil
}

// adopt moves a completion to the current generation. If an earlier generation began it, only the states of the block's
// own partitions are still valid: other partitions may have been written to.
func (c *completion) adopt(g *generation) {
	own := c.block.partitions()
	maps.DeleteFunc(c.states, func(partition int, _ *begin) bool {
		return c.generation != g.number && !slices.Contains(own, partition)
	})
	c.open.generation = g.number
	for partition, state := range c.states {
		state.generation, state.next = g.number, g.starts[partition]
	}
}
