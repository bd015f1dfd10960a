package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// stable is the state of a group in which every member knows its share.
const stable = "Stable"

// Owner is the member that a partition belongs to.
type Owner struct {
	Member   string
	UserData []byte
}

// Owners returns the owner of every partition, from the group's coordinator. It returns [ErrRebalancing] while the
// group has no stable assignment. The result lacks partitions that no member owns.
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
			continue // data of a foreign member is not trusted
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

// describe returns the state of the group from its coordinator.
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

// evict removes members with this node's user data from the group. A killed process left them, and the group would wait
// for them until their session ends. The coordinator lists them only until another member joins, so evict must run
// before this member joins.
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

// awaitNatives returns true once this member can work with all members of the group. It cannot work with a member that
// does not prove the same secret. If one of the two cannot be called, it cannot work with any other member. Until then
// this node does not join, since it would take partitions from a cluster that cannot call it. It returns false if ctx
// ends first.
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

// foreignPause is the pause between two checks of the group's members.
const foreignPause = time.Second

// lookForForeign returns an error that names a member that this one cannot work with, or nil. A group that cannot be
// described at the moment counts as empty: its leader assigns nothing to a member that it cannot work with.
func (c *Consumer) lookForForeign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, coordinatorTime)
	defer cancel()
	group, err := c.describe(ctx)
	if err != nil {
		return nil
	}
	for _, m := range group.Members {
		if len(m.MemberMetadata.UserData) == 0 {
			continue // this member is joining at the moment
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

// Foreign returns [ErrForeign] or [ErrAlone] while this node stays out of the group, or gets no partition of it. The
// reason is another cluster secret, or a node that cannot be called.
func (c *Consumer) Foreign() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.foreign
}
