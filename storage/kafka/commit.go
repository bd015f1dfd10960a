package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	kafkago "github.com/segmentio/kafka-go"

	"svc/domain"
)

// MetadataBytes bounds the text of a position: the default limit of a Kafka
// cluster.
const MetadataBytes = 4096

// Commit stores positions of a generation with one request. If it returns nil, the positions are as durable as the log.
// If the generation has ended, Commit returns [ErrFenced] and stores nothing. After any other error some of the
// positions may be stored.
//
// Metadata is UTF-8 text of at most [MetadataBytes] bytes.
func (c *Consumer) Commit(ctx context.Context, generation int32, positions []Position) error {
	if len(positions) == 0 {
		return nil
	}
	c.mu.Lock()
	now := c.current
	c.mu.Unlock()
	if generation < 1 || generation != now.generation {
		return fmt.Errorf("committing generation %d: %w", generation, ErrFenced)
	}
	commits := make([]kafkago.OffsetCommit, len(positions))
	for i, p := range positions {
		if len(p.Metadata) > MetadataBytes || !utf8.ValidString(p.Metadata) {
			return fmt.Errorf("committing partition %d: metadata of %d bytes is too long or not text", p.Partition, len(p.Metadata))
		}
		commits[i] = kafkago.OffsetCommit{Partition: p.Partition, Offset: p.Offset, Metadata: p.Metadata}
	}
	answer, err := c.link.client.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
		GroupID:      c.cfg.Group,
		GenerationID: int(now.generation),
		MemberID:     now.member,
		Topics:       map[string][]kafkago.OffsetCommit{c.cfg.Topic: commits},
	})
	if err != nil {
		return fmt.Errorf("committing generation %d: %w", generation, err)
	}
	return commitResult(answer.Topics[c.cfg.Topic], generation, len(positions))
}

// commitResult combines the results of the partitions into one error.
func commitResult(answers []kafkago.OffsetCommitPartition, generation int32, asked int) error {
	if len(answers) != asked {
		return fmt.Errorf("committing generation %d: %d of %d partitions answered", generation, len(answers), asked)
	}
	var all []error
	for _, p := range answers {
		if fenced(p.Error) {
			return fmt.Errorf("committing generation %d: %w: %w", generation, ErrFenced, p.Error)
		}
		if p.Error != nil {
			all = append(all, fmt.Errorf("committing partition %d: %w", p.Partition, p.Error))
		}
	}
	return errors.Join(all...)
}

// coordinatorPatience limits how long a request waits for the coordinator of the group. When a cluster gets its first
// group, it needs some seconds to create the topic of positions and to read it.
const coordinatorPatience = 30 * time.Second

// Committed returns the stored positions of partitions, in the order of partitions. A partition without a stored
// position gets its earliest offset. While the cluster moves the coordinator of the group, Committed retries for at
// most coordinatorPatience.
func (c *Consumer) Committed(ctx context.Context, partitions []int) (positions []Position, err error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	err = coordinated(ctx, func() error {
		positions, err = c.committed(ctx, partitions)
		return err
	})
	return positions, err
}

// coordinated retries a request until a broker is ready to coordinate the group.
func coordinated(ctx context.Context, request func() error) error {
	wait, cancel := context.WithTimeout(ctx, coordinatorPatience)
	defer cancel()
	for {
		err := request()
		if !coordinatorMoves(err) {
			return err
		}
		if !pause(wait, topicPoll) {
			return fmt.Errorf("%w: %w", domain.Unavailable("The coordinator of the log", coordinatorPatience), err)
		}
	}
}

