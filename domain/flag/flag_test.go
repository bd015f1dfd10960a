package flag_test

import (
	"encoding/json"
	goflag "flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/flag"
)

// update rewrites the published vectors.
var update = goflag.Bool("update", false, "rewrite golden files")

func environmentSlugs() []string { return []string{"production", "staging", "development"} }

func percent(p float64) *float64 { return &p }

func on(rollout float64) map[string]flag.Switch {
	return map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: &rollout}}
}

func abTest(rollout float64, rules ...flag.Rule) flag.Spec {
	return flag.Spec{
		Name: "Test", Kind: flag.Multivariate, Rules: rules, Environments: on(rollout),
		Variants: []flag.Variant{{Key: "control", Weight: 50}, {Key: "a", Weight: 25, Value: 7.5}, {Key: "b", Weight: 25, Value: map[string]any{"color": "red"}}},
	}
}

func toggle(rollout float64, rules ...flag.Rule) flag.Spec {
	return flag.Spec{Name: "Toggle", Kind: flag.Boolean, Rules: rules, Environments: on(rollout)}
}

func when(field string, op flag.Op, value any) flag.Condition {
	return flag.Condition{Field: field, Op: op, Value: value}
}

// domain.setOf compiles flags for production.
func setOf(t testing.TB, specs map[string]flag.Spec) *flag.Set {
	t.Helper()
	flags := map[string]flag.Flag{}
	for key, spec := range specs {
		if problems := spec.Validate(environmentSlugs()); len(problems) > 0 {
			t.Fatalf("the flag %s is invalid: %v", key, problems)
		}
		spec.Normalise()
		flags[key] = flag.Flag{Key: key, Spec: spec, Version: 1}
	}
	sorted := flag.SortFlags(flags)
	var none *flag.Names
	names := none.Grown(sorted)
	var entries []*flag.Entry
	for n := range sorted {
		entries = append(entries, flag.NewFlagEntry(flag.CompileFlag(&sorted[n], names), sorted[n].SwitchOf("production")))
	}
	return flag.NewFlagSet("production", flag.Revision(sorted), entries, names, nil)
}

func flagClock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// evaluated answers one flag for a context that is given as JSON.
func evaluated(t testing.TB, set *flag.Set, key, id, context string, person *flag.Person) string {
	t.Helper()
	var c flag.Context
	c.Reset(set, flagClock())
	_, ok := flag.ReadObject([]byte(context), func(name string, value flag.Value) bool { c.Set(name, value); return true })
	if !ok {
		t.Fatalf("the context is no object: %s", context)
	}
	c.Identify(id, "")
	c.Know(person)
	outcome := set.Evaluate(set.Entry(key), &c)
	return strings.TrimSpace(fmt.Sprint(outcome.Variant(), " ", string(outcome.Value()), " ", outcome.Reason(), " ", outcome.Rule()))
}

