package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// Range is the range of offsets of a partition's records.
type Range struct{ Start, End int64 }

// Ranges returns the offsets of the first record and after the last one of every partition.
func (t *Topic) Ranges(ctx context.Context) (map[int]Range, error) {
	all := allPartitions(t.cfg.Partitions)
	starts, err := t.link.starts(ctx, t.cfg.Topic, all)
	if err != nil {
		return nil, err
	}
	ends, err := t.link.ends(ctx, t.cfg.Topic, all)
	if err != nil {
		return nil, err
	}
	ranges := make(map[int]Range, len(ends))
	for partition, end := range ends {
		ranges[partition] = Range{starts[partition], end}
	}
	return ranges, nil
}

// Reset sets the positions of a group without members. No other client may write them meanwhile.
func (t *Topic) Reset(ctx context.Context, group string, positions []Position) error {
	commits := make([]kafkago.OffsetCommit, 0, len(positions))
	for _, p := range positions {
		commits = append(commits, kafkago.OffsetCommit{Partition: p.Partition, Offset: p.Offset, Metadata: p.Metadata})
	}
	return coordinated(ctx, func() error { return t.reset(ctx, group, commits) })
}

func (t *Topic) reset(ctx context.Context, group string, commits []kafkago.OffsetCommit) error {
	answer, err := t.link.client.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
		GroupID: group, GenerationID: -1, Topics: map[string][]kafkago.OffsetCommit{t.cfg.Topic: commits},
	})
	if err != nil {
		return fmt.Errorf("setting positions: %w", err)
	}
	var all []error
	for _, p := range answer.Topics[t.cfg.Topic] {
		if p.Error != nil {
			all = append(all, fmt.Errorf("setting the position of partition %d: %w", p.Partition, p.Error))
		}
	}
	return errors.Join(all...)
}

// ClusterID returns the id of the cluster, which never changes.
func (t *Topic) ClusterID(ctx context.Context) (string, error) {
	answer, err := t.link.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{t.cfg.Topic}})
	if err != nil {
		return "", fmt.Errorf("asking the log who it is: %w", err)
	}
	return answer.ClusterID, nil
}
