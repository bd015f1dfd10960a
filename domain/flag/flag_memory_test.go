package flag_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain/flag"
)

// asking is a person that requests all flags of a set.
type asking struct {
	id, company string
	known       *flag.Person
	at          time.Time
}

// text returns the body of the request.
func (a *asking) text() []byte { return fmt.Appendf(nil, `{"id":%q,"company":%q}`, a.id, a.company) }

// context describes the person.
func (a *asking) context(set *flag.Set) *flag.Context {
	var c flag.Context
	c.Reset(set, a.at)
	c.Set("company", flag.TextFlagValue(a.company))
	c.Identify(a.id, "")
	c.Know(a.known)
	return &c
}

// recalled evaluates all flags of a set, except those with cached outcomes. It returns the outcomes, the number of
// cached ones, and whether the memory held a valid answer for the whole set.
func (a *asking) recalled(set *flag.Set, memory *flag.Memory) (outcomes []*flag.Outcome, known int, whole bool) {
	question := flag.Question{Environment: 7, Text: a.text(), Person: a.known}
	recall, context := memory.Recall(set, &question, a.at), a.context(set)
	for n, entry := range set.Entries {
		outcome := recall.Outcome(set, n)
		if outcome != nil {
			known++
		} else {
			outcome = set.Evaluate(entry, context)
		}
		outcomes = append(outcomes, outcome)
	}
	if !recall.Whole {
		recall.Remember(set, &question, a.at, outcomes)
	}
	return outcomes, known, recall.Whole
}

// TestWhatIsRememberedChangesNoAnswer evaluates many flags for people that return again and again, while some
// definitions, the stored data of persons, and the time change. Each answer equals the evaluated one.
func TestWhatIsRememberedChangesNoAnswer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(17, 1))
	memory := &flag.Memory{}
	definitions := map[string]flag.Flag{}
	compiled, entries := map[string]*flag.CompiledFlag{}, map[string]*flag.Entry{}
	var names *flag.Names
	var set *flag.Set
	people := []*flag.Person{nil}
	for _, plan := range []string{"pro", "free", ""} {
		known := &flag.Person{Values: map[string]flag.Value{"last_seen_at": flag.NumberFlagValue(float64(flagClock().AddDate(0, 0, -len(plan)).UnixMilli()))}}
		if plan != "" {
			known.Values["trait.plan"] = flag.TextFlagValue(plan)
		}
		people = append(people, known)
	}
	wholes, parts, nothing := 0, 0, 0
	for revision := range uint64(60) {
		for range 1 + random.IntN(3)*40 { // few or many definitions change
			n := random.IntN(150)
			key := fmt.Sprintf("flag-%d", n*7919%1000)
			first := float64(random.IntN(101))
			spec := flag.Spec{
				Name: "F", Kind: flag.Multivariate, Variants: []flag.Variant{{Key: "a", Weight: first}, {Key: "b", Weight: 100 - first}},
				Environments: on(float64(random.IntN(101))),
			}
			switch environment := spec.Environments["production"]; n % 10 {
			case 9:
				spec.BucketBy = "company"
			case 8:
				at := flagClock().Add(time.Duration(random.IntN(60)) * time.Minute)
				environment.StartAt = &at
				spec.Environments["production"] = environment
			case 7:
				if other, known := definitions["flag-0"]; known && key != "flag-0" {
					spec.Prerequisites = []flag.Prerequisite{{Flag: other.Key, Variant: "a"}}
				}
			case 6:
				spec.Rules = []flag.Rule{{ID: "r", Variant: "b", Conditions: []flag.Condition{when("trait.plan", "eq", "pro")}}}
			case 5:
				if revision%20 > 10 { // while one is there, no answer holds as a whole
					spec.Rules = []flag.Rule{{ID: "r", Variant: "b", Conditions: []flag.Condition{when("last_seen_at", "within_days", 2.0)}}}
				}
			}
			if key == "flag-0" {
				spec.Prerequisites = nil
			}
			spec.Normalise()
			definitions[key] = flag.Flag{Key: key, Spec: spec, Version: revision + 1}
		}
		sorted := flag.SortFlags(definitions)
		names = names.Grown(sorted)
		var list []*flag.Entry
		for n := range sorted {
			key := sorted[n].Key
			if known := compiled[key]; known == nil || known.Version != sorted[n].Version || !names.Serve(known) {
				compiled[key] = flag.CompileFlag(&sorted[n], names)
				entries[key] = flag.NewFlagEntry(compiled[key], sorted[n].SwitchOf("production"))
			}
			list = append(list, entries[key])
		}
		set = flag.NewFlagSet("production", flag.Revision(sorted), list, names, set)
		for range 60 {
			who := asking{
				id: fmt.Sprintf("user-%d", random.IntN(3)), company: fmt.Sprintf("company-%d", random.IntN(2)), known: people[random.IntN(len(people))],
				at: flagClock().Add(time.Duration(revision) * time.Minute),
			}
			got, known, whole := who.recalled(set, memory)
			switch {
			case whole:
				wholes++
			case known > 0:
				parts++
			default:
				nothing++
			}
			context := who.context(set)
			for n, entry := range set.Entries {
				if want := set.Evaluate(entry, context); got[n] != want {
					t.Fatalf("revision %d: %s of %+v is %s %q, want %s %q", revision, entry.Flag.Key, who, got[n].Reason(), got[n].Variant(), want.Reason(), want.Variant())
				}
			}
		}
	}
	if wholes < 500 || parts < 500 || nothing < 50 {
		t.Errorf("%d answers were known, %d in part, %d not: the test says little", wholes, parts, nothing)
	}
}

