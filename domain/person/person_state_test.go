package person_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain/event"
	"svc/domain/person"
	"svc/domain/segment"
)

// TestStatesOfPeopleJoinInAnyOrder joins random states in random orders and groupings.
func TestStatesOfPeopleJoinInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		states := make([]person.State, 1+random.IntN(5))
		for i := range states {
			for range random.IntN(6) {
				stage, tags := segment.LifecycleStages()[random.IntN(6)], []string{[]string{"a", "b", "c"}[random.IntN(3)]}
				patch := person.Patch{Stage: &stage, Tags: &tags, CRM: map[string]json.RawMessage{"x": json.RawMessage([]string{"1", "2", "null"}[random.IntN(3)])}}
				var err error
				if states[i], _, err = states[i].Apply(patch, time.UnixMilli(random.Int64N(20))); err != nil {
					t.Fatal(err)
				}
			}
		}
		join := func(order []person.State) (all person.State) {
			for _, state := range order {
				all = all.Join(state)
			}
			return all
		}
		want := join(states)
		shuffled := append(slices.Clone(states), states[random.IntN(len(states))])
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := join(shuffled); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: joined to %+v, in another order to %+v", seed, want, got)
		}
	}
}

// TestALaterDecisionHolds changes a person while the clock goes back.
func TestALaterDecisionHolds(t *testing.T) {
	t.Parallel()
	var state person.State
	for i, tags := range [][]string{{"vip", "early"}, {"vip"}, {}} {
		var changed []string
		var err error
		state, changed, err = state.Apply(person.Patch{Tags: &tags}, time.UnixMilli(int64(100-i)))
		if err != nil || !slices.Equal(changed, []string{"tags"}) || !slices.Equal(state.TagList(), sortedTags(tags)) {
			t.Errorf("after %q the tags are %q, changed %q, %v", tags, state.TagList(), changed, err)
		}
	}
	if again, changed, err := state.Apply(person.Patch{Tags: &[]string{}}, time.UnixMilli(200)); err != nil || len(changed) > 0 || !reflect.DeepEqual(again, state) {
		t.Errorf("the same wish changed %q to %+v, %v", changed, again, err)
	}
}

func sortedTags(tags []string) []string {
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return tags
}

// TestRootsDependOnTheSetOfAliases finds the roots of chains, cycles and stars in any order.
func TestRootsDependOnTheSetOfAliases(t *testing.T) {
	t.Parallel()
	aliases := []person.Alias{{5, 9}, {3, 5}, {3, 9}, {20, 21}, {21, 22}, {22, 23}}
	want := []person.Root{{3, 3, 3}, {5, 3, 3}, {9, 3, 3}, {20, 20, 3}, {21, 20, 3}, {22, 20, 3}, {23, 20, 3}}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		random.Shuffle(len(aliases), func(i, j int) { aliases[i], aliases[j] = aliases[j], aliases[i] })
		if got := person.Roots(aliases); !slices.Equal(got, want) {
			t.Fatalf("%v has the roots %v, want %v", aliases, got, want)
		}
	}
}

// TestAnIdentifyIsMasked hides the data of a person in an identify, at any depth and in any spelling.
func TestAnIdentifyIsMasked(t *testing.T) {
	t.Parallel()
	event := event.Event{Name: event.IdentifyEvent, Properties: json.RawMessage(
		`{"name":"Ada","Phone_Number":4930,"plan":"pro","company":{"name":"Acme","contact":"a@b.de"},"$set":{"first-name":"Ada"},"address":{"zip":"10115"}}`)}
	event.Mask()
	const want = `{"$set":{"first-name":"A**"},"Phone_Number":"4***","address":{"zip":"1****"},"company":{"contact":"a*****","name":"Acme"},"name":"A**","plan":"pro"}`
	if got := string(event.Properties); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
