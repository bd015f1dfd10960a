package flag_test

import (
	"fmt"
	"strings"
	"testing"

	"svc/domain/flag"
)

// ruleHolds evaluates a flag with one rule. The rule has one condition.
func ruleHolds(t *testing.T, condition flag.Condition, context string, person *flag.Person) bool {
	t.Helper()
	set := setOf(t, map[string]flag.Spec{"f": toggle(100, flag.Rule{ID: "r", Conditions: []flag.Condition{condition}})})
	switch got := evaluated(t, set, "f", "u1", context, person); got {
	case "on true rule r":
		return true
	case "on true default":
		return false
	default:
		t.Fatalf("%v of %s answers %q", condition, context, got)
		return false
	}
}

func TestVersionsOfContextsHaveTheirOrder(t *testing.T) {
	t.Parallel()
	const ops = "eq neq gt gte lt lte"
	for name, c := range map[string]struct{ value, context, holds string }{
		"G2 the same":          {"2.0.0", `"2.0.0"`, "eq gte lte"},
		"G2 later":             {"2.0.0", `"10.0.0"`, "neq gt gte"},
		"G2 earlier":           {"2.10.0", `"2.9.9"`, "neq lt lte"},
		"pre-release":          {"2.0.0", `"2.0.0-beta.1"`, "neq lt lte"},
		"pre-releases":         {"2.0.0-beta.2", `"2.0.0-beta.11"`, "neq gt gte"},
		"build metadata":       {"2.0.0+1", `"v2.0.0+sha.5114f85"`, "eq gte lte"},
		"two parts":            {"v2.1", `"2.1.0"`, "eq gte lte"},
		"one part":             {"2", `"2.0.1"`, "neq gt gte"},
		"a number":             {"2.9", `2.10`, "neq gt gte"},
		"one of a list":        {"2.0.0", `["x","3.0.0"]`, "neq gt gte"},
		"both of a list":       {"2.0.0", `["2.0.0","3.0.0"]`, "eq gt gte lte"},
		"no version":           {"2.0.0", `"latest"`, ""},
		"four parts":           {"2.0.0", `"3.0.0.1"`, ""},
		"a leading zero":       {"2.0.0", `"03.0.0"`, ""},
		"white space":          {"2.0.0", `" 3.0.0"`, ""},
		"a number of no order": {"2.0.0", `3e2`, ""},
		"a negative number":    {"2.0.0", `-3`, ""},
		"an empty text":        {"2.0.0", `""`, ""},
		"true":                 {"2.0.0", `true`, ""},
		"null":                 {"2.0.0", `null`, ""},
		"an object":            {"2.0.0", `{"major":3}`, ""},
		"an empty list":        {"2.0.0", `[]`, ""},
	} {
		var holds []string
		for _, op := range strings.Fields(ops) {
			if ruleHolds(t, when("property.version", flag.Op("semver_"+op), c.value), `{"version":`+c.context+`}`, nil) {
				holds = append(holds, op)
			}
		}
		if got := strings.Join(holds, " "); got != c.holds {
			t.Errorf("%s: %s against %s holds for %q, want %q", name, c.context, c.value, got, c.holds)
		}
	}
	if ruleHolds(t, when("property.version", "semver_neq", "1.0.0"), `{}`, nil) {
		t.Error("semver_neq holds without a version")
	}
}

func TestVersionsOfRulesAreChecked(t *testing.T) {
	t.Parallel()
	const number = "The value must be a number or an ISO 8601 timestamp. To compare versions, use semver_%s."
	const version = `The value must be a text of at most 500 bytes that is a version of semver.org, such as "2.10.0" or "2.0.0-beta.1".`
	for _, c := range []struct {
		op    flag.Op
		value any
		want  string
	}{
		{"gte", "2.0.0", fmt.Sprintf(number, "gte")},
		{"gt", "v2", fmt.Sprintf(number, "gt")},
		{"lt", "2.0.0-beta", fmt.Sprintf(number, "lt")},
		{"lte", "abc", fmt.Sprintf(number, "lte")},
		{"gte", "", fmt.Sprintf(number, "gte")},
		{"gte", true, fmt.Sprintf(number, "gte")},
		{"gte", nil, fmt.Sprintf(number, "gte")},
		{"gte", []any{2.0}, fmt.Sprintf(number, "gte")},
		{"gte", 2.0, ""},
		{"gte", "2.5", ""},
		{"lt", "2026-01-01", ""},
		{"semver_gte", "2.0.0", ""},
		{"semver_eq", "v2", ""},
		{"semver_lt", "2.0.0-rc.1+5", ""},
		{"semver_eq", "latest", version},
		{"semver_neq", "1.2.3.4", version},
		{"semver_gt", 2.1, version},
		{"semver_gte", nil, version},
		{"semver_lt", "", version},
		{"semver_lte", []any{"1.0.0"}, version},
		{"semver_lte", "1." + strings.Repeat("9", 500), version},
	} {
		spec, want := toggle(100, flag.Rule{Conditions: []flag.Condition{when("property.v", c.op, c.value)}}), ""
		if c.want != "" {
			want = "[{rules[0].conditions[0].value invalid_value " + c.want + " []}]"
		}
		got := ""
		if problems := spec.Validate(environmentSlugs()); len(problems) > 0 {
			got = fmt.Sprint(problems)
		}
		if got != want {
			t.Errorf("%s %v: %s, want %s", c.op, c.value, got, want)
		}
	}
}