// manyTests returns a set with enough flags for answers to be cached.
func manyTests(t *testing.T) *flag.Set {
	t.Helper()
	specs := map[string]flag.Spec{}
	for n := range 80 {
		specs[fmt.Sprint("flag-", n)] = abTest(60)
	}
	return setOf(t, specs)
}

// TestWhoIsRemembered sends requests once, again, with another protocol, in another environment and with a long text:
// only a repetition of the same request is cached, from its second time on.
func TestWhoIsRemembered(t *testing.T) {
	t.Parallel()
	set, memory := manyTests(t), &flag.Memory{}
	ask := func(question flag.Question) bool {
		recall := memory.Recall(set, &question, flagClock())
		if !recall.Whole {
			var context flag.Context
			context.Reset(set, flagClock())
			context.Identify("u", "")
			var outcomes []*flag.Outcome
			for _, entry := range set.Entries {
				outcomes = append(outcomes, set.Evaluate(entry, &context))
			}
			recall.Remember(set, &question, flagClock(), outcomes)
		}
		return recall.Whole
	}
	for _, asked := range []struct {
		name     string
		question flag.Question
		want     [3]bool
	}{
		{"a question", flag.Question{Environment: 7, Text: []byte(`{"id":"u"}`)}, [3]bool{false, false, true}},
		{"the same in another environment", flag.Question{Environment: 8, Text: []byte(`{"id":"u"}`)}, [3]bool{false, true, true}},
		{"the same by another protocol", flag.Question{Environment: 7, Surface: 1, Text: []byte(`{"id":"u"}`)}, [3]bool{false, true, true}},
		{"a long one", flag.Question{Environment: 7, Text: []byte(`{"id":"u","x":"` + strings.Repeat("x", 100_000) + `"}`)}, [3]bool{false, false, true}},
	} {
		if got := [3]bool{ask(asked.question), ask(asked.question), ask(asked.question)}; got != asked.want {
			t.Errorf("%s is known: %v, want %v", asked.name, got, asked.want)
		}
	}
}

// TestRequestsAtOnceRememberTheSame sends concurrent requests about the same people, more people than a memory has
// places: all answers equal the evaluated ones.
func TestRequestsAtOnceRememberTheSame(t *testing.T) {
	t.Parallel()
	set, memory := manyTests(t), &flag.Memory{}
	var requests sync.WaitGroup
	for range 4 {
		requests.Go(func() {
			for n := range 20_000 {
				who := asking{id: fmt.Sprint("user-", n/3%10_000), at: flagClock()}
				got, _, _ := who.recalled(set, memory)
				if n%100 != 0 {
					continue
				}
				context := who.context(set)
				for n, entry := range set.Entries {
					if want := set.Evaluate(entry, context); got[n] != want {
						t.Errorf("%s is served %q of %s, want %q", who.id, got[n].Variant(), entry.Flag.Key, want.Variant())
						return
					}
				}
			}
		})
	}
	requests.Wait()
}

