package kafka

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
)

// balancerName is the protocol that all members of a group must share.
const balancerName = "svc-sticky"

var errClaim = errors.New("member data is not understood")

// claim is what a member tells the others when it joins: its node, and the
// partitions that it owned in the generation it comes from.
type claim struct {
	node       []byte
	generation int32
	owned      []int
}

// balancer spreads the partitions within one of each other and lets members
// keep what they had.
type balancer struct {
	topic string
	node  []byte

	mu    sync.Mutex
	owned claim
}

func newBalancer(topic string, node []byte) *balancer {
	return &balancer{topic: topic, node: node, owned: claim{node: node}}
}

// own records the partitions that this member has in a generation.
func (b *balancer) own(generation int32, owned []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned = claim{node: b.node, generation: generation, owned: owned}
}

// ProtocolName implements the client library's interface.
func (b *balancer) ProtocolName() string { return balancerName }

// UserData implements the client library's interface.
func (b *balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owned.encode(), nil
}

// AssignGroups implements the client library's interface. The leader of the
// group calls it.
func (b *balancer) AssignGroups(members []kafkago.GroupMember, partitions []kafkago.Partition) kafkago.GroupMemberAssignments {
	var ids []int
	for _, p := range partitions {
		if p.Topic == b.topic {
			ids = append(ids, p.ID)
		}
	}
	claims := make(map[string]claim, len(members))
	for _, m := range members {
		// Without readable data a member owned nothing.
		claims[m.ID], _ = decodeClaim(m.UserData)
	}
	result := make(kafkago.GroupMemberAssignments, len(members))
	for member, share := range assign(claims, ids) {
		result[member] = map[string][]int{b.topic: share}
	}
	return result
}

// share is a member's part of an assignment in the making.
type share struct {
	member string
	kept   []int
	quota  int
}

// assign deals the partitions to the members. The same claims give the same
// result. Of two members that claim one partition, the later generation keeps
// it.
func assign(claims map[string]claim, partitions []int) map[string][]int {
	if len(claims) == 0 {
		return nil
	}
	slices.Sort(partitions)
	shares := claimed(claims, partitions)
	base, extra := len(partitions)/len(shares), len(partitions)%len(shares)
	taken := make(map[int]bool, len(partitions))
	for i := range shares {
		s := &shares[i]
		s.quota = base
		if i < extra {
			s.quota++
		}
		s.kept = s.kept[:min(len(s.kept), s.quota)]
		for _, p := range s.kept {
			taken[p] = true
		}
	}
	result := make(map[string][]int, len(shares))
	free := slices.DeleteFunc(slices.Clone(partitions), func(p int) bool { return taken[p] })
	for _, s := range shares {
		n := s.quota - len(s.kept)
		all := append(s.kept, free[:n]...)
		free = free[n:]
		slices.Sort(all)
		result[s.member] = all
	}
	return result
}

// claimed returns every member with the partitions it may keep, the largest
// share first: it is the one to get the odd partition, which then does not move.
func claimed(claims map[string]claim, partitions []int) []share {
	keeper := make(map[int]string, len(partitions))
	for member, c := range claims {
		for _, p := range c.owned {
			rival, taken := keeper[p]
			if !taken || claims[rival].generation < c.generation ||
				claims[rival].generation == c.generation && member < rival {
				keeper[p] = member
			}
		}
	}
	shares := make([]share, 0, len(claims))
	for member := range claims {
		s := share{member: member}
		for _, p := range partitions {
			if keeper[p] == member {
				s.kept = append(s.kept, p)
			}
		}
		shares = append(shares, s)
	}
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(len(b.kept), len(a.kept)), cmp.Compare(a.member, b.member))
	})
	return shares
}

// claimVersion marks the encoding below.
const claimVersion = 1

// encode returns version, generation, node with its length, and partitions.
func (c claim) encode() []byte {
	b := []byte{claimVersion}
	b = binary.AppendUvarint(b, uint64(c.generation))
	b = binary.AppendUvarint(b, uint64(len(c.node)))
	b = append(b, c.node...)
	for _, p := range c.owned {
		b = binary.AppendUvarint(b, uint64(p))
	}
	return b
}

func decodeClaim(b []byte) (claim, error) {
	if len(b) == 0 || b[0] != claimVersion {
		return claim{}, errClaim
	}
	b = b[1:]
	generation, n := binary.Uvarint(b)
	if n <= 0 {
		return claim{}, errClaim
	}
	b = b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return claim{}, errClaim
	}
	c := claim{generation: int32(generation), node: b[n : n+int(size)]}
	for b = b[n+int(size):]; len(b) > 0; b = b[n:] {
		p, m := binary.Uvarint(b)
		if m <= 0 {
			return claim{}, errClaim
		}
		c.owned, n = append(c.owned, int(p)), m
	}
	return c, nil
}
