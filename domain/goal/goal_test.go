package goal

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher    Matcher
		name, path string
		want       bool
	}{
		{Matcher{MatchEvent, "signup"}, "signup", "/", true},
		{Matcher{MatchEvent, "signup"}, "Signup", "/", false},
		{Matcher{MatchEvent, "sign*"}, "signup", "/", false},
		{Matcher{MatchEvent, "sign*"}, "sign*", "/", true},
		{Matcher{MatchEvent, "page_view"}, "page_view", "/", true},
		{Matcher{MatchPath, "/thanks"}, "page_view", "/thanks", true},
		{Matcher{MatchPath, "/thanks"}, "$pageview", "/thanks", true},
		{Matcher{MatchPath, "/thanks"}, "click", "/thanks", false},
		{Matcher{MatchPath, "/thanks"}, "page_view", "/thanks/", false},
		{Matcher{MatchPath, "/docs/*"}, "page_view", "/docs/", true},
		{Matcher{MatchPath, "/docs/*"}, "page_view", "/docs/a/b", true},
		{Matcher{MatchPath, "/docs/*"}, "page_view", "/docs", false},
		{Matcher{MatchPath, "/a*/b"}, "page_view", "/a*/b", true},
		{Matcher{MatchPath, "/a*/b"}, "page_view", "/ax/b", false},
		{Matcher{MatchPath, "*"}, "page_view", "", true},
	} {
		if got := c.matcher.Matches(c.name, c.path); got != c.want {
			t.Errorf("%+v matches %s %s: %t, want %t", c.matcher, c.name, c.path, got, c.want)
		}
	}
}

