package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// trimTime limits a request to delete records, in the client and in the broker.
const trimTime = 10 * time.Second

// Trim deletes the records of partitions below the offsets in before, as far as whole log files allow. The newest
// record of a partition always stays: the embedded broker derives the next offset from it after a restart. After an
// error some of the partitions may be trimmed.
func (t *Topic) Trim(ctx context.Context, before map[int]int64) error {
	ctx, cancel := context.WithTimeout(ctx, trimTime)
	defer cancel()
	partitions := slices.Sorted(maps.Keys(before))
	starts, err := t.link.starts(ctx, t.cfg.Topic, partitions)
	if err != nil {
		return err
	}
	ends, err := t.link.ends(ctx, t.cfg.Topic, partitions)
	if err != nil {
		return err
	}
	request := &deleteRecordsRequest{TimeoutMs: int32(trimTime / time.Millisecond)}
	var trimmed []deleteRecordsPartition
	for _, p := range partitions {
		if offset := min(before[p], ends[p]-1); offset > starts[p] {
			trimmed = append(trimmed, deleteRecordsPartition{Partition: int32(p), Offset: offset})
		}
	}
	if len(trimmed) == 0 {
		return nil
	}
	request.Topics = []deleteRecordsTopic{{Topic: t.cfg.Topic, Partitions: trimmed}}
	answer, err := t.link.transport.RoundTrip(ctx, t.link.addr, request)
	if err != nil {
		return fmt.Errorf("deleting records: %w", err)
	}
	return answer.(*deleteRecordsResponse).failures()
}

// The client library lacks the request to delete records. These types describe it in the library's terms, so that the
// library's connections can send it.
type (
	deleteRecordsRequest struct {
		Topics    []deleteRecordsTopic `kafka:"min=v0,max=v1"`
		TimeoutMs int32                `kafka:"min=v0,max=v1"`
	}

	deleteRecordsTopic struct {
		Topic      string                   `kafka:"min=v0,max=v1"`
		Partitions []deleteRecordsPartition `kafka:"min=v0,max=v1"`
	}

	deleteRecordsPartition struct {
		Partition int32 `kafka:"min=v0,max=v1"`
		Offset    int64 `kafka:"min=v0,max=v1"`
	}

	deleteRecordsResponse struct {
		ThrottleTimeMs int32                 `kafka:"min=v0,max=v1"`
		Topics         []deletedRecordsTopic `kafka:"min=v0,max=v1"`
	}

	deletedRecordsTopic struct {
		Topic      string                    `kafka:"min=v0,max=v1"`
		Partitions []deletedRecordsPartition `kafka:"min=v0,max=v1"`
	}

	deletedRecordsPartition struct {
		Partition    int32 `kafka:"min=v0,max=v1"`
		LowWatermark int64 `kafka:"min=v0,max=v1"`
		ErrorCode    int16 `kafka:"min=v0,max=v1"`
	}
)

func init() { //nolint:gochecknoinits // the library keeps the messages it knows in a registry, which its own packages fill like this
	protocol.Register(&deleteRecordsRequest{}, &deleteRecordsResponse{})
}

// ApiKey makes it a message of the client library.
func (r *deleteRecordsRequest) ApiKey() protocol.ApiKey { return protocol.DeleteRecords } //nolint:staticcheck // the name of the library

// Broker returns the leader of the partitions. After Split all of them have the same leader.
func (r *deleteRecordsRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	first := r.Topics[0]
	leader := cluster.Topics[first.Topic].Partitions[first.Partitions[0].Partition].Leader
	if broker, ok := cluster.Brokers[leader]; ok {
		return broker, nil
	}
	return protocol.Broker{}, kafkago.LeaderNotAvailable
}

// Split returns one request for each leader.
func (r *deleteRecordsRequest) Split(cluster protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	topic, offsets := r.Topics[0].Topic, make(map[int]int64)
	for _, p := range r.Topics[0].Partitions {
		offsets[int(p.Partition)] = p.Offset
	}
	var requests []protocol.Message
	for _, led := range byLeader(cluster, topic, slices.Sorted(maps.Keys(offsets))) {
		asked := make([]deleteRecordsPartition, len(led))
		for i, p := range led {
			asked[i] = deleteRecordsPartition{Partition: int32(p), Offset: offsets[p]}
		}
		requests = append(requests, &deleteRecordsRequest{
			Topics: []deleteRecordsTopic{{Topic: topic, Partitions: asked}}, TimeoutMs: r.TimeoutMs,
		})
	}
	return requests, new(deleteRecordsResponse), nil
}

// ApiKey makes it a message of the client library.
func (r *deleteRecordsResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords } //nolint:staticcheck // the name of the library

// Merge joins the answers of the leaders. It fails if the answer of one leader is missing.
func (r *deleteRecordsResponse) Merge(_ []protocol.Message, answers []any) (protocol.Message, error) {
	var failed []error
	for _, answer := range answers {
		found, err := protocol.Result(answer)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		r.Topics = append(r.Topics, found.(*deleteRecordsResponse).Topics...)
	}
	return r, errors.Join(failed...)
}

// failures returns the errors of the partitions that were not trimmed.
func (r *deleteRecordsResponse) failures() error {
	var failed []error
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 {
				failed = append(failed, fmt.Errorf("deleting records of partition %d: %w", p.Partition, kafkago.Error(p.ErrorCode)))
			}
		}
	}
	return errors.Join(failed...)
}
