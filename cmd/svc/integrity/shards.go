package integrity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// checkShards compares the listed shards with those that there were: an environment is looked for at its
// place in the list, so the list may only grow at its end. One that is new in the list is waited for; one that was
// there and is away is looked at when it is back.
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
				continue // Admit looks at it
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

// errForeign is why a store is not taken for a shard.
var errForeign = errors.New("list a store there that was never used, or the right one")

// checkShard compares one shard with its place in the list, and notes the place in a store that is new. One that
// was there before is not new.
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

// IsNew reports whether the facts of a store are those of one that no start has taken.
func IsNew(facts map[string]string) bool { return facts[dataSetFact] == "" }

// NoteShards notes in stores that were filled again which shards they are, and whose: that of the others,
// if some are left.
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
		return nil // all are new, and the next start notes it
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
