package flags

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/flag"
)

// org is an application, and owner is the actor of its flags.
var org = domain.AppRef{Org: "org", App: "app"}

const owner = kindFlags + "/org/app"

// flagOf returns a flag with three variants and five rules.
func flagOf(n int, version uint64) flag.Flag {
	rollout := 50.0
	spec := flag.Spec{
		Name: "Flag", Kind: flag.Multivariate, Variants: []flag.Variant{{Key: "control", Weight: 50}, {Key: "a", Weight: 25}, {Key: "b", Weight: 25}},
		Rules: []flag.Rule{
			{ID: "staff", Conditions: []flag.Condition{{Field: "trait.email", Op: "ends_with", Value: "@example.com"}}, Variant: "a"},
			{ID: "german", Conditions: []flag.Condition{{Field: "country", Op: "eq", Value: "DE"}, {Field: "trait.plan", Op: "eq", Value: "pro"}}, Variant: "b"},
			{ID: "beta", Conditions: []flag.Condition{{Field: "trait.plan", Op: "eq", Value: "beta"}}},
			{ID: "group", Conditions: []flag.Condition{{Field: "property.version", Op: "eq", Value: fmt.Sprint("9.", n)}}, Variant: "a"},
			{ID: "rest"},
		},
		Environments: map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: &rollout}},
	}
	spec.Normalise()
	made := time.Unix(1_780_000_000, 0).UTC()
	return flag.Flag{Key: fmt.Sprintf("flag-%04d", n), Spec: spec, Version: version, CreatedAt: made, UpdatedAt: made}
}

// entityOf returns a flag in the form that its actor stores.
func entityOf(t *testing.T, flag flag.Flag, sequence uint32) domain.Entity {
	t.Helper()
	payload, err := json.Marshal(flag)
	if err != nil {
		t.Fatal(err)
	}
	return domain.Entity{Owner: owner, Kind: kindFlag, ID: flag.Key, Version: domain.Version{Generation: 1, Sequence: sequence}, Payload: payload}
}

// TestDefinitionsAreThoseLastPublished publishes flags as their actor does and as other nodes receive them. All
// definitions are returned as they were last written.
func TestDefinitionsAreThoseLastPublished(t *testing.T) {
	t.Parallel()
	d := NewDefinitions(time.Now)
	entities := []domain.Entity{entityOf(t, flagOf(1, 1), 1), entityOf(t, flagOf(2, 1), 2)}
	d.PublishEntities(entities, nil)
	archived := flagOf(2, 2)
	archived.Archived = true
	for _, step := range []struct {
		name    string
		publish func()
		want    []flag.Flag
	}{
		{"loaded", func() {}, []flag.Flag{flagOf(1, 1), flagOf(2, 1)}},
		{"changed here", func() {
			d.Publish(domain.Version{Generation: 1, Sequence: 3}, org, []flag.Flag{flagOf(0, 1), flagOf(1, 1), archived})
		}, []flag.Flag{flagOf(0, 1), flagOf(1, 1), archived}},
		{"heard of again, late", func() { d.PublishEntities(entities, nil) }, []flag.Flag{flagOf(0, 1), flagOf(1, 1), archived}},
		{"changed elsewhere", func() {
			d.PublishEntities([]domain.Entity{entityOf(t, flagOf(0, 1), 3), entityOf(t, flagOf(1, 2), 4), entityOf(t, archived, 3)}, nil)
		}, []flag.Flag{flagOf(0, 1), flagOf(1, 2), archived}},
	} {
		step.publish()
		got, revision := d.All(org)
		if !reflect.DeepEqual(got, step.want) || revision != flag.Revision(step.want) {
			t.Errorf("%s: revision %d has\n%+v, not\n%+v", step.name, revision, got, step.want)
		}
	}
}

// TestManyFlagsTakeLittleMemory measures a node's memory for an application with a thousand flags, including the
// entities of the flags.
func TestManyFlagsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // others would be weighed with it
	weigh := func() uint64 {
		runtime.GC()
		runtime.GC() // frees the objects that the first run finalised and dropped from pools
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := weigh()
	d, entities := NewDefinitions(time.Now), make([]domain.Entity, 1000)
	for n := range entities {
		entities[n] = entityOf(t, flagOf(n, 1), uint32(n+1))
	}
	d.PublishEntities(entities, nil)
	if held := weigh() - before; held > 4_000_000 {
		t.Errorf("the node holds %d bytes", held)
	}
	if flags, _ := d.All(org); len(flags) != len(entities) {
		t.Errorf("the node has %d flags", len(flags))
	}
	runtime.KeepAlive(entities)
}
