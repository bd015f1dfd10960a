package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"svc"
)

// Defaults of ProducerConfig. The record limit leaves room for the batch's own
// bytes below the one mebibyte that brokers accept by default.
const (
	defaultRecordBytes = 900 << 10
	defaultQueuedBytes = 8 << 20
	defaultProduceTime = 10 * time.Second
	defaultDrainTime   = 5 * time.Second
)

// ProducerConfig describes a producer. Zero values take the defaults.
type ProducerConfig struct {
	Brokers    []string
	Topic      string
	Partitions int

	// MaxRecordBytes bounds one record and one payload. 900 KiB by default.
	MaxRecordBytes int

	// MaxQueuedBytes bounds what waits for an acknowledgement in one
	// partition. 8 MiB by default.
	MaxQueuedBytes int

	// Timeout bounds a call whose context has no deadline. 10 s by default.
	Timeout time.Duration

	// DrainTime bounds the end of Run. 5 s by default.
	DrainTime time.Duration

	Logger *slog.Logger
}

// Part is a payload for one partition.
type Part = svc.Part

// Producer appends payloads to a topic. Its methods may be called concurrently.
type Producer struct {
	cfg     ProducerConfig
	link    *link
	lanes   []*lane
	waiters sync.Pool
	blocks  sync.Pool
}

// NewProducer checks cfg. Nothing is sent before [Producer.Run].
func NewProducer(cfg ProducerConfig) (*Producer, error) {
	if len(cfg.Brokers) == 0 || cfg.Topic == "" || cfg.Partitions < 1 {
		return nil, errors.New("producer needs brokers, a topic and partitions")
	}
	cfg.MaxRecordBytes = cmp.Or(cfg.MaxRecordBytes, defaultRecordBytes)
	cfg.MaxQueuedBytes = cmp.Or(cfg.MaxQueuedBytes, defaultQueuedBytes)
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultProduceTime)
	cfg.DrainTime = cmp.Or(cfg.DrainTime, defaultDrainTime)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	p := &Producer{cfg: cfg, link: newLink(cfg.Brokers, cfg.Topic)}
	p.waiters.New = func() any { return &waiter{pool: &p.waiters, done: make(chan struct{}, 1)} }
	p.blocks.New = func() any { return new(block) }
	for partition := range cfg.Partitions {
		p.lanes = append(p.lanes, newLane(p, partition))
	}
	return p, nil
}

// Run sends what Produce queues until ctx ends. It then refuses new payloads,
// sends the queued ones within the drain time and returns nil.
func (p *Producer) Run(ctx context.Context) error {
	defer p.link.close()
	drain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.cfg.DrainTime, cancel) })()
	var lanes sync.WaitGroup
	for _, l := range p.lanes {
		lanes.Go(func() { l.run(ctx, drain) })
	}
	lanes.Wait()
	return nil
}

// Produce appends each payload to its partition and returns nil once all of
// them are acknowledged by every in-sync replica. It copies the payloads.
//
// It returns [ErrTooLarge], with nothing queued, for a payload above the record
// limit. It returns [ErrUnavailable] at once when a partition's queue is full
// and at the deadline of ctx when the broker does not answer; some of the
// payloads may then be, or come to be, in the log.
func (p *Producer) Produce(ctx context.Context, parts []Part) error {
	if err := p.check(parts); err != nil || len(parts) == 0 {
		return err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.cfg.Timeout)
		defer cancel()
		deadline, _ = ctx.Deadline()
	}
	w := p.waiters.Get().(*waiter)
	w.begin(len(parts))
	for i, part := range parts {
		if err := p.lanes[part.Partition].add(part.Payload, deadline, w); err != nil {
			w.resolve(err, len(parts)-i)
			w.leave()
			return err
		}
	}
	return w.wait(ctx)
}

func (p *Producer) check(parts []Part) error {
	for _, part := range parts {
		if part.Partition < 0 || part.Partition >= len(p.lanes) {
			return fmt.Errorf("producing: partition %d is not one of %d", part.Partition, len(p.lanes))
		}
		if len(part.Payload) > p.cfg.MaxRecordBytes {
			return fmt.Errorf("producing %d bytes: %w", len(part.Payload), ErrTooLarge)
		}
	}
	return nil
}

// Queued returns the bytes that wait for an acknowledgement, over all
// partitions.
func (p *Producer) Queued() int {
	total := 0
	for _, l := range p.lanes {
		total += l.size()
	}
	return total
}

// waiter counts down the parts of one call. The caller and every part hold a
// reference; whoever drops the last one recycles it, so that a caller may leave
// at its deadline while parts are under way.
type waiter struct {
	pool *sync.Pool
	refs atomic.Int32
	err  atomic.Pointer[error]
	done chan struct{}
}

// begin prepares the waiter for a call of some parts.
func (w *waiter) begin(parts int) {
	w.err.Store(nil)
	w.refs.Store(int32(parts) + 1)
}

// resolve ends n parts of the call. The first error is the call's result.
func (w *waiter) resolve(err error, n int) {
	if err != nil {
		w.err.CompareAndSwap(nil, &err)
	}
	switch w.refs.Add(-int32(n)) {
	case 1:
		w.done <- struct{}{}
	case 0:
		w.pool.Put(w)
	}
}

// wait returns the result of the call once all parts ended, or at the end of
// ctx. The waiter is not used afterwards.
func (w *waiter) wait(ctx context.Context) error {
	select {
	case <-w.done:
		var err error
		if first := w.err.Load(); first != nil {
			err = *first
		}
		w.pool.Put(w)
		return err
	case <-ctx.Done():
		w.leave()
		return fmt.Errorf("%w: waiting for the acknowledgement: %w", ErrUnavailable, ctx.Err())
	}
}

// leave gives up the caller's reference without a result.
func (w *waiter) leave() {
	if w.refs.Add(-1) == 0 {
		<-w.done
		w.pool.Put(w)
	}
}