func TestDotsFindMembersOfObjects(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 31) + `"pro"` + strings.Repeat(`}`, 31)
	for name, c := range map[string]struct {
		field   string
		members []string
		want    bool
	}{
		"G4 one level":           {"property.user.plan", []string{`"user":{"plan":"pro","x":1}`, `"plan":"free"`}, true},
		"a trait":                {"trait.user.plan", []string{`"user":{"plan":"pro"}`}, true},
		"three levels":           {"property.a.b.c", []string{`"a":{"b":{"c":"pro"}}`}, true},
		"a list":                 {"property.user.plan", []string{`"user":{"plan":["free","pro"]}`}, true},
		"the exact name":         {"property.user.plan", []string{`"user.plan":"pro"`, `"user":{"plan":"free"}`}, true},
		"the exact name wins":    {"property.user.plan", []string{`"user.plan":"free"`, `"user":{"plan":"pro"}`}, false},
		"null wins":              {"property.user.plan", []string{`"user.plan":null`, `"user":{"plan":"pro"}`}, false},
		"another member":         {"property.user.plan", []string{`"user":{"Plan":"pro"}`, `"plan":"pro"`}, false},
		"a dot within":           {"property.a.b.c", []string{`"a":{"b.c":"pro"}`, `"a.b":{"c":"pro"}`}, false},
		"no object":              {"property.user.plan", []string{`"user":"pro"`, `"plan":"pro"`}, false},
		"a list of objects":      {"property.user.plan", []string{`"user":[{"plan":"pro"}]`}, false},
		"empty names":            {"property.a..b", []string{`"a":{"":{"b":"pro"}}`}, true},
		"a dot at the end":       {"property.user.", []string{`"user":{"":"pro"}`}, true},
		"as deep as may be":      {"property.x" + strings.Repeat(".a", 31), []string{`"x":` + deep}, true},
		"a named field":          {"revenue.status", []string{`"revenue":{"status":"pro"}`}, true},
		"an escaped name":        {"property.user.plan", []string{`"us\u0065r":{"pl\u0061n":"pro"}`}, true},
		"a field of its object":  {"property.user", []string{`"user":{"plan":"pro"}`}, false},
		"a member like a parent": {"property.user.plan.x", []string{`"user":{"plan":"pro"}`}, false},
	} {
		for _, members := range orders(c.members) {
			if got := ruleHolds(t, when(c.field, "eq", "pro"), "{"+strings.Join(members, ",")+"}", &flag.Person{}); got != c.want {
				t.Errorf("%s: %s of %s is %v", name, c.field, members, got)
			}
		}
	}
}

func TestDotsFindMembersOfStoredTraits(t *testing.T) {
	t.Parallel()
	stored := func(traits map[string]string) *flag.Person {
		values := map[string]flag.Value{}
		for key, raw := range traits {
			values["trait."+key] = flag.JSONFlagValue([]byte(raw))
		}
		return &flag.Person{Values: values}
	}
	nested := stored(map[string]string{"user": `{"plan":"pro","version":{"app":"2.10.0"}}`})
	for name, c := range map[string]struct {
		condition flag.Condition
		context   string
		person    *flag.Person
		want      bool
	}{
		"a member":             {when("trait.user.plan", "eq", "pro"), `{}`, nested, true},
		"two levels":           {when("trait.user.version.app", "semver_gt", "2.9.0"), `{}`, nested, true},
		"no such member":       {when("trait.user.tier", "eq", "pro"), `{}`, nested, false},
		"the exact name wins":  {when("trait.user.plan", "eq", "pro"), `{}`, stored(map[string]string{"user": `{"plan":"pro"}`, "user.plan": `"free"`}), false},
		"the context wins":     {when("trait.user.plan", "eq", "pro"), `{"user":{"plan":"free"}}`, nested, false},
		"properties are not":   {when("property.user.plan", "eq", "pro"), `{}`, nested, false},
		"a trait of no object": {when("trait.user.plan", "eq", "pro"), `{}`, stored(map[string]string{"user": `"pro"`}), false},
	} {
		if got := ruleHolds(t, c.condition, c.context, c.person); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
