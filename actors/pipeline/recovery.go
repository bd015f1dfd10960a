package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
)

// After a crash, every node that owns one of a block's partitions next finds the remains of the block. There may be
// several such nodes. They agree without communicating:
//
//   - All read the same text, which names the whole block, and the positions of
//     all its partitions. decide gives all of them the same verdict: a block that
//     is stored stays stored, and one that was not begun stays so as long as any
//     of its texts is there.
//   - Each node commits the partitions that it owns, and no others.
//   - Only the owner of its first partition makes an undecided block again,
//     whole, from the log. The others wait until that shows in its positions.
//   - No node goes past a block that was not begun before all its texts are gone.

// lookTime is the pause between two reads of the positions that other nodes have committed.
const lookTime = 100 * time.Millisecond

// survey finds the pending blocks of a generation's partitions, resolves the blocks that have a certain verdict, and
// returns the offsets at which to start reading.
func (s *shardStream) survey(ctx context.Context, g *generation, own []event.LogPosition) (map[int]int64, error) {
	all := own
	if len(own) > 0 && len(own) < s.config.Shape.Partitions {
		var err error
		if all, err = s.config.Log.Committed(ctx, s.partitions()); err != nil {
			return nil, fmt.Errorf("looking for interrupted blocks: %w", err)
		}
	}
	all = s.hearMoves(g, slices.Clone(all))
	blocks, err := pendingBlocks(all)
	if err != nil {
		return nil, err
	}
	starts := make(map[int]int64, len(own))
	for _, position := range own {
		starts[position.Partition] = position.Offset
	}
	at := byPartition(all)
	for _, block := range blocks {
		if !block.touches(g.partitions) {
			continue
		}
		if err := s.resolve(ctx, g, block, block.decide(at), own, starts); err != nil {
			return nil, err
		}
	}
	return starts, nil
}

// resolve commits this node's part of a block with a certain verdict, and adds the other blocks to the generation. It
// moves the starts past the block if its records need not be read again.
func (s *shardStream) resolve(ctx context.Context, g *generation, block pendingBlock, v verdict, own []event.LogPosition, starts map[int]int64) error {
	switch v {
	case nonePending:
	case undecided:
		g.undecided = append(g.undecided, block)
		for _, position := range own {
			if block.carriedBy(position) {
				starts[position.Partition] = block.after(position.Partition)
			}
		}
	case notBegun, stored:
		resolved := block.resolve(v, own)
		if err := s.config.Log.Commit(ctx, g.number, resolved); err != nil {
			return fmt.Errorf("resolving an interrupted block: %w", err)
		}
		for _, position := range resolved {
			starts[position.Partition] = position.Offset
		}
		if v == notBegun {
			g.unbegun = append(g.unbegun, block)
		}
	}
	return nil
}

// prepare waits for the claims of the partitions, so that it reads the last state that the former owners of their
// actors left. It completes the interrupted blocks, lets the listeners prepare, and gives every intake its state. It is
// repeated if it fails, and continues with the block at which it failed.
func (s *shardStream) prepare(ctx context.Context, g *generation) error {
	// This generation must know the earlier moves, since they decide to which shard its rows go.
	if err := s.noteMoves(ctx, g); err != nil {
		return err
	}
	if err := s.config.Moves.Learn(ctx, s.shard); err != nil {
		return fmt.Errorf("learning where the environments of shard %d live: %w", s.shard, err)
	}
	for _, partition := range g.partitions {
		if err := s.config.Claims.Await(ctx, s.config.Shape.Place(partition)); err != nil {
			return fmt.Errorf("waiting for the claim of partition %d: %w", s.config.Shape.Place(partition), err)
		}
	}
	missing, err := s.keep(ctx, g)
	if err != nil {
		return err
	}
	if err := s.completeAll(ctx, g, missing); err != nil {
		return err
	}
	for _, block := range g.unbegun {
		if err := s.await(ctx, block, nonePending); err != nil {
			return err
		}
	}
	if err := s.sink.assigned(ctx, s.shard, s.places(g.partitions)); err != nil {
		return err
	}
	unread := slices.DeleteFunc(slices.Clone(missing), func(partition int) bool { return g.states[partition] != nil })
	if len(unread) > 0 {
		states, err := s.states(ctx, g, unread, 0)
		if err != nil {
			return err
		}
		maps.Copy(g.states, states)
	}
	for _, partition := range missing {
		if err := s.config.Actors.Tell(kindIntake, intakeIdentity(partition), g.states[partition]); err != nil {
			return fmt.Errorf("waking intake %d: %w", partition, err)
		}
	}
	return nil
}