func TestGoalSpecValidate(t *testing.T) {
	kinds := []string{"path", "event"}
	for name, c := range map[string]struct {
		spec Spec
		want []domain.FieldError
	}{
		"good": {Spec{"Signup", Matcher{MatchEvent, "signup"}, 12.5}, nil},
		"path": {Spec{"Thanks", Matcher{MatchPath, "/thanks*"}, 0}, nil},
		"empty": {Spec{}, []domain.FieldError{
			{Field: "name", Code: "required", Message: "The name must not be empty."},
			{Field: "kind", Code: "unknown_value", Message: `Unknown kind "".`, Allowed: kinds},
			{Field: "match", Code: "required", Message: "The match must not be empty."},
		}},
		"star within": {Spec{"Comments", Matcher{MatchPath, "/blog/*/comments"}, 0}, []domain.FieldError{
			{Field: "match", Code: "invalid_value", Message: "A path may have a * at its end only, where it stands for any end."},
		}},
		"event with a star": {Spec{"Star", Matcher{MatchEvent, "a*b"}, 0}, nil},
		"all wrong": {Spec{strings.Repeat("x", 101), Matcher{"click", strings.Repeat("x", 501)}, -1}, []domain.FieldError{
			{Field: "name", Code: "too_long", Message: "The name is longer than 100 characters."},
			{Field: "kind", Code: "unknown_value", Message: `Unknown kind "click".`, Allowed: kinds},
			{Field: "match", Code: "too_long", Message: "The match is longer than 500 bytes."},
			{Field: "value", Code: "out_of_range", Message: "The value must be a number of 0 or more."},
		}},
		"no number": {Spec{"x", Matcher{MatchEvent, "x"}, math.NaN()}, []domain.FieldError{
			{Field: "value", Code: "out_of_range", Message: "The value must be a number of 0 or more."},
		}},
	} {
		if got := c.spec.Validate(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestCheckNewGoal(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	signup := NewGoal(Spec{" Signup ", Matcher{MatchEvent, "signup"}, 3}, "goal_1", now)
	if want := (Goal{ID: "goal_1", Name: "Signup", Matcher: Matcher{MatchEvent, "signup"}, Value: 3, CreatedAt: now, UpdatedAt: now}); signup != want {
		t.Errorf("the goal is %+v, want %+v", signup, want)
	}
	deleted := signup
	deleted.DeletedAt = &now
	full := make([]Goal, MaxGoals)
	for i := range full {
		full[i].Match = strings.Repeat("x", i)
	}
	for name, c := range map[string]struct {
		goals []Goal
		want  error
	}{
		"none":            {nil, nil},
		"deleted":         {[]Goal{deleted}, nil},
		"taken":           {[]Goal{deleted, signup}, domain.Invalid(domain.FieldError{Field: "match", Code: "duplicate_goal", Message: `The goal "Signup" (goal_1) has the kind event and the match "signup" already.`})},
		"one is left":     {append(full[1:], deleted), nil},
		"all are used up": {full, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: "The application has 200 goals already; delete one first."}},
	} {
		if got := CheckNewGoal(c.goals, Spec{Name: "Other", Matcher: signup.Matcher}); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", c.want) {
			t.Errorf("%s: %#v, want %#v", name, got, c.want)
		}
	}
	if got := CheckNewGoal([]Goal{signup}, Spec{Matcher: Matcher{MatchPath, "signup"}}); got != nil {
		t.Errorf("the same match of another kind is refused: %v", got)
	}
	if got := Matchers([]Goal{deleted, signup}); !reflect.DeepEqual(got, []Matcher{signup.Matcher}) {
		t.Errorf("matchers: %v", got)
	}
}

func TestChangeGoal(t *testing.T) {
	made, now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signup := NewGoal(Spec{"Signup", Matcher{MatchEvent, "signup"}, 3}, "goal_1", made)
	pricing := NewGoal(Spec{"Pricing", Matcher{MatchPath, "/pricing"}, 0}, "goal_2", made)
	deleted := NewGoal(Spec{"Gone", Matcher{MatchEvent, "gone"}, 0}, "goal_3", made)
	deleted.DeletedAt = &made
	goals := []Goal{signup, pricing, deleted}
	of := func(change func(*Goal)) Goal {
		goal := signup
		goal.UpdatedAt = now
		change(&goal)
		return goal
	}
	name, kind, match, value := " Other ", MatchPath, "/pricing", 0.0
	for title, c := range map[string]struct {
		id    string
		patch Patch
		want  Goal
		err   error
	}{
		"name":               {"goal_1", Patch{Name: &name}, of(func(g *Goal) { g.Name = "Other" }), nil},
		"value":              {"goal_1", Patch{Value: &value}, of(func(g *Goal) { g.Value = 0 }), nil},
		"match":              {"goal_1", Patch{Match: &match}, of(func(g *Goal) { g.Match = "/pricing" }), nil},
		"its own":            {"goal_1", Patch{Kind: &signup.Kind, Match: &signup.Match}, of(func(*Goal) {}), nil},
		"that of a deleted":  {"goal_1", Patch{Match: &deleted.Match}, of(func(g *Goal) { g.Match = "gone" }), nil},
		"that of another":    {"goal_1", Patch{Kind: &kind, Match: &match}, Goal{}, domain.Invalid(domain.FieldError{Field: "match", Code: "duplicate_goal", Message: `The goal "Pricing" (goal_2) has the kind path and the match "/pricing" already.`})},
		"deleted":            {"goal_3", Patch{Name: &name}, Goal{}, domain.NotFound("goal")},
		"never there":        {"goal_4", Patch{Name: &name}, Goal{}, domain.NotFound("goal")},
		"bad where combined": {"goal_2", Patch{Match: new("/a*b")}, Goal{}, domain.Invalid(domain.FieldError{Field: "match", Code: "invalid_value", Message: "A path may have a * at its end only, where it stands for any end."})},
	} {
		got, err := ChangeGoal(goals, c.id, c.patch, now)
		if got != c.want || fmt.Sprintf("%#v", err) != fmt.Sprintf("%#v", c.err) {
			t.Errorf("%s: %+v, %#v, want %+v, %#v", title, got, err, c.want, c.err)
		}
	}
}

func TestRankGoals(t *testing.T) {
	now := time.Now()
	row := func(id string, conversions uint64, deleted bool) Count {
		count := Count{Goal: Goal{ID: id}, Conversions: conversions}
		if deleted {
			count.Goal.DeletedAt = &now
		}
		return count
	}
	got := RankGoals([]Count{row("c", 1, false), row("b", 0, true), row("a", 0, false), row("d", 7, true), row("e", 1, false)})
	want := []Count{row("d", 7, true), row("c", 1, false), row("e", 1, false), row("a", 0, false)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
