package integrity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// checkShards compares the configured shards with the recorded ones. The place of an environment's shard in the list
// must not change, so the list may only grow at its end. A new shard that is unavailable blocks the start. A known
// shard that is unavailable is checked when it returns.
func (i *Identity) checkShards(ctx context.Context, facts map[string]string, set string) error {
	if shard, other := facts[shardFact]; other {
		return fmt.Errorf("SVC_CLICKHOUSE_DSN begins with the store of shard %s; list the stores in their order", shard)
	}
	count, there := i.Store.ShardCount(), 1
	if noted := facts[shardsFact]; noted != "" {
		var err error
		if there, err = strconv.Atoi(noted); err != nil {
			return fmt.Errorf("reading how many shards there are: %w", err)
		}
	}
	if count < there {
		return fmt.Errorf("SVC_CLICKHOUSE_DSN lists %d of %d stores, and environments live on all of them; append the others, in their order", count, there)
	}
	i.set = set
	for shard := 1; shard < count; shard++ {
		if i.Store.Away(shard) {
			if shard < there {
				continue // Admit checks it
			}
			if err := i.Store.Admit(ctx, shard, func(ctx context.Context) error { return i.Returned(ctx, shard) }); err != nil {
				return fmt.Errorf("looking at shard %d: %w", shard, err)
			}
		}
		if err := i.checkShard(ctx, shard, set, shard < there); err != nil {
			return err
		}
	}
	if count == there {
		return nil
	}
	return i.Store.ReplaceFact(ctx, shardsFact, strconv.Itoa(count))
}

// errForeign is the reason why a store is not accepted as a shard.
var errForeign = errors.New("list a store there that was never used, or the right one")

// checkShard compares one shard with its place in the list, and records the place in a new store. before says that the
// shard existed before, so that its store cannot be new.
func (i *Identity) checkShard(ctx context.Context, shard int, set string, before bool) error {
	facts, err := i.Store.ShardFacts(ctx, shard)
	if err != nil {
		return fmt.Errorf("looking at shard %d: %w", shard, err)
	}
	place, noted := facts[shardFact]
	switch own := strconv.Itoa(shard); {
	case facts[dataSetFact] != "" && facts[dataSetFact] != set:
		return fmt.Errorf("the store at place %d of SVC_CLICKHOUSE_DSN is of another installation: %w", shard+1, errForeign)
	case noted && place != own:
		return fmt.Errorf("the store at place %d of SVC_CLICKHOUSE_DSN is shard %s, which belongs at place %s+1: %w", shard+1, place, place, errForeign)
	case facts[dataSetFact] != "" && !noted:
		return fmt.Errorf("the store at place %d of SVC_CLICKHOUSE_DSN is that of shard 0: %w", shard+1, errForeign)
	case !noted && before:
		return fmt.Errorf("the store of shard %d is empty: it was lost; fill it from the log with `svc admin rebuild`, or put it back", shard)
	case !noted:
		if err := i.Store.NoteShardFact(ctx, shard, shardFact, own); err != nil {
			return err
		}
	}
	if facts[dataSetFact] != "" {
		return nil
	}
	return i.Store.NoteShardFact(ctx, shard, dataSetFact, set)
}

// IsNew reports whether the facts belong to a store that no start has used.
func IsNew(facts map[string]string) bool { return facts[dataSetFact] == "" }

// NoteShards records in refilled stores their shard numbers and their data set. The data set comes from the remaining
// stores, if any.
func NoteShards(ctx context.Context, store Store, filled []int) error {
	set, count := "", store.ShardCount()
	for shard := range count {
		facts, err := store.ShardFacts(ctx, shard)
		if err != nil {
			return fmt.Errorf("looking at shard %d: %w", shard, err)
		}
		if set == "" {
			set = facts[dataSetFact]
		}
	}
	if set == "" {
		return nil // all are new, and the next start records it
	}
	for _, shard := range filled {
		if shard == 0 {
			if err := store.ReplaceFact(ctx, shardsFact, strconv.Itoa(count)); err != nil {
				return err
			}
		} else if err := store.NoteShardFact(ctx, shard, shardFact, strconv.Itoa(shard)); err != nil {
			return err
		}
		if err := store.NoteShardFact(ctx, shard, dataSetFact, set); err != nil {
			return err
		}
	}
	return nil
}