// keep asks the intakes of kept partitions to resume in the new generation. It returns the partitions that need their
// state read.
func (s *shardStream) keep(ctx context.Context, g *generation) (missing []int, err error) {
	for _, partition := range g.partitions {
		if !slices.Contains(g.kept, partition) {
			missing = append(missing, partition)
			continue
		}
		message := &resume{generation: g.number, next: g.starts[partition], done: make(chan bool, 1)}
		if err := s.config.Actors.Tell(kindIntake, intakeIdentity(partition), message); err != nil {
			return nil, fmt.Errorf("keeping intake %d: %w", partition, err)
		}
		select {
		case kept := <-message.done:
			if !kept {
				missing = append(missing, partition)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return missing, nil
}

// append adds the result of folding one record to a block that is made again.
func (b *openBlock) append(_ int32, record recordRange, made *folded) { b.add(record, made) }

// follow waits until the owner of a block's first partition has stored it.
func (s *shardStream) follow(ctx context.Context, g *generation, block pendingBlock) error {
	if err := s.await(ctx, block, stored); err != nil {
		return err
	}
	return s.commitAfter(ctx, g, block)
}

// commitAfter commits this node's partitions after a stored block.
func (s *shardStream) commitAfter(ctx context.Context, g *generation, block pendingBlock) error {
	own, err := s.config.Log.Committed(ctx, g.partitions)
	if err != nil {
		return fmt.Errorf("resolving an interrupted block: %w", err)
	}
	return s.sink.commit(ctx, g.number, block.resolve(stored, own))
}

// await reads a block's positions until they give the wanted verdict.
func (s *shardStream) await(ctx context.Context, block pendingBlock, enough verdict) error {
	for {
		positions, err := s.config.Log.Committed(ctx, block.partitions())
		if err != nil {
			return fmt.Errorf("waiting for other nodes to commit after a block: %w", err)
		}
		if block.decide(byPartition(positions)) == enough {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookTime):
		}
	}
}

// states reads the stored states of partitions, without the rows of one block.
func (s *shardStream) states(ctx context.Context, g *generation, partitions []int, exceptBlock uint64) (map[int]*begin, error) {
	states := make(map[int]*begin, len(partitions))
	for _, partition := range partitions {
		states[partition] = &begin{
			generation: g.number, next: g.starts[partition], ids: newDedup(RecentIDs), errorIDs: newDedup(RecentErrors), metricIDs: newDedup(RecentMetrics), billings: newSaid(RecentBillings),
			sessions: newSessionizer(), deltas: newDeltas(), tallies: map[string]ingest.TallyMark{},
		}
	}
	if err := s.remember(ctx, states, exceptBlock); err != nil {
		return nil, err
	}
	return states, nil
}

// remember fills the states of intakes from the store.
func (s *shardStream) remember(ctx context.Context, states map[int]*begin, exceptBlock uint64) error {
	of := func(hash uint64) *begin { return states[s.partition(int(hash%uint64(s.config.Shape.Partitions)))] }
	now := s.config.Now()
	err := s.history.RecentIDs(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentIDs*s.config.Shape.Partitions, func(thread uint64, key [2]uint64) {
		if state := of(thread); state != nil {
			state.ids.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent ids: %w", err)
	}
	err = s.history.RecentErrors(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentErrors*s.config.Shape.Partitions, func(issue uint64, key [2]uint64) {
		if state := of(issue); state != nil {
			state.errorIDs.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent errors: %w", err)
	}
	if err := s.rememberMetrics(ctx, states, exceptBlock); err != nil {
		return err
	}
	err = s.history.RecentBillings(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentBillings*s.config.Shape.Partitions, func(subject uint64, name [2]uint64, rate int64) {
		if state := of(subject); state != nil {
			state.billings.repeats(name, rate)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent billing items: %w", err)
	}
	err = s.history.RecentTallies(ctx, now.Add(-DuplicateWindow), exceptBlock, func(mark ingest.TallyMark) {
		if state := states[s.partition(protos.PartitionOfTally(mark.Source, s.config.Shape.Partitions))]; state != nil {
			state.tallies[mark.Source] = mark
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent tallies: %w", err)
	}
	return s.rememberSessions(ctx, states, exceptBlock)
}

// rememberSessions fills the sessions of the states from the store.
func (s *shardStream) rememberSessions(ctx context.Context, states map[int]*begin, exceptBlock uint64) error {
	now := s.config.Now()
	query := event.SessionsQuery{
		Since: now.Add(-DuplicateWindow), Within: openTime * time.Millisecond, ExceptBlock: exceptBlock,
		Open: openSessions * s.config.Shape.Partitions, Ended: endedSessions * s.config.Shape.Partitions,
	}
	of := func(thread uint64) *begin {
		return states[s.partition(protos.PartitionOfThread(thread, s.config.Shape.Partitions))]
	}
	err := s.history.Sessions(ctx, query, func(open event.OpenSession) {
		if state := of(open.Thread); state != nil {
			state.sessions.Restore(open)
		}
	}, func(ended event.SessionName) {
		if state := of(ended.Thread); state != nil {
			state.sessions.restoreEnded(ended)
		}
	})
	if err != nil {
		return fmt.Errorf("reading sessions: %w", err)
	}
	for _, state := range states {
		state.sessions.restored(now.UnixMilli())
	}
	return nil
}

// rememberMetrics fills the metrics of the states from the store.
func (s *shardStream) rememberMetrics(ctx context.Context, states map[int]*begin, exceptBlock uint64) error {
	now := s.config.Now()
	err := s.history.RecentMetrics(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentMetrics*s.config.Shape.Partitions, func(metric uint64, key [2]uint64) {
		if state := states[s.partition(int(metric%uint64(s.config.Shape.Partitions)))]; state != nil {
			state.metricIDs.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent metric points: %w", err)
	}
	var broken error
	err = s.history.Cumulatives(ctx, now.Add(-cumulativeHistory), exceptBlock, func(series metric.CumulativeSeries) {
		if state := states[s.partition(protos.PartitionOfMetric(series.Environment, series.Name, s.config.Shape.Partitions))]; state != nil {
			broken = errors.Join(broken, state.deltas.Restore(series))
		}
	})
	if err := errors.Join(err, broken); err != nil {
		return fmt.Errorf("reading cumulative series: %w", err)
	}
	return nil
}

func byPartition(positions []event.LogPosition) map[int]event.LogPosition {
	at := make(map[int]event.LogPosition, len(positions))
	for _, position := range positions {
		at[position.Partition] = position
	}
	return at
}

// partition returns the partition at a place of the shard.
func (s *shardStream) partition(place int) int { return s.shard*s.config.Shape.Partitions + place }

// partitions returns the partitions of the shard.
func (s *shardStream) partitions() []int {
	all := make([]int, s.config.Shape.Partitions)
	for place := range all {
		all[place] = s.partition(place)
	}
	return all
}

// places returns the places of partitions of the shard.
func (s *shardStream) places(partitions []int) []int {
	places := make([]int, len(partitions))
	for i, partition := range partitions {
		places[i] = s.config.Shape.Place(partition)
	}
	return places
}
