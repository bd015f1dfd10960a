// Package adapter has the types that fit the interfaces of the folders to each other: http, actors and storage
// do not import one another. What only one module needs stands beside the module.
package adapter

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"svc"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/protos"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/database"
	"svc/storage/geo"
	"svc/storage/kafka"
	"svc/storage/owned"
)

// Producer is the ingest path's view of the log.
type Producer struct {
	*kafka.Producer
	Disk interface{ Admit() error }
}

// produceRetry is how long clients are asked to wait when the log does not answer.
const produceRetry = time.Second

// Produce divides what is too long for one record; the call succeeds when all of it has.
func (p Producer) Produce(ctx context.Context, parts []svc.Part) error {
	if err := p.Disk.Admit(); err != nil {
		return err
	}
	err := p.Producer.Produce(ctx, divided(parts))
	switch {
	case errors.Is(err, kafka.ErrNotAppended):
		return svc.NotAccepted("The log", produceRetry)
	case errors.Is(err, kafka.ErrUnavailable):
		return svc.Unsure("The log", produceRetry)
	}
	return err
}

// divided cuts parts so that each fits one record of the log.
func divided(parts []svc.Part) []svc.Part {
	long := func(part svc.Part) bool { return len(part.Payload) > svc.MaxRecordBytes }
	if !slices.ContainsFunc(parts, long) {
		return parts
	}
	var out []svc.Part
	for _, part := range parts {
		for _, payload := range protos.Divide(part.Payload, svc.MaxRecordBytes) {
			out = append(out, svc.Part{Partition: part.Partition, Payload: payload})
		}
	}
	return out
}

// Committer tells of the positions that the sink commits.
type Committer struct {
	*kafka.Consumer
	Stored func(positions []svc.LogPosition)
}

// Commit commits positions, and tells of them once they are.
func (c Committer) Commit(ctx context.Context, generation int32, positions []svc.LogPosition) error {
	err := c.Consumer.Commit(ctx, generation, positions)
	if err == nil {
		c.Stored(positions)
	}
	return err
}

// BlockStore is the store as the sink of a shard's partitions sees it.
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

// Sift takes the rows out of a block that the store refuses, and returns them.
func (s BlockStore) Sift(ctx context.Context, id uint64, b pipeline.Block) ([]svc.RefusedRow, error) {
	return s.DB.Sift(ctx, id, b.(*block.Block))
}

// CountRows returns how many rows of a block are stored.
func (s BlockStore) CountRows(ctx context.Context, id uint64, b pipeline.Block) (int, error) {
	return s.DB.CountRows(ctx, id, b.(*block.Block))
}

// Moves are the environments that were moved between shards, as the stream sees them.
type Moves struct{ *database.DB }

// Hear has this node know on which shard an environment lives.
func (m Moves) Hear(environment uint64, shard int) { m.Place(environment, shard) }

// Note notes durably on which shard an environment lives.
func (m Moves) Note(ctx context.Context, environment uint64, shard int) error {
	return m.NotePlace(ctx, environment, shard)
}

// Learn has this node know where the environments live whose numbers name a shard.
func (m Moves) Learn(ctx context.Context, shard int) error { return m.LearnPlaces(ctx, shard) }

// Locator gives an intake its own cache of places.
type Locator struct{ *geo.Cache }

// Locate returns where an address is; what is not known is empty.
func (l Locator) Locate(ip netip.Addr) (country, region, city string) {
	place := l.Cache.Locate(ip)
	return place.Country, place.Region, place.City
}

// Wakeups is the sweeper's view of what actors own.
type Wakeups struct{ *owned.Store }

// Due yields the wake-ups of this node that are due at a time until yield returns false.
func (w Wakeups) Due(at time.Time, yield func(cluster.Due) bool) {
	w.Store.Due(at, func(wake svc.Wakeup) bool {
		return yield(cluster.Due{Kind: wake.Kind, Identity: wake.Identity, Name: wake.Name})
	})
}
