package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Special timestamps that stand for positions in a partition.
const (
	latest   = -1
	earliest = -2
)

// Ends returns the offset after the last record of each partition.
func (l *Log) Ends(ctx context.Context) ([]int64, error) {
	return l.offsets(ctx, l.partitions(), latest)
}

// Starts returns the offset of the first record that each partition still has.
func (l *Log) Starts(ctx context.Context) ([]int64, error) {
	return l.offsets(ctx, l.partitions(), earliest)
}

// partitions returns all partitions.
func (l *Log) partitions() []int {
	all := make([]int, l.cfg.Partitions)
	for p := range all {
		all[p] = p
	}
	return all
}

// offset returns the offset at a position of one partition.
func (l *Log) offset(ctx context.Context, partition int, place int64) (int64, error) {
	offsets, err := l.offsets(ctx, []int{partition}, place)
	if err != nil {
		return 0, err
	}
	return offsets[0], nil
}

// offsets returns the offsets at a position of partitions, in the order of partitions, with one request per leader.
func (l *Log) offsets(ctx context.Context, partitions []int, place int64) ([]int64, error) {
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = l.cfg.Topic
	for _, partition := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(partition), place
		topic.Partitions = append(topic.Partitions, p)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.Topics = -1, []kmsg.ListOffsetsRequestTopic{topic}
	answer, err := l.client.Request(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	found := map[int]int64{}
	for _, t := range answer.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("listing offsets of partition %d: %w", p.Partition, err)
			}
			found[int(p.Partition)] = p.Offset
		}
	}
	offsets := make([]int64, len(partitions))
	for n, partition := range partitions {
		offset, ok := found[partition]
		if !ok {
			return nil, fmt.Errorf("listing offsets of partition %d: %w", partition, errNoAnswer)
		}
		offsets[n] = offset
	}
	return offsets, nil
}

// Sizes returns the size of each partition on disk in bytes, from its largest replica. An owner compares it with the
// size of the live records to decide when to begin a checkpoint.
func (l *Log) Sizes(ctx context.Context) ([]int64, error) {
	topic := kmsg.NewDescribeLogDirsRequestTopic()
	topic.Topic = l.cfg.Topic
	for _, p := range l.partitions() {
		topic.Partitions = append(topic.Partitions, int32(p))
	}
	request := kmsg.NewPtrDescribeLogDirsRequest()
	request.Topics = []kmsg.DescribeLogDirsRequestTopic{topic}
	answer, err := l.client.Request(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("measuring the log of state: %w", err)
	}
	sizes := make([]int64, l.cfg.Partitions)
	for _, dir := range answer.(*kmsg.DescribeLogDirsResponse).Dirs {
		if err := kerr.ErrorForCode(dir.ErrorCode); err != nil {
			return nil, fmt.Errorf("measuring the log of state: %w", err)
		}
		for _, t := range dir.Topics {
			for _, p := range t.Partitions {
				if t.Topic == l.cfg.Topic && int(p.Partition) < len(sizes) {
					sizes[p.Partition] = max(sizes[p.Partition], p.Size)
				}
			}
		}
	}
	return sizes, nil
}

// Trim deletes the records of a partition before an offset, as far as whole files of the log allow. The caller may trim
// only records that were saved again after the barrier of a checkpoint, and only before that barrier: see
// [Owner.Checkpoint]. The newest record always stays, since the embedded broker derives the next offset from it after a
// restart.
func (l *Log) Trim(ctx context.Context, partition int, before int64) error {
	start, err := l.offset(ctx, partition, earliest)
	if err != nil {
		return err
	}
	end, err := l.offset(ctx, partition, latest)
	if err != nil {
		return err
	}
	if before = min(before, end-1); before <= start {
		return nil
	}
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = int32(partition), before
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic, topic.Partitions = l.cfg.Topic, []kmsg.DeleteRecordsRequestTopicPartition{p}
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.Topics, request.TimeoutMillis = []kmsg.DeleteRecordsRequestTopic{topic}, int32(requestTime.Milliseconds())
	answer, err := l.client.Request(ctx, request)
	if err != nil {
		return fmt.Errorf("trimming partition %d: %w", partition, err)
	}
	for _, t := range answer.(*kmsg.DeleteRecordsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("trimming partition %d: %w", partition, err)
			}
		}
	}
	return nil
}

// isGap reports whether the log lacks the requested offset.
func isGap(err error) bool { return errors.Is(err, kerr.OffsetOutOfRange) }

// final reports whether a retry cannot help.
func final(err error) bool { return errors.Is(err, ErrGap) || errors.Is(err, errCorrupt) }
