package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"svc/domain/event"
)

// Defaults of ProducerConfig.
const (
	defaultRecordBytes = event.MaxRecordBytes
	defaultQueuedBytes = 8 << 20
	defaultProduceTime = 10 * time.Second
	defaultDrainTime   = 5 * time.Second
)

// ProducerConfig describes a producer. Zero values mean the defaults.
type ProducerConfig struct {
	Brokers    []string
	Topic      string
	Partitions int

	// Dial opens connections, over the network by default. The dialer of the embedded broker bypasses the network.
	Dial DialFunc

	// MaxRecordBytes limits one record and one payload. The default is 900 KiB.
	MaxRecordBytes int

	// MaxQueuedBytes limits the unacknowledged bytes of one partition. One call may exceed it. The default is 8 MiB.
	MaxQueuedBytes int

	// Timeout limits a call if its context has no deadline. The default is 10 s.
	Timeout time.Duration

	// DrainTime limits how long Run continues to send after its context ended. The default is 5 s.
	DrainTime time.Duration

	Logger *slog.Logger
}

// Part is a payload for one partition.
type Part = event.Part

// Producer appends payloads to a topic. Its methods may be called concurrently.
type Producer struct {
	cfg        ProducerConfig
	partitions []*partition

	// lost is the lane of the partitions without a known leader.
	lost *lane

	// stale requests another look-up of the leaders.
	stale chan struct{}

	// busy counts the partitions with queued payloads.
	busy sync.WaitGroup

	waiters sync.Pool
	blocks  sync.Pool

	mu       sync.Mutex
	identity *identity // the newest identity, nil before the first request for one
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
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	p := &Producer{cfg: cfg, stale: make(chan struct{}, 1)}
	p.waiters.New = func() any { return newWaiter(&p.waiters) }
	p.blocks.New = func() any { return newBlock() }
	p.lost = newLane(p, nobody)
	for id := range cfg.Partitions {
		p.partitions = append(p.partitions, &partition{id: id, producer: p, leader: p.lost})
	}
	return p, nil
}

// Run sends the payloads that Produce queues until ctx ends. It then refuses new payloads, sends the queued ones within
// the drain time and returns nil.
func (p *Producer) Run(ctx context.Context) error {
	drain, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.cfg.DrainTime, cancel) })()
	idle := make(chan struct{})
	var loops sync.WaitGroup
	begin := func(l *lane) { loops.Go(func() { l.run(drain, idle) }) }
	begin(p.lost)
	loops.Go(func() { newRouter(p, begin).run(drain, idle) })

	<-ctx.Done()
	for _, part := range p.partitions {
		part.close()
	}
	p.busy.Wait()
	close(idle)
	loops.Wait()
	return nil
}

// Produce appends each payload to its partition and returns nil once every in-sync replica has acknowledged all of
// them. It copies the payloads.
//
// The parts of one partition must be adjacent in parts; they reach the log in that order. An attempt that is repeated
// because its answer was lost appends nothing twice.
//
// It returns [ErrTooLarge], with nothing queued, if a payload exceeds the record limit. It returns [ErrNotAppended] if
// a partition's queue is full or no broker could be reached in time. It returns [ErrUnavailable] if some of the
// payloads are in the log or may still reach it.
func (p *Producer) Produce(ctx context.Context, parts []Part) error {
	if err := p.check(parts); err != nil || len(parts) == 0 {
		return err
	}
	if err := p.admit(parts); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	var limit time.Duration
	if !ok {
		limit = p.cfg.Timeout
		deadline = time.Now().Add(limit)
	}
	w := p.waiters.Get().(*waiter)
	w.begin(len(parts))
	for i, part := range parts {
		if err := p.partitions[part.Partition].add(part.Payload, deadline, w); err != nil {
			w.resolve(err, len(parts)-i)
			break
		}
	}
	return w.wait(ctx, limit)
}

// admit refuses a call before any part of it is queued if a partition has no room.
func (p *Producer) admit(parts []Part) error {
	for i := 0; i < len(parts); {
		partition, size := parts[i].Partition, 0
		for ; i < len(parts) && parts[i].Partition == partition; i++ {
			size += len(parts[i].Payload)
		}
		if err := p.partitions[partition].admit(size); err != nil {
			return err
		}
	}
	return nil
}

func (p *Producer) check(parts []Part) error {
	for _, part := range parts {
		if part.Partition < 0 || part.Partition >= len(p.partitions) {
			return fmt.Errorf("producing: partition %d is not one of %d", part.Partition, len(p.partitions))
		}
		if len(part.Payload) > p.cfg.MaxRecordBytes {
			return fmt.Errorf("producing %d bytes: %w", len(part.Payload), ErrTooLarge)
		}
	}
	return nil
}

// Queued returns the number of unacknowledged bytes of all partitions.
func (p *Producer) Queued() int {
	total := 0
	for _, part := range p.partitions {
		total += part.size()
	}
	return total
}

// refresh requests another look-up of the leaders.
func (p *Producer) refresh() {
	select {
	case p.stale <- struct{}{}:
	default:
	}
}
