package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// starts returns the offset of the first record of each partition.
func (l *link) starts(ctx context.Context, topic string, partitions []int) (map[int]int64, error) {
	return l.offsets(ctx, topic, partitions, kafkago.FirstOffset)
}

// ends returns the offset after the last record of each partition.
func (l *link) ends(ctx context.Context, topic string, partitions []int) (map[int]int64, error) {
	return l.offsets(ctx, topic, partitions, kafkago.LastOffset)
}

// offsets returns the offset of each partition at a position (first or last), with one request per leader.
func (l *link) offsets(ctx context.Context, topic string, partitions []int, at int64) (map[int]int64, error) {
	answer, err := l.transport.RoundTrip(ctx, l.addr, &offsetsRequest{topic, partitions, at})
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	offsets := make(map[int]int64, len(partitions))
	for _, found := range answer.(*listoffsets.Response).Topics {
		for _, p := range found.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("listing offsets of partition %d: %w", p.Partition, kafkago.Error(p.ErrorCode))
			}
			offsets[int(p.Partition)] = p.Offset
		}
	}
	for _, p := range partitions {
		if _, ok := offsets[p]; !ok {
			return nil, fmt.Errorf("listing offsets: no answer for partition %d", p)
		}
	}
	return offsets, nil
}

// offsetsRequest requests the offsets of partitions at one position. The client library's own type becomes one request
// per partition on the wire: a thousand requests for a topic of a thousand partitions. This type becomes one per
// leader.
type offsetsRequest struct {
	topic      string
	partitions []int
	at         int64
}

// ApiKey makes it a message of the client library.
func (r *offsetsRequest) ApiKey() protocol.ApiKey { return protocol.ListOffsets } //nolint:staticcheck // the name of the library

// Split returns the requests that are sent instead of this one, one per leader.
func (r *offsetsRequest) Split(cluster protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	var requests []protocol.Message
	for _, led := range byLeader(cluster, r.topic, r.partitions) {
		asked := make([]listoffsets.RequestPartition, len(led))
		for i, p := range led {
			asked[i] = listoffsets.RequestPartition{Partition: int32(p), CurrentLeaderEpoch: -1, Timestamp: r.at}
		}
		requests = append(requests, &listoffsets.Request{
			ReplicaID: -1, Topics: []listoffsets.RequestTopic{{Topic: r.topic, Partitions: asked}},
		})
	}
	return requests, new(listoffsets.Response), nil
}

// byLeader groups partitions of a topic by the broker that leads them. Partitions without a known leader form one
// group: any broker answers them with the reason.
func byLeader(cluster protocol.Cluster, topic string, partitions []int) [][]int {
	led := make(map[int32][]int)
	for _, p := range partitions {
		leader := int32(nobody)
		if known, ok := cluster.Topics[topic].Partitions[int32(p)]; ok {
			leader = known.Leader
		}
		led[leader] = append(led[leader], p)
	}
	return slices.Collect(maps.Values(led))
}
