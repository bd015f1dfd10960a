package flags

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/flag"
	domainingest "svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/ingest"
	"svc/http/route"
)

// keys are the collectors of a test by the hash of their keys.
type keys map[[32]byte]*domain.Collector

func (k keys) Collector(hash [32]byte) *domain.Collector { return k[hash] }
func (k keys) Former([32]byte) uint64                    { return 0 }
func (k keys) Named(string) uint64                       { return 0 }

// defined is a snapshot of the flags of one application in production, which a test replaces.
type defined struct {
	mu         sync.Mutex
	flags      []flag.Flag
	set        *flag.Set
	superseded chan struct{}
	// archived is the key of an archived flag.
	archived string
	// reads counts the calls of All.
	reads int
}

// define replaces the flags; every call is the next version of all of them.
func (d *defined) define(tb testing.TB, specs map[string]flag.Spec) {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	version := uint64(1)
	if len(d.flags) > 0 {
		version = d.flags[0].Version + 1
	}
	byKey := map[string]flag.Flag{}
	for key, spec := range specs {
		if problems := spec.Validate([]string{"production"}); len(problems) > 0 {
			tb.Fatalf("the flag %s is invalid: %v", key, problems)
		}
		spec.Normalise()
		byKey[key] = flag.Flag{Key: key, Spec: spec, Version: version, Archived: key == d.archived}
	}
	d.flags = flag.SortFlags(byKey)
	var none *flag.Names
	names := none.Grown(d.flags)
	entries := make([]*flag.Entry, 0, len(d.flags))
	for n := range d.flags {
		entries = append(entries, flag.NewFlagEntry(flag.CompileFlag(&d.flags[n], names), d.flags[n].SwitchOf("production")))
	}
	if d.superseded != nil {
		close(d.superseded)
	}
	d.set, d.superseded = flag.NewFlagSet("production", flag.Revision(d.flags), entries, names, d.set), make(chan struct{})
}

func (d *defined) Set(domain.AppRef, string) *flag.Set {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set
}

func (d *defined) Watch(domain.AppRef, string) (set *flag.Set, superseded <-chan struct{}, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set, d.superseded, time.Time{}
}

func (d *defined) All(domain.AppRef) (flags []flag.Flag, revision uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	return d.flags, d.set.Revision
}

// recorded accepts all evaluations.
type recorded struct{}

func (recorded) Recording(uint64) telemetry.FlagsPolicy {
	return telemetry.FlagsPolicy{RecordEvaluations: true, SampleRate: 1}
}
func (recorded) LeaveOut(uint64, domainingest.Fate, int64)              {}
func (recorded) Expose(uint64, uint64, []*flag.Outcome, time.Time) bool { return true }

// serving returns a handler of all paths over definitions, with the keys "public" and "secret".
func serving(tb testing.TB, definitions *defined) http.Handler {
	tb.Helper()
	return servingOf(tb, definitions, nil)
}

// servingOf is serving with profiles of people.
func servingOf(tb testing.TB, definitions *defined, persons Persons) http.Handler {
	tb.Helper()
	return servingAt(tb, definitions, persons, time.Now)
}

// servingAt is servingOf with another clock.
func servingAt(tb testing.TB, definitions *defined, persons Persons, now func() time.Time) http.Handler {
	tb.Helper()
	return servingWith(tb, definitions, persons, recorded{}, now)
}

// servingWith is servingAt with recorded exposures.
func servingWith(tb testing.TB, definitions *defined, persons Persons, exposures Exposures, now func() time.Time) http.Handler {
	tb.Helper()
	known := keys{}
	for _, kind := range []domain.KeyKind{domain.KeyPublic, domain.KeySecret} {
		known[domain.HashSecret(string(kind))] = &domain.Collector{
			Kind: kind, App: domain.AppRef{Org: "acme", App: "web"}, AppID: "app_1", KeyID: "key_" + string(kind), Modules: []domain.Module{domain.ModuleFlags, domain.ModulePeople},
			Environment: domain.Environment{Number: 7, Slug: "production"}, Origins: []string{"*"},
		}
	}
	surface := &Flags{
		Authority: ingest.Authority{Collectors: known}, Definitions: definitions, Persons: persons, Exposures: exposures, Now: now, Origin: "https://svc.example",
		Tokens: Tokens{Key: []byte("a key of thirty-two bytes, or so")}, Memory: &flag.Memory{},
	}
	return routed(tb, surface)
}

// routed returns a handler of the rows of a surface.
func routed(tb testing.TB, surface *Flags) http.Handler {
	tb.Helper()
	handler, err := route.New(route.Config{
		Routes: surface.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{}, Cursors: domain.NewCursors([]byte("flags")), Now: surface.Now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return handler
}

// many returns a number of flags with a number of rules each; the last rule matches.
func many(flags, rules int) map[string]flag.Spec {
	half := 50.0
	specs := map[string]flag.Spec{}
	for n := range flags {
		spec := flag.Spec{
			Name: "Flag", Kind: flag.Multivariate, Variants: []flag.Variant{{Key: "control", Weight: 50}, {Key: "fast", Weight: 50}},
			Environments: map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: &half}},
		}
		for rule := range rules {
			plan := fmt.Sprintf("plan-%d", rule)
			if rule == rules-1 {
				plan = "free"
			}
			spec.Rules = append(spec.Rules, flag.Rule{ID: fmt.Sprintf("r%d", rule), Conditions: []flag.Condition{{Field: "property.plan", Op: "eq", Value: plan}}})
		}
		specs[fmt.Sprintf("flag-%d", n)] = spec
	}
	return specs
}