func TestFlagsAreEvaluatedInOrder(t *testing.T) {
	t.Parallel()
	start, end := flagClock().Add(time.Hour), flagClock()
	beta := flag.Rule{ID: "beta", Conditions: []flag.Condition{when("trait.plan", "eq", "beta")}, Variant: "b", RolloutPercent: percent(100)}
	nobody := flag.Rule{ID: "none", Conditions: []flag.Condition{when("trait.plan", "eq", "none")}, Variant: "b", RolloutPercent: percent(0)}
	draw := flag.Rule{ID: "draw", Conditions: []flag.Condition{when("country", "in", []any{"DE", "AT"})}}
	vip := flag.Rule{ID: "vip", Conditions: []flag.Condition{when("tag", "eq", "vip")}, Variant: "on"}
	needing := toggle(100)
	needing.Prerequisites = []flag.Prerequisite{{Flag: "ab", Variant: "b"}}
	later, over, valued := toggle(100), toggle(100), toggle(100)
	later.Environments = map[string]flag.Switch{"production": {Enabled: true, StartAt: &start}}
	over.Environments = map[string]flag.Switch{"production": {Enabled: true, EndAt: &end}}
	valued.Variants = []flag.Variant{{Key: "on", Value: "yes"}, {Key: "off", Value: "no"}}
	named := flag.Rule{ID: "u1", Conditions: []flag.Condition{when("distinctId", "eq", "u1")}, RolloutPercent: percent(100)}
	company := toggle(50)
	company.BucketBy = "company"
	set := setOf(t, map[string]flag.Spec{
		"ab": abTest(0, beta, nobody, draw), "all": toggle(100), "half": toggle(50), "vip": toggle(0, vip), "needing": needing, "later": later, "over": over, "valued": valued,
		"closed": {Name: "Closed", Kind: flag.Boolean}, "company": company, "later-rule": toggle(0, vip, named),
	})
	vips := &flag.Person{Values: map[string]flag.Value{"tag": flag.ListFlagValue([]string{"new", "vip"})}}
	for _, c := range []struct {
		key, id, context string
		person           *flag.Person
		want             string
	}{
		{"all", "u1", `{}`, nil, "on true default"},
		{"half", "u2", `{}`, nil, "on true rollout"},
		{"half", "u4", `{}`, nil, "off false rollout"},
		{"closed", "u1", `{}`, nil, "off false disabled"},
		{"later", "u1", `{}`, nil, "off false disabled"},
		{"over", "u1", `{}`, nil, "off false disabled"},
		{"valued", "u1", `{}`, nil, `on "yes" default`},
		{"ab", "u1", `{"plan":"beta"}`, nil, `b {"color":"red"} rule beta`},
		{"ab", "u1", `{"plan":"none"}`, nil, "null rollout none"},
		{"ab", "u1", `{"plan":"free","country":"FR"}`, nil, "null rollout"},
		{"ab", "u1", `{"country":"AT"}`, &flag.Person{}, "null rollout draw"},
		{"ab", "u1", `{"plan":null}`, nil, "null person_unknown"},
		{"ab", "u1", `{"country":"AT"}`, nil, "null person_unknown"},
		{"later-rule", "u1", `{}`, nil, "on true person_unknown"},
		{"later-rule", "u1", `{}`, vips, "off false rollout vip"},
		{"later-rule", "u1", `{}`, &flag.Person{}, "on true rule u1"},
		{"vip", "u1", `{}`, nil, "off false person_unknown"},
		{"vip", "u1", `{}`, vips, "off false rollout vip"},
		{"vip", "u1", `{"tags":["vip"]}`, nil, "off false rollout vip"},
		{"needing", "u1", `{"plan":"beta"}`, nil, "on true default"},
		{"needing", "u1", `{"plan":"free","country":"FR"}`, nil, "off false prerequisite"},
		{"company", "u4", `{"company":"Acme"}`, nil, companyWant("Acme")},
		{"company", "u5", `{"company":"Acme"}`, nil, companyWant("Acme")},
		{"company", "Acme", `{}`, nil, companyWant("Acme")},
	} {
		if got := evaluated(t, set, c.key, c.id, c.context, c.person); got != c.want {
			t.Errorf("%s of %s in %s is %q, want %q", c.key, c.id, c.context, got, c.want)
		}
	}
}

func companyWant(id string) string {
	if flag.Bucket("company", id) < 5000 {
		return "on true rollout"
	}
	return "off false rollout"
}

func TestConditionsOfFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		condition flag.Condition
		context   string
		want      bool
	}{
		{when("property.n", "eq", 3.0), `{"n":3.0}`, true},
		{when("property.n", "eq", "3"), `{"n":3}`, true},
		{when("property.n", "eq", true), `{"n":true}`, true},
		{when("property.n", "neq", "x"), `{}`, true},
		{when("property.n", "neq", "x"), `{"n":["y","x"]}`, false},
		{when("property.n", "in", []any{"a", 2.0}), `{"n":2.0}`, true},
		{when("property.n", "not_in", []any{"a"}), `{"n":null}`, true},
		{when("property.n", "contains", "ü"), `{"n":"gr\u00fcn"}`, true},
		{when("property.n", "not_contains", "a"), `{"n":"bab"}`, false},
		{when("property.n", "starts_with", "ab"), `{"n":"abc"}`, true},
		{when("property.n", "ends_with", "@example.com"), `{"n":"ada@example.com"}`, true},
		{when("property.n", "gt", 9.0), `{"n":"10"}`, true},
		{when("property.n", "gte", 10.0), `{"n":10}`, true},
		{when("property.n", "lt", 10.0), `{"n":"ten"}`, false},
		{when("property.n", "lte", "2026-01-01T00:00:00Z"), `{"n":"2025-12-31"}`, true},
		{when("property.n", "exists", nil), `{"n":{}}`, true},
		{when("property.n", "exists", false), `{"n":null}`, true},
		{when("property.n", "within_days", 2.0), `{"n":"2026-03-03T00:00:00Z"}`, true},
		{when("property.n", "within_days", 2.0), `{"n":"2026-03-09T00:00:00Z"}`, false},
		{when("property.n", "not_within_days", 2.0), `{"n":"2026-01-03T00:00:00Z"}`, true},
		{when("distinctId", "in", []any{"u1"}), `{}`, true},
	} {
		set := setOf(t, map[string]flag.Spec{"f": toggle(100, flag.Rule{ID: "r", Conditions: []flag.Condition{c.condition}})})
		got := evaluated(t, set, "f", "u1", c.context, nil)
		if want := map[bool]string{true: "on true rule r", false: "on true default"}[c.want]; got != want {
			t.Errorf("%v of %s answers %q, want %q", c.condition, c.context, got, want)
		}
	}
}

func TestBadDefinitionsNameTheirFields(t *testing.T) {
	t.Parallel()
	two := []flag.Variant{{Key: "a", Weight: 50}, {Key: "b", Weight: 50}}
	multivariate := func(change func(*flag.Spec)) flag.Spec {
		spec := flag.Spec{Name: "F", Kind: flag.Multivariate, Variants: slices.Clone(two)}
		change(&spec)
		return spec
	}
	rule := func(condition flag.Condition) func(*flag.Spec) {
		return func(s *flag.Spec) { s.Rules = []flag.Rule{{Conditions: []flag.Condition{condition}}} }
	}
	at := flagClock()
	for want, spec := range map[string]flag.Spec{
		"variants invalid_weights":                   multivariate(func(s *flag.Spec) { s.Variants[0].Weight = 49 }),
		"variants[1].key duplicate":                  multivariate(func(s *flag.Spec) { s.Variants[1].Key = "a" }),
		"variants too_few":                           multivariate(func(s *flag.Spec) { s.Variants = s.Variants[:1] }),
		"variants[0].weight out_of_range":            multivariate(func(s *flag.Spec) { s.Variants[0].Weight, s.Variants[1].Weight = 50.001, 50 }),
		"kind unknown_value":                         multivariate(func(s *flag.Spec) { s.Kind = "ternary" }),
		"rules[0].variant unknown_variant":           multivariate(func(s *flag.Spec) { s.Rules = []flag.Rule{{Variant: "c"}} }),
		"rules[1].id duplicate":                      multivariate(func(s *flag.Spec) { s.Rules = []flag.Rule{{ID: "x"}, {ID: "x"}} }),
		"rules[0].rolloutPercent out_of_range":       multivariate(func(s *flag.Spec) { s.Rules = []flag.Rule{{RolloutPercent: percent(101)}} }),
		"rules[0].conditions[0].op unknown_op":       multivariate(rule(when("country", "like", "D"))),
		"rules[0].conditions[0].field unknown_field": multivariate(rule(when("did_event", "eq", "D"))),
		"rules[0].conditions[0].value invalid_value": multivariate(rule(when("country", "in", "D"))),
		"environments.moon unknown_environment":      multivariate(func(s *flag.Spec) { s.Environments = map[string]flag.Switch{"moon": {}} }),
		"environments.staging.rolloutPercent out_of_range": multivariate(func(s *flag.Spec) {
			s.Environments = map[string]flag.Switch{"staging": {RolloutPercent: percent(-1)}}
		}),
		"environments.staging.endAt out_of_range": multivariate(func(s *flag.Spec) {
			s.Environments = map[string]flag.Switch{"staging": {StartAt: &at, EndAt: &at}}
		}),
		"bucketBy unknown_value":          multivariate(func(s *flag.Spec) { s.BucketBy = "mood" }),
		"prerequisites[1].flag duplicate": multivariate(func(s *flag.Spec) { s.Prerequisites = []flag.Prerequisite{{Flag: "o"}, {Flag: "o"}} }),
		"variants[0].key unknown_value":   {Name: "F", Kind: flag.Boolean, Variants: []flag.Variant{{Key: "yes"}}},
	} {
		var found []string
		for _, problem := range spec.Validate(environmentSlugs()) {
			found = append(found, problem.Field+" "+problem.Code)
		}
		if !slices.Equal(found, []string{want}) {
			t.Errorf("the problems are %q, want %q", found, want)
		}
	}
	flags := map[string]flag.Flag{}
	for key, needs := range map[string]string{"a": "b", "b": "c", "c": ""} {
		spec := toggle(100)
		if needs != "" {
			spec.Prerequisites = []flag.Prerequisite{{Flag: needs, Variant: "on"}}
		}
		flags[key] = flag.Flag{Key: key, Spec: spec}
	}
	for needs, want := range map[flag.Prerequisite]string{
		{Flag: "a", Variant: "on"}: "prerequisites[0].flag prerequisite_cycle", {Flag: "c", Variant: "on"}: "prerequisites[0].flag prerequisite_cycle",
		{Flag: "x", Variant: "on"}: "prerequisites[0].flag unknown_flag", {Flag: "b", Variant: "x"}: "prerequisites[0].variant unknown_variant",
	} {
		spec := toggle(100)
		spec.Prerequisites = []flag.Prerequisite{needs}
		problems := flag.CheckPrerequisites(flags, "c", &spec)
		if len(problems) == 0 || problems[0].Field+" "+problems[0].Code != want {
			t.Errorf("the prerequisite %v gives %v, want %s", needs, problems, want)
		}
	}
}