func (c *Consumer) committed(ctx context.Context, partitions []int) ([]Position, error) {
	answer, err := c.link.client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{
		GroupID: c.cfg.Group,
		Topics:  map[string][]int{c.cfg.Topic: partitions},
	})
	if err == nil {
		err = answer.Error
	}
	if errors.Is(err, kafkago.GroupIdNotFound) { // the group never had a member
		return c.earliest(ctx, partitions)
	}
	if err != nil {
		return nil, fmt.Errorf("reading committed positions: %w", err)
	}
	positions := make([]Position, len(partitions))
	var fresh []int
	for i, p := range partitions {
		at := slices.IndexFunc(answer.Topics[c.cfg.Topic], func(f kafkago.OffsetFetchPartition) bool {
			return f.Partition == p
		})
		if at < 0 {
			return nil, fmt.Errorf("reading committed positions: no answer for partition %d", p)
		}
		found := answer.Topics[c.cfg.Topic][at]
		if found.Error != nil {
			return nil, fmt.Errorf("reading committed position of partition %d: %w", p, found.Error)
		}
		positions[i] = Position{Partition: p, Offset: found.CommittedOffset, Metadata: found.Metadata}
		if found.CommittedOffset < 0 {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return positions, nil
	}
	starts, err := c.link.starts(ctx, c.cfg.Topic, fresh)
	if err != nil {
		return nil, err
	}
	for i := range positions {
		if positions[i].Offset < 0 {
			positions[i].Offset = starts[positions[i].Partition]
		}
	}
	return positions, nil
}

// earliest returns positions at the first record of partitions.
func (c *Consumer) earliest(ctx context.Context, partitions []int) ([]Position, error) {
	starts, err := c.link.starts(ctx, c.cfg.Topic, partitions)
	if err != nil {
		return nil, err
	}
	positions := make([]Position, len(partitions))
	for i, p := range partitions {
		positions[i] = Position{Partition: p, Offset: starts[p]}
	}
	return positions, nil
}

// Lag returns, for every partition of the topic, the number of offsets between its committed position and its end.
func (c *Consumer) Lag(ctx context.Context) (map[int]int64, error) {
	partitions, err := c.allPartitions(ctx)
	if err != nil {
		return nil, err
	}
	positions, err := c.Committed(ctx, partitions)
	if err != nil {
		return nil, err
	}
	ends, err := c.link.ends(ctx, c.cfg.Topic, partitions)
	if err != nil {
		return nil, err
	}
	lag := make(map[int]int64, len(partitions))
	for _, p := range positions {
		lag[p.Partition] = max(0, ends[p.Partition]-p.Offset)
	}
	return lag, nil
}

// allPartitions returns all partitions of the topic, regardless of their owners.
func (c *Consumer) allPartitions(ctx context.Context) ([]int, error) {
	meta, err := c.link.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{c.cfg.Topic}})
	if err != nil {
		return nil, fmt.Errorf("reading partitions: %w", err)
	}
	if len(meta.Topics) != 1 || meta.Topics[0].Error != nil {
		return nil, fmt.Errorf("reading partitions of %s: %w", c.cfg.Topic, kafkago.UnknownTopicOrPartition)
	}
	return allPartitions(len(meta.Topics[0].Partitions)), nil
}

// AwaitCommitted returns nil once all records that are in the log at the time of the call are committed, by any member.
// It calls hurry before each look at the positions: the records may reach the open block after an earlier call of hurry.
// It returns an error if ctx ends first.
func (c *Consumer) AwaitCommitted(ctx context.Context, hurry func()) error {
	partitions, err := c.allPartitions(ctx)
	if err != nil {
		return err
	}
	ends, err := c.link.ends(ctx, c.cfg.Topic, partitions)
	if err != nil {
		return err
	}
	for {
		hurry()
		positions, err := c.Committed(ctx, partitions)
		if err != nil {
			return err
		}
		partitions = partitions[:0]
		for _, p := range positions {
			if p.Offset < ends[p.Partition] {
				partitions = append(partitions, p.Partition)
			}
		}
		if len(partitions) == 0 {
			return nil
		}
		if !pause(ctx, topicPoll) {
			return fmt.Errorf("waiting for %d partitions to be stored: %w", len(partitions), ctx.Err())
		}
	}
}

// Unstored returns, for every partition of this member, its committed position and its end.
func (c *Consumer) Unstored(ctx context.Context) (map[int][2]int64, error) {
	c.mu.Lock()
	owned := slices.Sorted(maps.Keys(c.ends))
	c.mu.Unlock()
	positions, err := c.Committed(ctx, owned)
	if err != nil || len(owned) == 0 {
		return nil, err
	}
	ends, err := c.link.ends(ctx, c.cfg.Topic, owned)
	if err != nil {
		return nil, err
	}
	unstored := make(map[int][2]int64, len(positions))
	for _, p := range positions {
		unstored[p.Partition] = [2]int64{p.Offset, ends[p.Partition]}
	}
	return unstored, nil
}
