package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// stable is the state of a group whose members all know their share.
const stable = "Stable"

// Owner is the member that a partition belongs to.
type Owner struct {
	Member   string
	UserData []byte
}

// Owners returns the owner of every partition, as the group's coordinator sees
// it. It returns [ErrRebalancing] while the group has no stable assignment. A
// partition is missing when no member owns it.
func (c *Consumer) Owners(ctx context.Context) (map[int]Owner, error) {
	group, err := c.describe(ctx)
	if err != nil {
		return nil, err
	}
	if group.GroupState != stable {
		return nil, fmt.Errorf("describing group in state %s: %w", group.GroupState, ErrRebalancing)
	}
	owners := make(map[int]Owner)
	for _, m := range group.Members {
		data, err := decodeClaim(m.MemberMetadata.UserData)
		if err != nil || !data.native(c.cfg.Secret, c.cfg.Group) {
			continue // nothing of a foreign member is believed
		}
		for _, topic := range m.MemberAssignments.Topics {
			if topic.Topic != c.cfg.Topic {
				continue
			}
			for _, p := range topic.Partitions {
				owners[p] = Owner{Member: m.MemberID, UserData: data.node}
			}
		}
	}
	return owners, nil
}

// describe returns the group as its coordinator sees it.
func (c *Consumer) describe(ctx context.Context) (group kafkago.DescribeGroupsResponseGroup, err error) {
	err = coordinated(ctx, func() error {
		group, err = c.describeNow(ctx)
		return err
	})
	return group, err
}

func (c *Consumer) describeNow(ctx context.Context) (kafkago.DescribeGroupsResponseGroup, error) {
	var none kafkago.DescribeGroupsResponseGroup
	answer, err := c.link.client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{c.cfg.Group}})
	if err != nil {
		return none, fmt.Errorf("describing group: %w", err)
	}
	if len(answer.Groups) != 1 {
		return none, fmt.Errorf("describing group: %d answers", len(answer.Groups))
	}
	if err := answer.Groups[0].Error; err != nil {
		return none, fmt.Errorf("describing group: %w", err)
	}
	return answer.Groups[0], nil
}

// evict removes members with this node's user data from the group. A killed process
// left them, and the group would wait for them until their session ends. The group
// shows them only until somebody joins, so evict comes before joining.
func (c *Consumer) evict(ctx context.Context) error {
	if len(c.cfg.UserData) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, coordinatorTime)
	defer cancel()
	group, err := c.describe(ctx)
	if err != nil {
		return err
	}
	var all []error
	for _, m := range group.Members {
		data, err := decodeClaim(m.MemberMetadata.UserData)
		if err != nil || !data.native(c.cfg.Secret, c.cfg.Group) || !bytes.Equal(data.node, c.cfg.UserData) {
			continue
		}
		_, err = c.link.client.LeaveGroup(ctx, &kafkago.LeaveGroupRequest{
			GroupID: c.cfg.Group,
			Members: []kafkago.LeaveGroupRequestMember{{ID: m.MemberID}},
		})
		all = append(all, err)
	}
	return errors.Join(all...)
}

// awaitNatives returns true once the group has no member that this one cannot work with: one
// whose user data does not prove the same secret, or any other member if one of the two cannot
// be called. Until then this node does not join, since it would take partitions from
// a cluster that cannot call it. It returns false when ctx ends first.
func (c *Consumer) awaitNatives(ctx context.Context) bool {
	for {
		err := c.lookForForeign(ctx)
		c.mu.Lock()
		first := err != nil && c.foreign == nil
		c.foreign = err
		c.mu.Unlock()
		if err == nil {
			return true
		}
		if first {
			c.cfg.Logger.Error("this node does not join the group", "error", err)
		}
		if !pause(ctx, foreignPause) {
			return false
		}
	}
}

// foreignPause is the pause between two looks at the members of the group.
const foreignPause = time.Second

// lookForForeign returns an error that names a member that this one cannot work with, or
// nil. A group that cannot be described now counts as empty: its leader assigns nothing
// to a member that it cannot work with.
func (c *Consumer) lookForForeign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, coordinatorTime)
	defer cancel()
	group, err := c.describe(ctx)
	if err != nil {
		return nil
	}
	for _, m := range group.Members {
		if len(m.MemberMetadata.UserData) == 0 {
			continue // it is joining right now
		}
		data, err := decodeClaim(m.MemberMetadata.UserData)
		if err != nil || !data.native(c.cfg.Secret, c.cfg.Group) {
			return fmt.Errorf("%w: member %s at %s", ErrForeign, m.MemberID, m.ClientHost)
		}
		if !bytes.Equal(data.node, c.cfg.UserData) && (lone(data.node) || lone(c.cfg.UserData)) {
			return fmt.Errorf("%w: the other is %s at %s", ErrAlone, data.node, m.ClientHost)
		}
	}
	return nil
}

// Foreign returns [ErrForeign] or [ErrAlone] while this node stays out of the group, or
// gets nothing of it, because the cluster secrets differ or one of the nodes cannot be called.
func (c *Consumer) Foreign() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.foreign
}
