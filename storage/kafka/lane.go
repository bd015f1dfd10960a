package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
)

const (
	// retryFirst and retryLast bound the pause between two attempts.
	retryFirst = 5 * time.Millisecond
	retryLast  = 200 * time.Millisecond

	// blockRecycled is the largest buffer that is kept for reuse.
	blockRecycled = 256 << 10
)

// lane is one partition's way to the broker: payloads gather in the open block
// while the previous ones are in flight, so that records grow with the load
// and an idle lane adds no delay.
type lane struct {
	cfg       *ProducerConfig
	link      *link
	recycled  *sync.Pool
	partition int
	wake      chan struct{}

	mu     sync.Mutex
	blocks []*block
	queued int
	closed bool
}

// block is one record in the making. Its deadline is the latest of its waiters.
type block struct {
	value    []byte
	waiters  []*waiter
	deadline time.Time
}

func newLane(p *Producer, partition int) *lane {
	return &lane{
		cfg:       &p.cfg,
		link:      p.link,
		recycled:  &p.blocks,
		partition: partition,
		wake:      make(chan struct{}, 1),
	}
}

// add copies a payload into the open block. The waiter is resolved with the
// block unless add returns an error.
func (l *lane) add(payload []byte, deadline time.Time, w *waiter) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fmt.Errorf("%w: producer has stopped", ErrUnavailable)
	}
	if l.queued+len(payload) > l.cfg.MaxQueuedBytes {
		l.mu.Unlock()
		return fmt.Errorf("%w: queue of partition %d is full", ErrUnavailable, l.partition)
	}
	b := l.open(len(payload))
	b.value = append(b.value, payload...)
	b.waiters = append(b.waiters, w)
	if deadline.After(b.deadline) {
		b.deadline = deadline
	}
	l.queued += len(payload)
	l.mu.Unlock()

	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// open returns the block that takes a payload of n bytes.
func (l *lane) open(n int) *block {
	if len(l.blocks) > 0 {
		last := l.blocks[len(l.blocks)-1]
		if len(last.value)+n <= l.cfg.MaxRecordBytes {
			return last
		}
	}
	b := l.recycled.Get().(*block)
	l.blocks = append(l.blocks, b)
	return b
}

func (l *lane) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued
}

// run sends batches until ctx ends, then refuses payloads and sends the queued
// ones until drain ends.
func (l *lane) run(ctx, drain context.Context) {
	var batch []*block
	for ctx.Err() == nil {
		if batch = l.take(batch[:0]); len(batch) > 0 {
			l.deliver(drain, batch)
			continue
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for batch = l.take(batch[:0]); len(batch) > 0; batch = l.take(batch[:0]) {
		l.deliver(drain, batch)
	}
}

// take removes the blocks of the next request from the queue. They count as
// queued until they are resolved.
func (l *lane) take(batch []*block) []*block {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for _, b := range l.blocks {
		if size += len(b.value); len(batch) > 0 && size > l.cfg.MaxRecordBytes {
			break
		}
		batch = append(batch, b)
	}
	rest := copy(l.blocks, l.blocks[len(batch):])
	clear(l.blocks[rest:])
	l.blocks = l.blocks[:rest]
	return batch
}

// deliver sends a batch, resolves its waiters and recycles its blocks.
func (l *lane) deliver(ctx context.Context, batch []*block) {
	clean, err := l.send(ctx, batch)
	if err != nil {
		err = fmt.Errorf("%w: producing to partition %d: %w", ErrUnavailable, l.partition, err)
	}
	size := 0
	for _, b := range batch {
		size += len(b.value)
	}
	l.mu.Lock()
	l.queued -= size
	l.mu.Unlock()
	for _, b := range batch {
		for _, w := range b.waiters {
			w.resolve(err, 1)
		}
		if clean && cap(b.value) <= blockRecycled {
			clear(b.waiters)
			*b = block{value: b.value[:0], waiters: b.waiters[:0]}
			l.recycled.Put(b)
		}
	}
}

// send repeats a request until it is acknowledged, cannot succeed, or nobody
// waits for it any more. clean reports that the client library holds no
// reference to the blocks: after a failed attempt it may still be writing.
func (l *lane) send(ctx context.Context, batch []*block) (clean bool, err error) {
	latest := batch[0].deadline
	for _, b := range batch[1:] {
		if b.deadline.After(latest) {
			latest = b.deadline
		}
	}
	ctx, cancel := context.WithDeadline(ctx, latest)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return true, err
	}
	clean = true
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		err = l.request(ctx, batch)
		if err == nil || permanent(err) {
			return clean, err
		}
		clean = false
		if !pause(ctx, wait) {
			return false, err
		}
	}
}

// request sends a batch once. A nil error means that all in-sync replicas have
// it.
func (l *lane) request(ctx context.Context, batch []*block) error {
	records := make([]protocol.Record, len(batch))
	for i, b := range batch {
		records[i].Value = protocol.NewBytes(b.value)
	}
	answer, err := l.link.transport.RoundTrip(ctx, l.link.addr, &produce.Request{
		Acks:    int16(kafkago.RequireAll),
		Timeout: int32(l.cfg.Timeout / time.Millisecond),
		Topics: []produce.RequestTopic{{
			Topic: l.cfg.Topic,
			Partitions: []produce.RequestPartition{{
				Partition: int32(l.partition),
				RecordSet: protocol.RecordSet{Records: protocol.NewRecordReader(records...)},
			}},
		}},
	})
	if err != nil {
		return err
	}
	topics := answer.(*produce.Response).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return errors.New("answer names no partition")
	}
	if code := topics[0].Partitions[0].ErrorCode; code != 0 {
		return kafkago.Error(code)
	}
	return nil
}
