package people

import (
	"context"
	"errors"

	"svc/actors/pipeline"
	"svc/domain/event"
	"svc/domain/ingest"
)

// Uniter merges visitors in the identity graph that are connected by stored aliases. It may be called at any time, and
// again.
type Uniter interface {
	// Unite merges the visitors of an environment.
	Unite(ctx context.Context, environment uint64) error
	// UniteAll merges the visitors of every environment of a shard.
	UniteAll(ctx context.Context, shard int) error
}

// AliasListener makes the store merge visitors that the aliases of a block connect, before the block is committed: a
// crash in between repeats it.
type AliasListener struct {
	pipeline.NopListener
	Store Uniter
}

// Assigned applies all stored aliases, including aliases that an earlier version of the program stored.
func (l *AliasListener) Assigned(ctx context.Context, shard int, _ []int) error {
	return l.Store.UniteAll(ctx, shard)
}

// Open begins to listen to a block.
func (l *AliasListener) Open() pipeline.BlockListener {
	return &aliasBlock{store: l.Store, environments: map[uint64]bool{}}
}

// aliasBlock collects the environments in which a block has aliases.
type aliasBlock struct {
	pipeline.NopBlockListener
	store        Uniter
	environments map[uint64]bool
}

// Saw looks for aliases.
func (b *aliasBlock) Saw(_ int64, rows *ingest.Rows) {
	for i := range rows.Events {
		if row := &rows.Events[i]; row.Name == event.AliasEvent {
			b.environments[row.EnvironmentNumber] = true
		}
	}
}

// Stored makes the store merge the visitors.
func (b *aliasBlock) Stored(ctx context.Context, _ *pipeline.StoredBlock) (err error) {
	for environment := range b.environments {
		err = errors.Join(err, b.store.Unite(ctx, environment))
	}
	return err
}
