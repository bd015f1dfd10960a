package main

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
)

// The types below adapt the interfaces of the folders to each other: http, actors and
// storage do not import one another.

// logProducer is the ingest path's view of the log.
type logProducer struct {
	*kafka.Producer
	space *space
}

// produceRetry is how long clients are asked to wait when the log does not answer.
const produceRetry = time.Second

// Produce divides what is too long for one record; the call succeeds when all of it has.
func (l logProducer) Produce(ctx context.Context, parts []svc.Part) error {
	if err := l.space.admit(); err != nil {
		return err
	}
	err := l.Producer.Produce(ctx, divided(parts))
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

// committed notes the positions that the sink commits.
type committed struct {
	*kafka.Consumer
	progress *pipeline.Progress
}

func (c committed) Commit(ctx context.Context, generation int32, positions []svc.LogPosition) error {
	err := c.Consumer.Commit(ctx, generation, positions)
	if err == nil {
		c.progress.Stored(positions)
	}
	return err
}

// blockStore is the sink's view of the store.
type blockStore struct{ *database.DB }

func (s blockStore) NewBlock() pipeline.Block { return s.DB.NewBlock() }

func (s blockStore) Insert(ctx context.Context, token string, id uint64, b pipeline.Block) error {
	return s.DB.Insert(ctx, token, id, b.(*block.Block))
}

func (s blockStore) Sift(ctx context.Context, id uint64, b pipeline.Block) ([]svc.RefusedRow, error) {
	return s.DB.Sift(ctx, id, b.(*block.Block))
}

func (s blockStore) CountRows(ctx context.Context, id uint64, b pipeline.Block) (int, error) {
	return s.DB.CountRows(ctx, id, b.(*block.Block))
}

// located gives an intake its own cache of places.
type located struct{ *geo.Cache }

func (l located) Locate(ip netip.Addr) (country, region, city string) {
	place := l.Cache.Locate(ip)
	return place.Country, place.Region, place.City
}

// wakeups is the sweeper's view of the store.
type wakeups struct{ *database.DB }

func (w wakeups) Due(ctx context.Context, at time.Time, yield func(cluster.Due) bool) error {
	return w.DB.Due(ctx, at, func(wake svc.Wakeup) bool {
		return yield(cluster.Due{Kind: wake.Kind, Identity: wake.Identity, Name: wake.Name})
	})
}