// TestConditionsAreJudgedByTheirOwnValues edits a flag many times while other flags share its conditions. Each
// definition is evaluated by its own values, also after places were assigned again, which recompiles all flags.
func TestConditionsAreJudgedByTheirOwnValues(t *testing.T) {
	t.Parallel()
	var names *flag.Names
	compiled := map[string]*flag.CompiledFlag{}
	anew := 0
	for edit := range 1000 {
		flags := map[string]flag.Flag{}
		for n, condition := range []flag.Condition{
			when("property.plan", "eq", fmt.Sprint("plan-", edit)), when("property.plan", "in", []any{fmt.Sprint("plan-", edit), "x"}), when("property.plan", "eq", "plan-7"),
			when("property.plan", "in", []any{"plan-7"}), when("property.plan", "eq", true), when("property.plan", "eq", "true"),
			when("property.plan", "neq", "plan-7"), when("property.tier", "eq", "plan-7"),
		} {
			key := fmt.Sprint("flag-", n)
			spec := toggle(0, flag.Rule{ID: "r", Conditions: []flag.Condition{condition}, RolloutPercent: percent(100)})
			spec.Normalise()
			version := uint64(1)
			if n < 2 {
				version += uint64(edit)
			}
			flags[key] = flag.Flag{Key: key, Spec: spec, Version: version}
		}
		sorted := flag.SortFlags(flags)
		names = names.Grown(sorted)
		var entries []*flag.Entry
		for n := range sorted {
			key := sorted[n].Key
			if known := compiled[key]; known == nil || known.Version != sorted[n].Version || !names.Serve(known) {
				if known != nil && n == len(sorted)-1 {
					anew++
				}
				compiled[key] = flag.CompileFlag(&sorted[n], names)
			}
			entries = append(entries, flag.NewFlagEntry(compiled[key], sorted[n].SwitchOf("production")))
		}
		set := flag.NewFlagSet("production", flag.Revision(sorted), entries, names, nil)
		for context, want := range map[string]string{
			fmt.Sprintf(`{"plan":"plan-%d"}`, edit): fmt.Sprint(true, true, edit == 7, edit == 7, false, false, edit != 7, false),
			`{"plan":"plan-7"}`:                     fmt.Sprint(edit == 7, edit == 7, true, true, false, false, false, false),
			`{"plan":"x"}`:                          fmt.Sprint(false, true, false, false, false, false, true, false),
			`{"plan":true}`:                         fmt.Sprint(false, false, false, false, true, true, true, false),
		} {
			var c flag.Context
			c.Reset(set, flagClock())
			flag.ReadObject([]byte(context), func(name string, value flag.Value) bool { c.Set(name, value); return true })
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

// TestAContextForgetsWhatItHasJudged adds members to a context between two evaluations: the second one uses them.
func TestAContextForgetsWhatItHasJudged(t *testing.T) {
	t.Parallel()
	set := setOf(t, map[string]flag.Spec{"f": toggle(0, flag.Rule{ID: "r", Conditions: []flag.Condition{when("trait.plan", "eq", "pro")}, RolloutPercent: percent(100)})})
	var context flag.Context
	context.Reset(set, flagClock())
	context.Identify("u", "")
	var got []bool
	evaluate := func() { got = append(got, set.Evaluate(set.Entries[0], &context).Enabled()) }
	evaluate()
	context.Know(&flag.Person{Values: map[string]flag.Value{"trait.plan": flag.TextFlagValue("pro")}})
	evaluate()
	context.Set("plan", flag.TextFlagValue("free"))
	evaluate()
	if want := []bool{false, true, false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the flag is %v, want %v", got, want)
	}
}

// TestSharedTextsSayTheSame interns the texts of definitions: the definitions are unchanged.
func TestSharedTextsSayTheSame(t *testing.T) {
	t.Parallel()
	spec := func() flag.Spec {
		s := abTest(50, flag.Rule{ID: "a", Variant: "b", Conditions: []flag.Condition{
			when("trait.plan", "eq", "a"), when("country", "in", []any{"DE", 7.0}), when("trait.plan", "exists", nil), when("trait.plan", "neq", "country"), when("trait.plan", "eq", true),
		}})
		s.Normalise()
		return s
	}
	texts := flag.Texts{}
	for range 2 {
		shared := spec()
		shared.Share(texts)
		if want := spec(); !reflect.DeepEqual(shared, want) {
			t.Errorf("shared is %+v, want %+v", shared, want)
		}
	}
}
