package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
)

const (
	// nobody is the broker id of the lane for partitions without a leader.
	nobody = -1

	// requestBytes limits the values of one request, far below the 100 MB that brokers accept. One record may exceed
	// it.
	requestBytes = 15 << 20

	// answerGrace is added to the broker's time limit. After both have passed, the answer counts as lost.
	answerGrace = 2 * time.Second
)

// errNoAnswer reports an answer that lacks the result of a partition.
var errNoAnswer = errors.New("answer does not name the partition")

// lane sends records to one broker. It sends one request at a time, with one record of every partition that the broker
// leads and that has queued payloads.
type lane struct {
	producer *Producer
	broker   int32
	wake     chan struct{}

	mu    sync.Mutex
	addr  string
	ready []*partition

	// Only run uses the following fields.
	conn  *conn
	batch []*partition
	parts []rawproduce.RequestPartition
	// sent reports that the last request may have reached its broker.
	sent bool
}

func newLane(p *Producer, broker int32) *lane {
	return &lane{producer: p, broker: broker, wake: make(chan struct{}, 1)}
}

// push appends a scheduled partition to the list.
func (l *lane) push(p *partition) {
	l.mu.Lock()
	l.ready = append(l.ready, p)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// remove takes a partition out of the list and reports whether it was there.
func (l *lane) remove(p *partition) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.ready, p)
	if i >= 0 {
		l.ready = slices.Delete(l.ready, i, i+1)
	}
	return i >= 0
}

// locate sets the address of the lane's broker.
func (l *lane) locate(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addr = addr
}

// run sends until idle is closed. Once drain ends, every block fails.
func (l *lane) run(drain context.Context, idle <-chan struct{}) {
	defer l.disconnect()
	retry := time.NewTimer(0)
	defer retry.Stop()
	over := drain.Done()
	for {
		now := time.Now()
		wait := l.gather(now, drain.Err() != nil)
		if len(l.batch) > 0 {
			l.deliver(drain, now)
			continue
		}
		if wait > 0 {
			retry.Reset(wait)
		}
		select {
		case <-l.wake:
		case <-retry.C:
		case <-over:
			over = nil
		case <-idle:
			return
		}
	}
}

// gather adds the partitions that are due to the batch, or all of them if all is set. It returns the time until the
// next partition is due, or 0.
func (l *lane) gather(now time.Time, all bool) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.ready[:0]
	for _, p := range l.ready {
		if left := p.due.Sub(now); left <= 0 || all {
			l.batch = append(l.batch, p)
		} else {
			rest = append(rest, p)
			wait = min(cmp.Or(wait, left), left)
		}
	}
	clear(l.ready[len(rest):])
	l.ready = rest
	return wait
}

// deliver sends the batch, then resolves each of its partitions or schedules a retry.
func (l *lane) deliver(drain context.Context, now time.Time) {
	latest := l.prepare(drain, now)
	if len(l.batch) > 0 {
		l.sent = false
		answers, err := l.request(drain, latest)
		for _, p := range l.batch {
			l.conclude(p, cmp.Or(err, outcome(answers, p.id)))
		}
	}
	clear(l.batch)
	l.batch = l.batch[:0]
}

// prepare resolves blocks after their deadline, postpones blocks that exceed one request, and adds the others to the
// request. It returns the latest deadline.
func (l *lane) prepare(drain context.Context, now time.Time) (latest time.Time) {
	size, kept := 0, l.batch[:0]
	l.parts = l.parts[:0]
	for _, p := range l.batch {
		b := p.next(now)
		switch {
		case drain.Err() != nil:
			p.resolve(cmp.Or(p.failure, drain.Err()))
			continue
		case !b.deadline.After(now):
			p.resolve(cmp.Or(p.failure, context.DeadlineExceeded))
			continue
		case len(kept) > 0 && size+b.size > requestBytes:
			p.postpone(now, 0)
			continue
		}
		size += b.size
		kept = append(kept, p)
		l.parts = append(l.parts, rawproduce.RequestPartition{
			Partition: int32(p.id),
			RecordSet: protocol.RawRecordSet{Reader: b.reader()},
		})
		if b.deadline.After(latest) {
			latest = b.deadline
		}
	}
	l.batch = kept
	return latest
}

// conclude ends the attempt of one partition.
func (l *lane) conclude(p *partition, err error) {
	strange := misnumbered(err)
	switch {
	case errors.Is(err, kafkago.DuplicateSequenceNumber):
		err = nil // an earlier attempt appended it
	case strange:
		p.spent = true
	case err != nil && l.sent && !leftOut(err):
		p.sending.unsure = true
	}
	// A block that may be in the log is not sent under another identity: it could be appended twice.
	if err == nil || permanent(err) && !strange || strange && p.sending.unsure {
		p.resolve(err)
		return
	}
	p.retry(time.Now(), err)
	l.producer.refresh()
}

// request sends the prepared partitions once. The answer lists the partitions that all in-sync replicas have, and the
// partitions that failed.
func (l *lane) request(drain context.Context, latest time.Time) ([]produce.ResponsePartition, error) {
	if l.broker == nobody {
		return nil, kafkago.LeaderNotAvailable
	}
	if err := l.connect(drain); err != nil {
		return nil, err
	}
	for _, p := range l.batch {
		if err := p.stamp(drain, l.conn); err != nil {
			l.disconnect()
			return nil, err
		}
	}
	cfg := &l.producer.cfg
	if limit := time.Now().Add(cfg.Timeout + answerGrace); limit.Before(latest) {
		latest = limit
	}
	l.sent = true
	answer, err := l.conn.exchange(drain, latest, &rawproduce.Request{
		Acks:    int16(kafkago.RequireAll),
		Timeout: int32(cfg.Timeout / time.Millisecond),
		Topics:  []rawproduce.RequestTopic{{Topic: cfg.Topic, Partitions: l.parts}},
	})
	if err != nil {
		l.disconnect()
		return nil, err
	}
	topics := answer.(*produce.Response).Topics
	if len(topics) != 1 {
		return nil, errNoAnswer
	}
	return topics[0].Partitions, nil
}

// outcome returns the broker's error for a partition.
func outcome(answers []produce.ResponsePartition, partition int) error {
	for _, a := range answers {
		switch {
		case a.Partition != int32(partition):
		case a.ErrorCode != 0:
			return kafkago.Error(a.ErrorCode)
		default:
			return nil
		}
	}
	return errNoAnswer
}

// connect opens a connection to the broker's current address unless a usable one exists.
func (l *lane) connect(ctx context.Context) (err error) {
	l.mu.Lock()
	addr := l.addr
	l.mu.Unlock()
	if l.conn != nil && l.conn.usable(addr) {
		return nil
	}
	l.disconnect()
	l.conn, err = connect(ctx, l.producer.cfg.Dial, addr)
	return err
}

func (l *lane) disconnect() {
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}