// TestRaisingTheRolloutOnlyAddsPeople also checks that weights hold within three standard deviations.
func TestRaisingTheRolloutOnlyAddsPeople(t *testing.T) {
	t.Parallel()
	const ids = 100_000
	context, previous := flag.Context{}, map[string]string{}
	for _, rollout := range []float64{0, 0.01, 10, 33.33, 50, 99.99, 100} {
		one := setOf(t, map[string]flag.Spec{"checkout": abTest(rollout)})
		now, counts := map[string]string{}, map[string]int{}
		for id := range ids {
			name := fmt.Sprintf("user-%d", id)
			context.Reset(one, flagClock())
			context.Identify(name, "")
			variant := one.Evaluate(one.Entries[0], &context).Variant()
			if before := previous[name]; before != "" && before != variant {
				t.Fatalf("%s had %s below a rollout of %v, and has %q there", name, before, rollout, variant)
			}
			now[name] = variant
			counts[variant]++
		}
		previous = now
		for variant, share := range map[string]float64{"control": 0.5, "a": 0.25, "b": 0.25, "": 0} {
			share *= rollout / 100
			if variant == "" {
				share = 1 - rollout/100
			}
			want, sigma := ids*share, math.Sqrt(ids*share*(1-share))
			if math.Abs(float64(counts[variant])-want) > 3*sigma+1e-6 {
				t.Errorf("at %v percent %q has %d people, want %.0f ± %.0f", rollout, variant, counts[variant], want, 3*sigma)
			}
		}
	}
}

// flagVector is one published example of the algorithm.
type flagVector struct {
	Flag    string `json:"flag"`
	ID      string `json:"id"`
	Rollout int    `json:"rollout"`
	Variant int    `json:"variant"`
}

