package kafka

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
)

// balancerName is the name of the protocol. All members of a group must use the same protocol.
const balancerName = "svc-sticky"

var errClaim = errors.New("member data is not understood")

// claim is the user data that a member sends when it joins: its node with a proof of the cluster's secret, and the
// partitions that it owned in its last generation.
type claim struct {
	node       []byte
	proof      [proofBytes]byte
	generation int32
	owned      []int
}

// balancer gives all members the same number of partitions, plus or minus one, and leaves partitions with their owners
// as far as possible.
type balancer struct {
	topic string
	claim claim
	// places is the number of partitions that are dealt out. Partition p above it goes to the owner of partition p %
	// places.
	places int

	// native reports whether a member belongs to this cluster.
	native func(claim) bool

	mu    sync.Mutex
	owned claim
}

func newBalancer(cfg ConsumerConfig) *balancer {
	own := claim{node: cfg.UserData, proof: prove(cfg.Secret, cfg.Group, cfg.UserData)}
	return &balancer{topic: cfg.Topic, places: cfg.Places, claim: own, owned: own, native: func(c claim) bool { return c.native(cfg.Secret, cfg.Group) }}
}

// own records the partitions that this member has in a generation.
func (b *balancer) own(generation int32, owned []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned = b.claim
	b.owned.generation, b.owned.owned = generation, owned
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
	var ids, followers []int
	for _, p := range partitions {
		switch {
		case p.Topic != b.topic:
		case b.places > 0 && p.ID >= b.places:
			followers = append(followers, p.ID)
		default:
			ids = append(ids, p.ID)
		}
	}
	claims := make(map[string]claim, len(members))
	result := make(kafkago.GroupMemberAssignments, len(members))
	for _, m := range members {
		// A member without readable data, or with another secret, gets nothing.
		if c, err := decodeClaim(m.UserData); err == nil && b.native(c) {
			claims[m.ID] = c
		} else {
			result[m.ID] = map[string][]int{b.topic: {}}
		}
	}
	for member := range claims {
		result[member] = map[string][]int{b.topic: {}}
	}
	for member, share := range assign(callable(claims), ids) {
		for _, follower := range followers {
			if slices.Contains(share, follower%b.places) {
				share = append(share, follower)
			}
		}
		slices.Sort(share)
		result[member] = map[string][]int{b.topic: share}
	}
	return result
}

// lonePrefix begins the user data of a node that other nodes cannot call. No address begins with it. The folder names
// that earlier versions used for such a node do begin with it.
const lonePrefix = "/"

// LoneNode returns the user data of a node that other nodes cannot call. The name must be unique. Such a node is the
// only member of its group, or gets no partition.
func LoneNode(name string) string { return lonePrefix + strings.TrimPrefix(name, lonePrefix) }

func lone(node []byte) bool { return bytes.HasPrefix(node, []byte(lonePrefix)) }

// callable returns the members that may share the partitions. If one of several members cannot be called, the member
// that had partitions in the latest generation stays. If that member is callable, the other callable members stay too;
// otherwise it stays alone.
func callable(claims map[string]claim) map[string]claim {
	first, loners := "", 0
	for member, c := range claims {
		if lone(c.node) {
			loners++
		}
		best := claims[first]
		if first == "" || cmp.Or(-cmp.Compare(min(len(c.owned), 1), min(len(best.owned), 1)), -cmp.Compare(c.generation, best.generation), cmp.Compare(member, first)) < 0 {
			first = member
		}
	}
	if loners == 0 || len(claims) == 1 {
		return claims
	}
	left := map[string]claim{}
	for member, c := range claims {
		if member == first || !lone(claims[first].node) && !lone(c.node) {
			left[member] = c
		}
	}
	return left
}

// share is a member's part of an assignment that is being computed.
type share struct {
	member string
	kept   []int
	quota  int
}

// assign deals the partitions to the members. Equal claims give equal results. If two members claim one partition, the
// one with the later generation retains it.
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

// claimed returns every member with the partitions that it may retain, sorted by the number of partitions, largest
// first. The first members get the odd partitions, which therefore do not move.
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

// claimVersion is the version of the encoding below.
const claimVersion = 2

// proofBytes is the length of a proof.
const proofBytes = sha256.Size

// prove returns a proof that the member of a group knows the cluster's secret. The proof does not reveal the secret.
func prove(secret, group string, node []byte) (proof [proofBytes]byte) {
	key := sha256.Sum256([]byte("svc group member\x00" + secret))
	mac := hmac.New(sha256.New, key[:])
	_ = binary.Write(mac, binary.BigEndian, uint64(len(group))) // writing to a hash never fails
	mac.Write([]byte(group))
	mac.Write(node)
	mac.Sum(proof[:0])
	return proof
}

// native reports whether a claim was made with the same secret.
func (c claim) native(secret, group string) bool {
	want := prove(secret, group, c.node)
	return hmac.Equal(want[:], c.proof[:])
}

// encode returns version, generation, proof, node with its length, and
// partitions.
func (c claim) encode() []byte {
	b := []byte{claimVersion}
	b = binary.AppendUvarint(b, uint64(c.generation))
	b = append(b, c.proof[:]...)
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
	if len(b) < proofBytes {
		return claim{}, errClaim
	}
	proof := [proofBytes]byte(b)
	b = b[proofBytes:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return claim{}, errClaim
	}
	c := claim{generation: int32(generation), proof: proof, node: b[n : n+int(size)]}
	for b = b[n+int(size):]; len(b) > 0; b = b[n:] {
		p, m := binary.Uvarint(b)
		if m <= 0 {
			return claim{}, errClaim
		}
		c.owned, n = append(c.owned, int(p)), m
	}
	return c, nil
}
