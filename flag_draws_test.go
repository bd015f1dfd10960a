package svc_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"svc"
)

// published evaluates a flag of two variants without a rule as docs/flags.md says it.
func published(flag, id string, rollout, first int) string {
	switch {
	case svc.FlagBucket(flag, id) >= rollout:
		return ""
	case svc.FlagVariantBucket(flag, id) < first:
		return "a"
	}
	return "b"
}

// TestWhatIsRememberedOfDrawsChangesNoAnswer evaluates many flags for people who come again and again, while definitions change: each
// answer is the published one, with and without what is remembered.
func TestWhatIsRememberedOfDrawsChangesNoAnswer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(17, 1))
	var draws svc.FlagDraws
	var names *svc.FlagNames
	flags := map[string]svc.Flag{}
	for revision := range 4 {
		for n := range 70 + 30*revision { // later revisions have more flags, and other rollouts of former ones
			key := fmt.Sprintf("flag-%d", n*7919%1000)
			first := float64(random.IntN(101))
			spec := svc.FlagSpec{
				Name: "F", Kind: svc.FlagMultivariate, Variants: []svc.FlagVariant{{Key: "a", Weight: first}, {Key: "b", Weight: 100 - first}},
				Environments: on(float64(random.IntN(101))),
			}
			if n%10 == 9 {
				spec.BucketBy = "company"
			}
			spec.Normalise()
			flags[key] = svc.Flag{Key: key, FlagSpec: spec, Version: uint64(revision + 1)}
		}
		sorted := svc.SortFlags(flags)
		names = names.Grown(sorted)
		var entries []*svc.FlagEntry
		for n := range sorted {
			entries = append(entries, svc.NewFlagEntry(svc.CompileFlag(&sorted[n], names), sorted[n].SwitchOf("production")))
		}
		set := svc.NewFlagSet("production", svc.FlagRevision(sorted), entries, names)
		var context svc.FlagContext
		for range 300 {
			number := uint64(random.IntN(6))
			id, company := fmt.Sprintf("user-%d", random.IntN(8)), fmt.Sprintf("company-%d", random.IntN(3))
			context.Reset(set, flagClock())
			context.Set("company", svc.TextFlagValue(company))
			context.Identify(id, "")
			context.Recall(&draws, number) // some share a number, and so a place in memory
			for n := range sorted {
				who := id
				if sorted[n].BucketBy == "company" {
					who = company
				}
				rollout, first := int(sorted[n].SwitchOf("production").Rollout()*100), int(sorted[n].Variants[0].Weight*100)
				if got, want := set.Evaluate(entries[n], &context).Variant(), published(sorted[n].Key, who, rollout, first); got != want {
					t.Fatalf("revision %d: %s is served %q of %s, want %q", revision, who, got, sorted[n].Key, want)
				}
			}
		}
	}
}

// TestRequestsAtOnceRememberTheSame has requests about the same people at once, each with a context of its own: all have the published
// answers.
func TestRequestsAtOnceRememberTheSame(t *testing.T) {
	t.Parallel()
	specs := map[string]svc.FlagSpec{}
	for n := range 80 {
		specs[fmt.Sprint("flag-", n)] = svc.FlagSpec{
			Name: "F", Kind: svc.FlagMultivariate, Variants: []svc.FlagVariant{{Key: "a", Weight: 30}, {Key: "b", Weight: 70}}, Environments: on(60),
		}
	}
	set := setOf(t, specs)
	var draws svc.FlagDraws
	var requests sync.WaitGroup
	for range 4 {
		requests.Go(func() {
			var context svc.FlagContext
			for n := range 100 {
				id := fmt.Sprint("user-", n%3)
				context.Reset(set, flagClock())
				context.Identify(id, "")
				context.Recall(&draws, 5) // all share a place in memory
				for _, entry := range set.Entries {
					if got, want := set.Evaluate(entry, &context).Variant(), published(entry.Flag.Key, id, 6000, 3000); got != want {
						t.Errorf("%s is served %q of %s, want %q", id, got, entry.Flag.Key, want)
						return
					}
				}
			}
		})
	}
	requests.Wait()
}

