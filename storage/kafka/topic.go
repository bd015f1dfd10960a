package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const (
	// segmentBytes is the size at which the broker starts a new log file. Only whole files are deleted, so it limits
	// the disk space that consumed records of a partition occupy.
	segmentBytes = 16 << 20

	// topicPoll is the pause between two checks of a topic that is being created.
	topicPoll = 50 * time.Millisecond
)

// TopicConfig describes a topic.
type TopicConfig struct {
	Brokers    []string
	Topic      string
	Partitions int

	// Step allows an existing topic with fewer partitions to grow if its partition count is a multiple of Step. Zero
	// allows no topic to grow.
	Step int

	// Replicas is the number of copies that a cluster stores. The default is the cluster's own setting.
	Replicas int

	// Keep limits the age of records. Zero retains records until they are trimmed.
	Keep time.Duration

	// Roll is the age at which a cluster starts a new log file, when the next record arrives. It applies to a topic
	// that is created. Zero leaves the age to the cluster. The embedded broker knows sizes only, see broker.Forget.
	Roll time.Duration

	// CompactLag makes the cluster retain only the newest record of each key among the records older than CompactLag.
	// It applies only when the topic is created.
	CompactLag time.Duration

	// LargestBatch is the maximum batch size that the topic accepts, in bytes. The default is the cluster's own
	// setting.
	LargestBatch int

	// Dial opens connections. If it is nil, connections go over the network.
	Dial DialFunc
}

// Topic administers one topic.
type Topic struct {
	cfg  TopicConfig
	link *link
}

// NewTopic returns a Topic for cfg.Topic. It connects on first use.
func NewTopic(cfg TopicConfig) (*Topic, error) {
	if len(cfg.Brokers) == 0 || cfg.Topic == "" || cfg.Partitions < 1 {
		return nil, errors.New("topic needs brokers, a name and partitions")
	}
	return &Topic{cfg: cfg, link: newLinkOver(cfg.Dial, cfg.Brokers, cfg.Topic)}, nil
}

// Close releases the connections.
func (t *Topic) Close() {
	t.link.close()
}

// Ensure returns once the topic exists with the configured retention: no size limit, and a time limit only if Keep is
// set, since [Topic.Trim] deletes the rest. It creates a missing topic and changes the retention of an existing one. If
// the topic has another partition count and may not grow to the configured one, it returns [ErrPartitions]. While no
// broker answers it retries until ctx ends.
func (t *Topic) Ensure(ctx context.Context) error {
	for {
		found, err := t.partitions(ctx)
		switch {
		case err == nil && found == t.cfg.Partitions:
			if err = t.retain(ctx); err == nil {
				return nil
			}
		case err == nil && found > 0 && found < t.cfg.Partitions && t.cfg.Step > 0 && found%t.cfg.Step == 0:
			err = t.grow(ctx)
		case err == nil && found > 0:
			return fmt.Errorf("%w: %s has %d, wanted %d", ErrPartitions, t.cfg.Topic, found, t.cfg.Partitions)
		case err == nil:
			err = t.create(ctx)
		}
		if permanent(err) {
			return fmt.Errorf("ensuring topic %s: %w", t.cfg.Topic, err)
		}
		if !pause(ctx, topicPoll) {
			return fmt.Errorf("ensuring topic %s: %w", t.cfg.Topic, cmp.Or(err, ctx.Err()))
		}
	}
}

// partitions returns the topic's partition count, or 0 if the topic does not exist. It asks the cluster and bypasses
// caches.
func (t *Topic) partitions(ctx context.Context) (int, error) {
	link := newLinkOver(t.cfg.Dial, t.cfg.Brokers, t.cfg.Topic)
	defer link.close()
	meta, err := link.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{t.cfg.Topic}})
	if err != nil {
		return 0, fmt.Errorf("reading topic metadata: %w", err)
	}
	for _, topic := range meta.Topics {
		switch {
		case topic.Name != t.cfg.Topic || errors.Is(topic.Error, kafkago.UnknownTopicOrPartition):
		case topic.Error != nil:
			return 0, fmt.Errorf("reading topic metadata: %w", topic.Error)
		default:
			return len(topic.Partitions), nil
		}
	}
	return 0, nil
}

