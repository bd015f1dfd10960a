package kafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
)

func TestAssign(t *testing.T) {
	cases := map[string]struct {
		claims     map[string]claim
		partitions int
		want       map[string][]int
	}{
		"nobody":                  {nil, 4, nil},
		"one":                     {map[string]claim{"a": {}}, 3, map[string][]int{"a": {0, 1, 2}}},
		"more members":            {map[string]claim{"a": {}, "b": {}, "c": {}}, 2, map[string][]int{"a": {0}, "b": {1}, "c": {}}},
		"join moves half":         {map[string]claim{"a": {owned: []int{0, 1, 2, 3}}, "b": {}}, 4, map[string][]int{"a": {0, 1}, "b": {2, 3}}},
		"odd one stays":           {map[string]claim{"a": {owned: []int{0, 1}}, "b": {owned: []int{2, 3, 4}}}, 5, map[string][]int{"a": {0, 1}, "b": {2, 3, 4}}},
		"leave keeps the rest":    {map[string]claim{"a": {owned: []int{1}}, "c": {owned: []int{3}}}, 4, map[string][]int{"a": {0, 1}, "c": {2, 3}}},
		"later generation wins":   {map[string]claim{"a": {generation: 3, owned: []int{1}}, "b": {generation: 4, owned: []int{1}}}, 2, map[string][]int{"a": {0}, "b": {1}}},
		"unknown partitions":      {map[string]claim{"a": {owned: []int{9}}}, 1, map[string][]int{"a": {0}}},
		"partition claimed twice": {map[string]claim{"a": {owned: []int{0, 0, 1}}, "b": {}}, 2, map[string][]int{"a": {0}, "b": {1}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := assign(c.claims, allPartitions(c.partitions))
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestANodeThatCannotBeCalledSharesNothing lets members join at the same moment, before either can see the other.
func TestANodeThatCannotBeCalledSharesNothing(t *testing.T) {
	alone, other := []byte(LoneNode("/data#1")), []byte(LoneNode("/data#2"))
	for name, c := range map[string]struct {
		claims map[string]claim
		want   []string
	}{
		"one alone":                {map[string]claim{"a": {node: alone}}, []string{"a"}},
		"a cluster":                {map[string]claim{"a": {node: []byte("a:1")}, "b": {node: []byte("b:1")}}, []string{"a", "b"}},
		"two alone, both new":      {map[string]claim{"a": {node: alone}, "b": {node: other}}, []string{"a"}},
		"who was there stays":      {map[string]claim{"a": {node: alone}, "b": {node: other, generation: 3, owned: []int{1}}}, []string{"b"}},
		"the cluster was there":    {map[string]claim{"a": {node: alone}, "b": {node: []byte("b:1"), generation: 3, owned: []int{1}}, "c": {node: []byte("c:1")}}, []string{"b", "c"}},
		"the later of two was":     {map[string]claim{"a": {node: alone, generation: 3, owned: []int{1}}, "b": {node: other, generation: 4, owned: []int{1}}}, []string{"b"}},
		"who had nothing is later": {map[string]claim{"a": {node: alone, generation: 3, owned: []int{1}}, "b": {node: other, generation: 4}}, []string{"a"}},
	} {
		if got := slices.Sorted(maps.Keys(callable(c.claims))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v share, want %v", name, got, c.want)
		}
	}
}

func TestAssignIsBalancedAndSticky(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	owned := map[string][]int{}
	for step := range 500 {
		partitions := 16
		before := maps.Clone(owned)
		if member := fmt.Sprint("m", rng.IntN(8)); owned[member] == nil {
			owned[member] = []int{}
		} else if len(owned) > 1 {
			delete(owned, member)
		}
		claims := make(map[string]claim)
		for member, share := range owned {
			claims[member] = claim{generation: int32(step), owned: share}
		}
		owned = assign(claims, allPartitions(partitions))
		var all []int
		moved := 0
		for member, share := range owned {
			all = append(all, share...)
			if n := len(share); n < partitions/len(owned) || n > (partitions+len(owned)-1)/len(owned) {
				t.Fatalf("step %d: %v is not balanced", step, owned)
			}
			for _, p := range share {
				if !slices.Contains(before[member], p) {
					moved++
				}
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, allPartitions(partitions)) {
			t.Fatalf("step %d: %v", step, owned)
		}
		least := min(len(before), len(owned))
		if limit := (partitions + max(least, 1) - 1) / max(least, 1); moved > limit && len(before) > 0 {
			t.Fatalf("step %d: %d moved from %v to %v", step, moved, before, owned)
		}
	}
}

func TestClaimRoundTrip(t *testing.T) {
	for _, want := range []claim{
		{node: []byte{}},
		{node: []byte("10.0.0.1:8090"), generation: 1<<31 - 1, owned: []int{0, 127, 128, 1 << 20}},
	} {
		got, err := decodeClaim(want.encode())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func FuzzClaim(f *testing.F) {
	f.Add(claim{node: []byte("node"), generation: 300, owned: []int{1, 2, 300}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeClaim(b)
		if err != nil {
			return
		}
		if again, err := decodeClaim(c.encode()); err != nil || len(again.owned) != len(c.owned) {
			t.Errorf("%x: %+v became %+v, %v", b, c, again, err)
		}
	})
}

// TestPartitionsOfAPlaceStayTogether deals the partitions of three shards to members with different claims on the
// partitions of one place.
func TestPartitionsOfAPlaceStayTogether(t *testing.T) {
	own := ConsumerConfig{Topic: "t", Group: "g", Secret: "s", Places: 4}
	b := newBalancer(own)
	var members []kafkago.GroupMember
	for n, owned := range [][]int{{0, 5, 9}, {1, 4, 8}} {
		c := claim{node: []byte{byte('a' + n)}, generation: 2, owned: owned}
		c.proof = prove(own.Secret, own.Group, c.node)
		members = append(members, kafkago.GroupMember{ID: fmt.Sprint(n), UserData: c.encode()})
	}
	var partitions []kafkago.Partition
	for id := range 12 {
		partitions = append(partitions, kafkago.Partition{Topic: "t", ID: id})
	}
	got := b.AssignGroups(members, partitions)
	want := kafkago.GroupMemberAssignments{"0": {"t": {0, 2, 4, 6, 8, 10}}, "1": {"t": {1, 3, 5, 7, 9, 11}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