// TestConditionsAreJudgedByTheirOwnValues edits a flag many times beside others that share its conditions: each definition is evaluated
// by its own values, also when places are given anew, which happens now and then and makes all flags be compiled again.
func TestConditionsAreJudgedByTheirOwnValues(t *testing.T) {
	t.Parallel()
	var names *svc.FlagNames
	compiled := map[string]*svc.CompiledFlag{}
	anew := 0
	for edit := range 1000 {
		flags := map[string]svc.Flag{}
		for n, condition := range []svc.FlagCondition{
			when("property.plan", "eq", fmt.Sprint("plan-", edit)), when("property.plan", "in", []any{fmt.Sprint("plan-", edit), "x"}), when("property.plan", "eq", "plan-7"),
			when("property.plan", "in", []any{"plan-7"}), when("property.plan", "eq", true), when("property.plan", "eq", "true"),
			when("property.plan", "neq", "plan-7"), when("property.tier", "eq", "plan-7"),
		} {
			key := fmt.Sprint("flag-", n)
			spec := toggle(0, svc.FlagRule{ID: "r", Conditions: []svc.FlagCondition{condition}, RolloutPercent: percent(100)})
			spec.Normalise()
			version := uint64(1)
			if n < 2 {
				version += uint64(edit)
			}
			flags[key] = svc.Flag{Key: key, FlagSpec: spec, Version: version}
		}
		sorted := svc.SortFlags(flags)
		names = names.Grown(sorted)
		var entries []*svc.FlagEntry
		for n := range sorted {
			key := sorted[n].Key
			if known := compiled[key]; known == nil || known.Version != sorted[n].Version || !names.Serve(known) {
				if known != nil && n == len(sorted)-1 {
					anew++
				}
				compiled[key] = svc.CompileFlag(&sorted[n], names)
			}
			entries = append(entries, svc.NewFlagEntry(compiled[key], sorted[n].SwitchOf("production")))
		}
		set := svc.NewFlagSet("production", svc.FlagRevision(sorted), entries, names)
		for context, want := range map[string]string{
			fmt.Sprintf(`{"plan":"plan-%d"}`, edit): fmt.Sprint(true, true, edit == 7, edit == 7, false, false, edit != 7, false),
			`{"plan":"plan-7"}`:                     fmt.Sprint(edit == 7, edit == 7, true, true, false, false, false, false),
			`{"plan":"x"}`:                          fmt.Sprint(false, true, false, false, false, false, true, false),
			`{"plan":true}`:                         fmt.Sprint(false, false, false, false, true, true, true, false),
		} {
			var c svc.FlagContext
			c.Reset(set, flagClock())
			svc.ReadObject([]byte(context), func(name string, value svc.FlagValue) bool { c.Set(name, value); return true })
			c.Identify("u", "")
			var got []any
			for _, entry := range entries {
				got = append(got, set.Evaluate(entry, &c).Enabled())
			}
			if fmt.Sprint(got...) != want {
				t.Fatalf("edit %d answers %v for %s, want %s", edit, got, context, want)
			}
		}
	}
	if anew < 2 || anew > 10 {
		t.Errorf("places were given anew %d times in 1000 edits, want some", anew)
	}
}

// TestAContextForgetsWhatItHasJudged tells a context more between two evaluations: the second one counts it.
func TestAContextForgetsWhatItHasJudged(t *testing.T) {
	t.Parallel()
	set := setOf(t, map[string]svc.FlagSpec{"f": toggle(0, svc.FlagRule{ID: "r", Conditions: []svc.FlagCondition{when("trait.plan", "eq", "pro")}, RolloutPercent: percent(100)})})
	var context svc.FlagContext
	context.Reset(set, flagClock())
	context.Identify("u", "")
	var got []bool
	evaluate := func() { got = append(got, set.Evaluate(set.Entries[0], &context).Enabled()) }
	evaluate()
	context.Know(&svc.FlagPerson{Values: map[string]svc.FlagValue{"trait.plan": svc.TextFlagValue("pro")}})
	evaluate()
	context.Set("plan", svc.TextFlagValue("free"))
	evaluate()
	if want := []bool{false, true, false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the flag is %v, want %v", got, want)
	}
}

// TestSharedTextsSayTheSame has definitions share their texts: they stay what they were.
func TestSharedTextsSayTheSame(t *testing.T) {
	t.Parallel()
	spec := func() svc.FlagSpec {
		s := abTest(50, svc.FlagRule{ID: "a", Variant: "b", Conditions: []svc.FlagCondition{
			when("trait.plan", "eq", "a"), when("country", "in", []any{"DE", 7.0}), when("trait.plan", "exists", nil), when("trait.plan", "neq", "country"), when("trait.plan", "eq", true),
		}})
		s.Normalise()
		return s
	}
	texts := svc.FlagTexts{}
	for range 2 {
		shared := spec()
		shared.Share(texts)
		if want := spec(); !reflect.DeepEqual(shared, want) {
			t.Errorf("shared is %+v, want %+v", shared, want)
		}
	}
}
