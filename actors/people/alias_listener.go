package people

import (
	"context"
	"errors"

	"svc"
	"svc/actors/pipeline"
)

// Uniter puts visitors together whom stored aliases tie; it may be asked at any time, and again.
type Uniter interface {
	// Unite does it for an environment.
	Unite(ctx context.Context, environment uint64) error
	// UniteAll does it for every environment of a shard.
	UniteAll(ctx context.Context, shard int) error
}

// AliasListener has the store put visitors together whom the aliases of a block tie, before the block is
// committed: a crash in between has it done again.
type AliasListener struct {
	pipeline.NopListener
	Store Uniter
}

// Assigned looks at all aliases, so that none stays open that an earlier version of the program stored.
func (l *AliasListener) Assigned(ctx context.Context, shard int, _ []int) error {
	return l.Store.UniteAll(ctx, shard)
}

// Open begins to listen to a block.
func (l *AliasListener) Open() pipeline.BlockListener {
	return &aliasBlock{store: l.Store, environments: map[uint64]bool{}}
}

// aliasBlock notes the environments in which a block has aliases.
type aliasBlock struct {
	pipeline.NopBlockListener
	store        Uniter
	environments map[uint64]bool
}

// Saw looks for aliases.
func (b *aliasBlock) Saw(_ int64, rows *svc.Rows) {
	for i := range rows.Events {
		if row := &rows.Events[i]; row.Name == svc.AliasEvent {
			b.environments[row.EnvironmentNumber] = true
		}
	}
}

// Stored has the store put the visitors together.
func (b *aliasBlock) Stored(ctx context.Context, _ *pipeline.StoredBlock) (err error) {
	for environment := range b.environments {
		err = errors.Join(err, b.store.Unite(ctx, environment))
	}
	return err
}
