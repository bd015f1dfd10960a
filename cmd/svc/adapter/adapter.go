// Package adapter connects the interfaces of the folders: http, actors and storage do not import one another. Adapters
// that only one module needs are in the file of the module.
package adapter

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/database"
	"svc/storage/geo"
	"svc/storage/kafka"
	"svc/storage/owned"
)

// Producer adapts the log to the ingest path.
type Producer struct {
	*kafka.Producer
	Disk interface{ Admit() error }
}

// produceRetry is the delay that clients are asked for when the log does not answer.
const produceRetry = time.Second

// Produce splits parts that are too long for one record. It succeeds only if all records do.
func (p Producer) Produce(ctx context.Context, parts []event.Part) error {
	if err := p.Disk.Admit(); err != nil {
		return err
	}
	err := p.Producer.Produce(ctx, divided(parts))
	switch {
	case errors.Is(err, kafka.ErrNotAppended):
		return domain.NotAccepted("The log", produceRetry)
	case errors.Is(err, kafka.ErrUnavailable):
		return domain.Unsure("The log", produceRetry)
	}
	return err
}

// divided splits parts so that each fits one record of the log.
func divided(parts []event.Part) []event.Part {
	long := func(part event.Part) bool { return len(part.Payload) > event.MaxRecordBytes }
	if !slices.ContainsFunc(parts, long) {
		return parts
	}
	var out []event.Part
	for _, part := range parts {
		for _, payload := range protos.Divide(part.Payload, event.MaxRecordBytes) {
			out = append(out, event.Part{Partition: part.Partition, Payload: payload})
		}
	}
	return out
}

// Committer reports the positions that the sink commits.
type Committer struct {
	*kafka.Consumer
	Stored func(positions []event.LogPosition)
}

// Commit commits positions, and reports them on success.
func (c Committer) Commit(ctx context.Context, generation int32, positions []event.LogPosition) error {
	err := c.Consumer.Commit(ctx, generation, positions)
	if err == nil {
		c.Stored(positions)
	}
	return err
}

// BlockStore adapts the store to the sink of a shard's partitions.
type BlockStore struct {
	*database.DB
	Shard int
}

// NewBlock returns an empty block.
func (s BlockStore) NewBlock() pipeline.Block { return s.DB.NewBlockOf(s.Shard) }

// Insert writes a block under a token and a number.
func (s BlockStore) Insert(ctx context.Context, token string, id uint64, b pipeline.Block) error {
	return s.DB.Insert(ctx, token, id, b.(*block.Block))
}

// Sift removes the rows from a block that the store refuses, and returns them.
func (s BlockStore) Sift(ctx context.Context, id uint64, b pipeline.Block) ([]ingest.RefusedRow, error) {
	return s.DB.Sift(ctx, id, b.(*block.Block))
}

// CountRows returns the number of stored rows of a block.
func (s BlockStore) CountRows(ctx context.Context, id uint64, b pipeline.Block) (int, error) {
	return s.DB.CountRows(ctx, id, b.(*block.Block))
}

// Moves adapts the environments that were moved between shards to the stream.
type Moves struct{ *database.DB }

// Hear informs this node of the shard of an environment.
func (m Moves) Hear(environment uint64, shard int) { m.Place(environment, shard) }

// Note records durably the shard of an environment.
func (m Moves) Note(ctx context.Context, environment uint64, shard int) error {
	return m.NotePlace(ctx, environment, shard)
}

// Learn loads the present shards of the environments whose numbers name a shard.
func (m Moves) Learn(ctx context.Context, shard int) error { return m.LearnPlaces(ctx, shard) }

// Locator gives an intake its own cache of places.
type Locator struct{ *geo.Cache }

// Locate returns the place of an address; unknown parts are empty.
func (l Locator) Locate(ip netip.Addr) (country, region, city string) {
	place := l.Cache.Locate(ip)
	return place.Country, place.Region, place.City
}

// Wakeups adapts the actors' state to the sweeper.
type Wakeups struct{ *owned.Store }

// Due yields the wake-ups of this node that are due at a time until yield returns false.
func (w Wakeups) Due(at time.Time, yield func(cluster.Due) bool) {
	w.Store.Due(at, func(wake domain.Wakeup) bool {
		return yield(cluster.Due{Kind: wake.Kind, Identity: wake.Identity, Name: wake.Name})
	})
}
