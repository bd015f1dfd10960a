package apps

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
)

func signupSpec() goal.Spec {
	return goal.Spec{Name: "Signup", Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "signup"}, Value: 12.5}
}

func funnelSpec() funnel.Spec {
	return funnel.Spec{Name: "Checkout", WindowHours: 24, Steps: []funnel.Step{
		{Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "/pricing*"}},
		{
			Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "purchase"},
			Filters: []filter.StepFilter{{Property: "value", Op: filter.OpGte, Value: 10.5}, {Property: "property.plan", Op: filter.OpIn, Value: []any{"pro", true, 3.0}}},
		},
	}}
}

func TestGoalsAndFunnelsOfAnApplication(t *testing.T) {
	app := newTestApp(1, "Shop", actorstest.Epoch())
	signup := goal.NewGoal(signupSpec(), "goal_1", actorstest.At(time.Minute))
	deleted := signup
	when := actorstest.At(time.Hour)
	deleted.DeletedAt = &when
	again := goal.NewGoal(signupSpec(), "goal_2", actorstest.At(2*time.Hour))
	path := goal.Spec{Name: "Path", Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "signup"}}
	third := goal.NewGoal(path, "goal_3", actorstest.At(0))
	f := funnel.NewFunnel(funnelSpec(), "fun_1", actorstest.At(0))
	noGoal, noFunnel := domain.NotFound("goal"), domain.NotFound("funnel")
	taken := domain.Invalid(domain.FieldError{
		Field: "match", Code: "duplicate_goal", Message: `The goal "Signup" (goal_1) has the kind event and the match "signup" already.`,
	})
	steps := []actorstest.Step{
		{Name: "create", Method: "create", Message: createApp{app}, Want: grain.Answer[any](app, grain.Put("application", "app_1", app))},
		{Name: "no goals", Method: "goals", Message: grain.None{}, Want: grain.Answer[any]([]goal.Goal(nil))},
		{Name: "a goal", After: time.Minute, Method: "goal.create", Message: createGoal{"goal_1", signupSpec()}, Want: grain.Answer[any](signup, grain.Put("goal", "goal_1", signup))},
		{Name: "its pair again", Method: "goal.create", Message: createGoal{"goal_2", signupSpec()}, Err: taken},
		{Name: "the match of another kind", Method: "goal.create", Message: createGoal{"goal_3", path}, Want: grain.Answer[any](third, grain.Put("goal", "goal_3", third))},
		{Name: "delete", After: time.Hour, Method: "goal.delete", Message: deleteGoal{"goal_1"}, Want: grain.Answer[any](grain.None{}, grain.Put("goal", "goal_1", deleted))},
		{Name: "delete twice", Method: "goal.delete", Message: deleteGoal{"goal_1"}, Err: noGoal},
		{Name: "delete nothing", Method: "goal.delete", Message: deleteGoal{"goal_9"}, Err: noGoal},
		{Name: "the pair is free", After: 2 * time.Hour, Method: "goal.create", Message: createGoal{"goal_2", signupSpec()}, Want: grain.Answer[any](again, grain.Put("goal", "goal_2", again))},
		{Name: "all goals", Method: "goals", Message: grain.None{}, Want: grain.Answer[any]([]goal.Goal{deleted, again, third})},
		{Name: "no funnels", Method: "funnels", Message: grain.None{}, Want: grain.Answer[any]([]funnel.Funnel(nil))},
		{Name: "a funnel", Method: "funnel.create", Message: createFunnel{f}, Want: grain.Answer[any](f, grain.Put("funnel", "fun_1", f))},
		{Name: "the funnel", Method: "funnel.get", Message: findFunnel{"fun_1"}, Want: grain.Answer[any](f)},
		{Name: "all funnels", Method: "funnels", Message: grain.None{}, Want: grain.Answer[any]([]funnel.Funnel{f})},
		{Name: "no such funnel", Method: "funnel.get", Message: findFunnel{"fun_9"}, Err: noFunnel},
		{Name: "delete the funnel", Method: "funnel.delete", Message: findFunnel{"fun_1"}, Want: grain.Answer[any](grain.None{}, grain.Delete("funnel", "fun_1"))},
		{Name: "delete it twice", Method: "funnel.delete", Message: findFunnel{"fun_1"}, Err: noFunnel},
	}
	newCore := func() *application {
		return &application{publish: func(domain.Version, domain.Application, []domain.IngestKey) {}, publishPage: func(domain.Version, domain.Application, share.Share) {}}
	}
	actorstest.Play(t, applicationKind, newCore, true, steps)
	for _, method := range []string{"goals", "goal.create", "goal.delete", "funnels", "funnel.get", "funnel.create", "funnel.delete"} {
		if !slices.ContainsFunc(steps, func(s actorstest.Step) bool { return s.Method == method && s.Err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
}

// TestGoalsAreBounded fills an application, and then deletes more goals than the limit of deleted ones.
func TestGoalsAreBounded(t *testing.T) {
	record := newTestApp(1, "Shop", actorstest.Epoch())
	a := &application{app: &record, goals: map[string]goal.Goal{}, funnels: map[string]funnel.Funnel{}}
	spec := func(n int) goal.Spec {
		return goal.Spec{Name: "g", Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: fmt.Sprint(n)}}
	}
	for n := range goal.MaxGoals {
		if _, err := a.onCreateGoal(actorstest.At(0), createGoal{fmt.Sprintf("goal_%03d", n), spec(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.onCreateGoal(actorstest.At(0), createGoal{"goal_x", spec(-1)}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("one goal too many: %v", err)
	}
	for n := range funnel.MaxFunnels {
		if _, err := a.onCreateFunnel(actorstest.At(0), createFunnel{funnel.Funnel{ID: fmt.Sprint(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.onCreateFunnel(actorstest.At(0), createFunnel{funnel.Funnel{ID: "x"}}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("one funnel too many: %v", err)
	}
	for n := goal.MaxGoals - 1; n >= 0; n-- {
		id := fmt.Sprintf("goal_%03d", n)
		if got, err := a.onDeleteGoal(actorstest.At(time.Duration(goal.MaxGoals-n)*time.Second), deleteGoal{id}); err != nil || len(got.Writes) != 1 {
			t.Fatalf("%s: %v %+v", id, err, got)
		}
	}
	if _, err := a.onCreateGoal(actorstest.At(0), createGoal{"goal_x", spec(-1)}); err != nil {
		t.Fatal(err)
	}
	got, err := a.onDeleteGoal(actorstest.At(time.Hour), deleteGoal{"goal_x"})
	if err != nil || len(got.Writes) != 2 || got.Writes[1] != grain.Delete("goal", "goal_199") {
		t.Errorf("deleting one more than is kept: %v %+v", err, got.Writes)
	}
	if goals := a.allGoals(); len(goals) != keptGoals || goals[0].ID != "goal_000" || goals[198].ID != "goal_198" || goals[199].ID != "goal_x" {
		t.Errorf("%d goals are kept", len(goals))
	}
}