func (t *Topic) create(ctx context.Context) error {
	link := newLinkOver(t.cfg.Dial, t.cfg.Brokers, t.cfg.Topic)
	defer link.close()
	answer, err := link.client.CreateTopics(ctx, &kafkago.CreateTopicsRequest{
		Topics: []kafkago.TopicConfig{{
			Topic:             t.cfg.Topic,
			NumPartitions:     t.cfg.Partitions,
			ReplicationFactor: cmp.Or(t.cfg.Replicas, -1),
			ConfigEntries:     append(t.settings(), t.cleanup()...),
		}},
	})
	if err == nil {
		err = answer.Errors[t.cfg.Topic]
	}
	if err != nil && !errors.Is(err, kafkago.TopicAlreadyExists) {
		return fmt.Errorf("creating topic: %w", err)
	}
	return nil
}

// grow adds the partitions that an existing topic lacks.
func (t *Topic) grow(ctx context.Context) error {
	answer, err := t.link.client.CreatePartitions(ctx, &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: t.cfg.Topic, Count: int32(t.cfg.Partitions)}},
	})
	if err == nil {
		err = answer.Errors[t.cfg.Topic]
	}
	if err != nil && !errors.Is(err, kafkago.InvalidPartitionNumber) { // another node added them first
		return fmt.Errorf("adding partitions: %w", err)
	}
	return nil
}

// cleanup returns the settings that apply only when a topic is created.
func (t *Topic) cleanup() []kafkago.ConfigEntry {
	entries := []kafkago.ConfigEntry{{ConfigName: "segment.bytes", ConfigValue: strconv.Itoa(segmentBytes)}}
	if t.cfg.Roll > 0 {
		entries = append(entries, kafkago.ConfigEntry{ConfigName: "segment.ms", ConfigValue: strconv.FormatInt(t.cfg.Roll.Milliseconds(), 10)})
	}
	if t.cfg.CompactLag > 0 {
		entries = append(entries,
			// With "delete" as well, records can still be trimmed.
			kafkago.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact,delete"},
			kafkago.ConfigEntry{ConfigName: "min.compaction.lag.ms", ConfigValue: strconv.FormatInt(t.cfg.CompactLag.Milliseconds(), 10)},
		)
	}
	return entries
}

// CreationSettings returns the settings that apply only when a topic is created. The repair of an embedded log that
// lost its topic list needs them.
func CreationSettings() map[string]string {
	settings := map[string]string{}
	for _, entry := range new(Topic).cleanup() {
		settings[entry.ConfigName] = entry.ConfigValue
	}
	return settings
}

// settings returns the settings that every start applies: the retention limits and the maximum batch size.
func (t *Topic) settings() []kafkago.ConfigEntry {
	keep := "-1"
	if t.cfg.Keep > 0 {
		keep = strconv.FormatInt(t.cfg.Keep.Milliseconds(), 10)
	}
	entries := []kafkago.ConfigEntry{
		{ConfigName: "retention.ms", ConfigValue: keep},
		{ConfigName: "retention.bytes", ConfigValue: "-1"},
	}
	if t.cfg.CompactLag == 0 {
		entries = append(entries, kafkago.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "delete"})
	}
	if t.cfg.LargestBatch > 0 {
		entries = append(entries, kafkago.ConfigEntry{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(t.cfg.LargestBatch)})
	}
	return entries
}

// retain applies the settings to the existing topic.
func (t *Topic) retain(ctx context.Context) error {
	resource := kafkago.IncrementalAlterConfigsRequestResource{
		ResourceType: kafkago.ResourceTypeTopic,
		ResourceName: t.cfg.Topic,
	}
	for _, entry := range t.settings() {
		resource.Configs = append(resource.Configs, kafkago.IncrementalAlterConfigsRequestConfig{
			Name:            entry.ConfigName,
			Value:           entry.ConfigValue,
			ConfigOperation: kafkago.ConfigOperationSet,
		})
	}
	answer, err := t.link.client.IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{
		Resources: []kafkago.IncrementalAlterConfigsRequestResource{resource},
	})
	if err != nil {
		return fmt.Errorf("setting up the topic: %w", err)
	}
	for _, r := range answer.Resources {
		if r.Error != nil {
			return fmt.Errorf("setting up the topic: %w", r.Error)
		}
	}
	return nil
}

// Ends returns the offset after the last record of every partition.
func (t *Topic) Ends(ctx context.Context) (map[int]int64, error) {
	return t.link.ends(ctx, t.cfg.Topic, allPartitions(t.cfg.Partitions))
}

// End returns the offset after the last record of a partition.
func (t *Topic) End(ctx context.Context, partition int) (int64, error) {
	ends, err := t.link.ends(ctx, t.cfg.Topic, []int{partition})
	return ends[partition], err
}

func allPartitions(n int) []int {
	all := make([]int, n)
	for p := range all {
		all[p] = p
	}
	return all
}

// pause waits for d, or until ctx ends. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