// TestThePublishedVectorsHold compares the algorithm with docs/flags-vectors.json, which other languages check as well.
func TestThePublishedVectorsHold(t *testing.T) {
	t.Parallel()
	const path = "../../docs/flags-vectors.json"
	keys := []string{"checkout", "new-nav", "a", "dark_mode", "price-test-2026", strings.Repeat("k", 64)}
	shapes := []string{"user-%d", "%d", "00000000-0000-4000-8000-%012d", "ada+%d@example.com", "größe-%d", "用户%d", "😀 %d", "", "\x01tab\t%d"}
	if *update {
		vectors := make([]flagVector, 0, 1000)
		for n := range 1000 {
			v := flagVector{Flag: keys[n%len(keys)], ID: shapes[n%len(shapes)]}
			if strings.Contains(v.ID, "%") {
				v.ID = fmt.Sprintf(v.ID, n*n)
			}
			v.Rollout, v.Variant = flag.Bucket(v.Flag, v.ID), flag.VariantBucket(v.Flag, v.ID)
			vectors = append(vectors, v)
		}
		encoded, err := json.MarshalIndent(vectors, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(encoded, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []flagVector
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) != 1000 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		if rollout, variant := flag.Bucket(v.Flag, v.ID), flag.VariantBucket(v.Flag, v.ID); rollout != v.Rollout || variant != v.Variant {
			t.Errorf("%s of %q is %d and %d, want %d and %d", v.Flag, v.ID, rollout, variant, v.Rollout, v.Variant)
		}
	}
}

// FuzzContexts compares the context parser with the standard library.
func FuzzContexts(f *testing.F) {
	for _, seed := range []string{`{}`, `{"plan":"beta","n":[1,{"a":null}],"x":-1.5e3}`, `{"a":"\ud83d\ude00"}`, `{"a":01}`, `{"a" : tru}`, `[]`, `{"a":1}x`, "{\"a\":\"\xff\"}", `{"a":"b","a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := map[string]flag.Value{}
		_, ok := flag.ReadObject(body, func(name string, value flag.Value) bool { got[name] = value; return true })
		var want map[string]any
		valid := json.Unmarshal(body, &want) == nil && want != nil
		if ok != valid {
			if valid && strings.Count(string(body), "[")+strings.Count(string(body), "{") > 30 {
				return // deeper than contexts may be
			}
			t.Fatalf("read %v, the standard library %v", ok, valid)
		}
		for name, value := range want {
			found := got[name]
			text, named := found.Text()
			switch wanted := value.(type) {
			case string:
				if !named || text != wanted {
					t.Fatalf("%q is %q, want %q", name, text, wanted)
				}
			case float64:
				var number float64
				if json.Unmarshal([]byte(text), &number) != nil || number != wanted {
					t.Fatalf("%q is %q, want %v", name, text, wanted)
				}
			}
		}
		if ok && len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
	})
}

// BenchmarkEvaluateFlag evaluates one flag with four rules, of which the last decides, and the draw of a variant.
func BenchmarkEvaluateFlag(b *testing.B) {
	rule := func(id string, conditions ...flag.Condition) flag.Rule {
		return flag.Rule{ID: id, Conditions: conditions}
	}
	set := setOf(b, map[string]flag.Spec{"f": abTest(
		100, rule("staff", when("property.email", "ends_with", "@example.com")), rule("german", when("country", "eq", "DE"), when("property.plan", "eq", "pro")),
		rule("beta", when("property.plan", "eq", "beta")), rule("rest"),
	)})
	body := []byte(`{"country":"FR","plan":"free","email":"user-00001234@mail.example","device":"mobile","version":"3.14.1"}`)
	var context flag.Context
	context.Reset(set, flagClock())
	flag.ReadObject(body, func(name string, value flag.Value) bool { context.Set(name, value); return true })
	context.Identify("user-00001234", "")
	context.Know(&flag.Person{})
	b.ReportAllocs()
	for b.Loop() {
		set.Evaluate(set.Entries[0], &context)
	}
}
