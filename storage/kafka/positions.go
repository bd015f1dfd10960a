package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// keptSetting is the broker setting for the retention of the positions of a group without members, in minutes.
const keptSetting = "offsets.retention.minutes"

var errNoSetting = errors.New("the broker does not name its setting " + keptSetting)

// PositionsKept returns how long the cluster retains the positions of a group without members. A service that was off
// for longer reads all records that the log still has again.
func (t *Topic) PositionsKept(ctx context.Context) (time.Duration, error) {
	meta, err := t.link.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{t.cfg.Topic}})
	if err != nil {
		return 0, fmt.Errorf("listing the brokers: %w", err)
	}
	if len(meta.Brokers) == 0 {
		return 0, errNoSetting
	}
	answer, err := t.link.client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{Resources: []kafkago.DescribeConfigRequestResource{{
		ResourceType: kafkago.ResourceTypeBroker, ResourceName: strconv.Itoa(meta.Brokers[0].ID), ConfigNames: []string{keptSetting},
	}}})
	if err != nil {
		return 0, fmt.Errorf("asking a broker for its settings: %w", err)
	}
	for _, resource := range answer.Resources {
		if resource.Error != nil {
			return 0, fmt.Errorf("asking a broker for its settings: %w", resource.Error)
		}
		for _, entry := range resource.ConfigEntries {
			if minutes, err := strconv.Atoi(entry.ConfigValue); err == nil && entry.ConfigName == keptSetting {
				return time.Duration(minutes) * time.Minute, nil
			}
		}
	}
	return 0, errNoSetting
}
