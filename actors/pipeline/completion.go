package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"svc/actors/attempt"
)

// completion is an interrupted block that this node completes. What was done of it outlives the
// generation in which it was done: while the block is undecided, nobody goes past it, so neither its
// records nor the states that they are folded with change. On a node that is too slow to complete a
// block within one generation, the next generation continues where the last one stopped.
type completion struct {
	block pendingBlock
	// generation is the one in which the block began to be made.
	generation int32
	// made is closed once open, states and err are set.
	made   chan struct{}
	cancel context.CancelFunc
	// open is the block, states are those of partitions after it.
	open   *openBlock
	states map[int]*begin
	err    error
}

// completeAll completes the blocks of a generation that are undecided, one after another. Those that
// another node completes are waited for.
func (s *shardStream) completeAll(ctx context.Context, g *generation, wanted []int) error {
	select {
	case s.completing <- struct{}{}: // the generation before may still be at it
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

// dropDecided forgets completions of blocks that are not this node's to complete any more.
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

// complete stores an interrupted block as the sink stores its own, and adds the states of the
// wanted partitions after it to those of the generation.
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

// begin begins to make a block, which only reads and is not ended with the generation.
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

// make makes the rows of a block of its records, with the states of its partitions without its rows.
// The states of wanted partitions are read along.
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

// adopt makes a completion one of the present generation. Only the states of the block's own
// partitions are still valid if it was begun in an earlier one: others may have been written to.
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
