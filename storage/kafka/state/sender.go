package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// leadersAge is the minimum pause between two look-ups of the leaders.
	leadersAge = 20 * time.Millisecond
	// requestBytes is the target size of one produce request.
	requestBytes = 16 << 20
)

// errNoAnswer reports an answer that lacks a partition.
var errNoAnswer = errors.New("the answer does not name the partition")

// sender sends batches to the leaders of their partitions. Each leader has one request under way, and the next request
// takes all batches that arrived meanwhile. A broker that syncs its log therefore syncs once for all partitions.
type sender struct {
	log *Log

	mu      sync.Mutex
	leaders []int32         // by partition, nil while unknown; guarded by mu
	looked  time.Time       // time of the last look-up; guarded by mu
	lanes   map[int32]*lane // by leader; guarded by mu
}

// lane queues the batches for one broker.
type lane struct {
	waiting []*sending
	busy    bool
}

// sending is a batch that is queued or under way.
type sending struct {
	partition int
	batch     []byte
	done      chan sent
}

// sent is the result of a batch.
type sent struct {
	offset int64
	err    error
}

func newSender(l *Log) *sender { return &sender{log: l, lanes: map[int32]*lane{}} }

// send sends a batch once and returns the offset of its first record. If ctx ends, the batch may still be sent later.
func (s *sender) send(ctx context.Context, partition int, batch []byte) (int64, error) {
	leaders, err := s.log.leadersOf(ctx)
	if err != nil {
		return 0, err
	}
	one := &sending{partition, batch, make(chan sent, 1)}
	s.mu.Lock()
	leader := leaders[partition]
	way := s.lanes[leader]
	if way == nil {
		way = new(lane)
		s.lanes[leader] = way
	}
	way.waiting = append(way.waiting, one)
	if !way.busy {
		way.busy = true
		go s.run(leader, way) //nolint:contextcheck // it sends for all who wait, not for the first of them
	}
	s.mu.Unlock()
	select {
	case result := <-one.done:
		return result.offset, result.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run sends the waiting batches of a lane until none is left.
func (s *sender) run(leader int32, way *lane) {
	for {
		s.mu.Lock()
		batch := way.take()
		way.busy = len(batch) > 0
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		s.request(leader, batch)
	}
}

// take removes the batches of the next request from the queue: at most one batch per partition.
func (w *lane) take() (taken []*sending) {
	size, seen := 0, map[int]bool{}
	var rest []*sending
	for _, one := range w.waiting {
		if seen[one.partition] || len(taken) > 0 && size+len(one.batch) > requestBytes {
			rest = append(rest, one)
			seen[one.partition] = true // preserves the order
			continue
		}
		seen[one.partition] = true
		size += len(one.batch)
		taken = append(taken, one)
	}
	w.waiting = rest
	return taken
}

// request sends batches in one request and reports the result of each.
func (s *sender) request(leader int32, batches []*sending) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*requestTime)
	defer cancel()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = s.log.cfg.Topic
	for _, one := range batches {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(one.partition), one.batch
		topic.Partitions = append(topic.Partitions, p)
	}
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = -1, int32(requestTime/time.Millisecond)
	request.Topics = []kmsg.ProduceRequestTopic{topic}
	answer, err := s.log.client.Broker(int(leader)).Request(ctx, request)
	answers := map[int]sent{}
	if err == nil {
		for _, t := range answer.(*kmsg.ProduceResponse).Topics {
			for _, p := range t.Partitions {
				answers[int(p.Partition)] = sent{p.BaseOffset, kerr.ErrorForCode(p.ErrorCode)}
			}
		}
	}
	for _, one := range batches {
		result, ok := answers[one.partition]
		switch {
		case err != nil:
			result.err = fmt.Errorf("sending to broker %d: %w", leader, err)
		case !ok:
			result.err = errNoAnswer
		}
		if result.err != nil {
			s.forget()
		}
		one.done <- result
	}
}

// forget makes the next batch look up the leaders first.
func (s *sender) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaders = nil
}

// leadersOf returns the leader of each partition. It asks the cluster if a leader is unknown or was wrong.
func (l *Log) leadersOf(ctx context.Context) ([]int32, error) {
	s := l.sender
	s.mu.Lock()
	known, wait := s.leaders, leadersAge-time.Since(s.looked)
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	pause(ctx, max(wait, 0))
	leaders, err := l.askLeaders(ctx, l.client)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaders, s.looked = leaders, time.Now()
	return leaders, nil
}

// askLeaders asks the cluster for the leaders. A client must do so before it knows the brokers.
func (l *Log) askLeaders(ctx context.Context, client *kgo.Client) ([]int32, error) {
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &l.cfg.Topic
	request.Topics = []kmsg.MetadataRequestTopic{topic}
	answer, err := client.Request(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("looking for leaders: %w", err)
	}
	leaders := make([]int32, l.cfg.Partitions)
	for p := range leaders {
		leaders[p] = -1
	}
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, fmt.Errorf("looking for leaders: %w", err)
		}
		for _, p := range t.Partitions {
			if int(p.Partition) < len(leaders) {
				leaders[p.Partition] = p.Leader
			}
		}
	}
	return leaders, nil
}
