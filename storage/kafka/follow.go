package kafka

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	kafkago "github.com/segmentio/kafka-go"
)

// FollowerConfig describes a follower of a topic of one partition.
type FollowerConfig struct {
	Brokers []string
	Topic   string

	// Handle receives the appended records, in order. Its calls do not overlap.
	Handle func(ctx context.Context, records []Record)

	// Lost is called instead when records were deleted before they were read, or
	// the log lost its end.
	Lost func(ctx context.Context)

	Logger *slog.Logger
}

// Follower reads everything that is appended to a topic of one partition, on
// every node, outside of any group.
type Follower struct {
	cfg    FollowerConfig
	link   *link
	reader *reader
}

// NewFollower returns a follower that has read nothing.
func NewFollower(cfg FollowerConfig) *Follower {
	link := newLink(cfg.Brokers, cfg.Topic)
	shared := &ConsumerConfig{Topic: cfg.Topic, Logger: cfg.Logger}
	return &Follower{cfg: cfg, link: link, reader: &reader{cfg: shared, link: link, end: new(atomic.Int64)}}
}

// Begin makes the present end of the topic the place to start. State that is read
// from elsewhere after Begin contains everything that was appended before.
func (f *Follower) Begin(ctx context.Context) error {
	ends, err := f.link.ends(ctx, f.cfg.Topic, []int{0})
	if err == nil {
		f.reader.next = ends[0]
	}
	return err
}

// Run follows the topic until ctx ends. Trouble with the broker is waited out.
func (f *Follower) Run(ctx context.Context) error {
	defer f.link.close()
	for wait := retryFirst; ctx.Err() == nil; {
		records, _, err := f.reader.fetch(ctx)
		if errors.Is(err, kafkago.OffsetOutOfRange) {
			err = f.reader.relocate(ctx)
			lost, cut := errors.AsType[*lostEnd](err)
			if cut {
				f.reader.next, err = lost.end, nil
			}
			if err == nil {
				f.cfg.Lost(ctx)
			}
		}
		if err != nil {
			pause(ctx, wait)
			wait = min(2*wait, retryLast)
			continue
		}
		wait = retryFirst
		if len(records) > 0 {
			f.cfg.Handle(ctx, records)
			f.reader.next = records[len(records)-1].Offset + 1
		}
	}
	return nil
}
