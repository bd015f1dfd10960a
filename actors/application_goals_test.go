package actors

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"svc"
)

func signupSpec() svc.GoalSpec {
	return svc.GoalSpec{Name: "Signup", Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: "signup"}, Value: 12.5}
}

func funnelSpec() svc.FunnelSpec {
	return svc.FunnelSpec{Name: "Checkout", WindowHours: 24, Steps: []svc.FunnelStep{
		{Matcher: svc.Matcher{Kind: svc.MatchPath, Match: "/pricing*"}},
		{
			Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: "purchase"},
			Filters: []svc.StepFilter{{Property: "value", Op: svc.OpGte, Value: 10.5}, {Property: "property.plan", Op: svc.OpIn, Value: []any{"pro", true, 3.0}}},
		},
	}}
}

func TestGoalsAndFunnelsOfAnApplication(t *testing.T) {
	app := testApp(1, "shop", "Shop", coreEpoch())
	signup := svc.NewGoal(signupSpec(), "goal_1", at(time.Minute))
	deleted := signup
	when := at(time.Hour)
	deleted.DeletedAt = &when
	again := svc.NewGoal(signupSpec(), "goal_2", at(2*time.Hour))
	path := svc.GoalSpec{Name: "Path", Matcher: svc.Matcher{Kind: svc.MatchPath, Match: "signup"}}
	third := svc.NewGoal(path, "goal_3", at(0))
	funnel := svc.NewFunnel(funnelSpec(), "fun_1", at(0))
	noGoal, noFunnel := svc.NotFound("goal"), svc.NotFound("funnel")
	taken := svc.Invalid(svc.FieldError{
		Field: "match", Code: "duplicate_goal", Message: `The goal "Signup" (goal_1) has the kind event and the match "signup" already.`,
	})
	steps := []step{
		{name: "create", method: "create", message: createApp{app}, want: outcome{answer: app, writes: []write{{"application", "app_1", app}}}},
		{name: "no goals", method: "goals", message: none{}, want: outcome{answer: []svc.Goal(nil)}},
		{name: "a goal", after: time.Minute, method: "goal.create", message: createGoal{"goal_1", signupSpec()}, want: outcome{answer: signup, writes: []write{{"goal", "goal_1", signup}}}},
		{name: "its pair again", method: "goal.create", message: createGoal{"goal_2", signupSpec()}, err: taken},
		{name: "the match of another kind", method: "goal.create", message: createGoal{"goal_3", path}, want: outcome{answer: third, writes: []write{{"goal", "goal_3", third}}}},
		{name: "delete", after: time.Hour, method: "goal.delete", message: deleteGoal{"goal_1"}, want: outcome{answer: none{}, writes: []write{{"goal", "goal_1", deleted}}}},
		{name: "delete twice", method: "goal.delete", message: deleteGoal{"goal_1"}, err: noGoal},
		{name: "delete nothing", method: "goal.delete", message: deleteGoal{"goal_9"}, err: noGoal},
		{name: "the pair is free", after: 2 * time.Hour, method: "goal.create", message: createGoal{"goal_2", signupSpec()}, want: outcome{answer: again, writes: []write{{"goal", "goal_2", again}}}},
		{name: "all goals", method: "goals", message: none{}, want: outcome{answer: []svc.Goal{deleted, again, third}}},
		{name: "no funnels", method: "funnels", message: none{}, want: outcome{answer: []svc.Funnel(nil)}},
		{name: "a funnel", method: "funnel.create", message: createFunnel{funnel}, want: outcome{answer: funnel, writes: []write{{"funnel", "fun_1", funnel}}}},
		{name: "the funnel", method: "funnel.get", message: findFunnel{"fun_1"}, want: outcome{answer: funnel}},
		{name: "all funnels", method: "funnels", message: none{}, want: outcome{answer: []svc.Funnel{funnel}}},
		{name: "no such funnel", method: "funnel.get", message: findFunnel{"fun_9"}, err: noFunnel},
		{name: "delete the funnel", method: "funnel.delete", message: findFunnel{"fun_1"}, want: outcome{answer: none{}, writes: []write{{"funnel", "fun_1", nil}}}},
		{name: "delete it twice", method: "funnel.delete", message: findFunnel{"fun_1"}, err: noFunnel},
	}
	newCore := func() core {
		return &application{publish: func(svc.Version, svc.Application, []svc.IngestKey) {}, publishPage: func(svc.Version, svc.Application, svc.Share) {}}
	}
	play(t, newCore, true, steps)
	for method := range goalHandlers() {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.method == method && s.err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
}

// TestGoalsAreBounded fills an application, and then deletes more goals than it keeps.
func TestGoalsAreBounded(t *testing.T) {
	record := testApp(1, "shop", "Shop", coreEpoch())
	a := &application{app: &record, goals: map[string]svc.Goal{}, funnels: map[string]svc.Funnel{}}
	spec := func(n int) svc.GoalSpec {
		return svc.GoalSpec{Name: "g", Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: fmt.Sprint(n)}}
	}
	for n := range svc.MaxGoals {
		if _, err := a.onCreateGoal(at(0), createGoal{fmt.Sprintf("goal_%03d", n), spec(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.onCreateGoal(at(0), createGoal{"goal_x", spec(-1)}); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("one goal too many: %v", err)
	}
	for n := range svc.MaxFunnels {
		if _, err := a.onCreateFunnel(at(0), createFunnel{svc.Funnel{ID: fmt.Sprint(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.onCreateFunnel(at(0), createFunnel{svc.Funnel{ID: "x"}}); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("one funnel too many: %v", err)
	}
	for n := svc.MaxGoals - 1; n >= 0; n-- {
		id := fmt.Sprintf("goal_%03d", n)
		if got, err := a.onDeleteGoal(at(time.Duration(svc.MaxGoals-n)*time.Second), deleteGoal{id}); err != nil || len(got.writes) != 1 {
			t.Fatalf("%s: %v %+v", id, err, got)
		}
	}
	if _, err := a.onCreateGoal(at(0), createGoal{"goal_x", spec(-1)}); err != nil {
		t.Fatal(err)
	}
	got, err := a.onDeleteGoal(at(time.Hour), deleteGoal{"goal_x"})
	if err != nil || len(got.writes) != 2 || got.writes[1] != (write{"goal", "goal_199", nil}) {
		t.Errorf("deleting one more than is kept: %v %+v", err, got.writes)
	}
	if goals := a.allGoals(); len(goals) != keptGoals || goals[0].ID != "goal_000" || goals[198].ID != "goal_198" || goals[199].ID != "goal_x" {
		t.Errorf("%d goals are kept", len(goals))
	}
}

func TestGoalsAndFunnelsThroughTheirClient(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop := c.app("Shop")
		ref, nothing := shop.Ref(), svc.AppRef{Org: "acme", App: "nothing"}
		now := clock()
		goal, err := c.apps.CreateGoal(ctx, ref, signupSpec())
		noError(t, err)
		wantEqual(t, "the goal", goal, svc.NewGoal(signupSpec(), "goal_1", now))
		_, err = c.apps.CreateGoal(ctx, ref, signupSpec())
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a duplicate fails with %v", err)
		}
		_, err = c.apps.CreateGoal(ctx, ref, svc.GoalSpec{})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad goal fails with %v", err)
		}
		funnel, err := c.apps.CreateFunnel(ctx, ref, funnelSpec())
		noError(t, err)
		wantEqual(t, "the funnel", funnel, svc.NewFunnel(funnelSpec(), "fun_1", now))
		_, err = c.apps.CreateFunnel(ctx, ref, svc.FunnelSpec{})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad funnel fails with %v", err)
		}
		c.EvictAll()
		synctest.Wait()
		goals, err := c.apps.Goals(ctx, ref)
		noError(t, err)
		wantEqual(t, "the goals after a reload", goals, []svc.Goal{goal})
		funnels, err := c.apps.Funnels(ctx, ref)
		noError(t, err)
		wantEqual(t, "the funnels after a reload", funnels, []svc.Funnel{funnel})
		got, err := c.apps.Funnel(ctx, ref, "fun_1")
		noError(t, err)
		wantEqual(t, "the funnel after a reload", got, funnel)
		noError(t, c.apps.DeleteFunnel(ctx, ref, "fun_1"))
		wantError(t, "deleting it again", c.apps.DeleteFunnel(ctx, ref, "fun_1"), svc.NotFound("funnel"))
		noError(t, c.apps.DeleteGoal(ctx, ref, "goal_1"))
		wantError(t, "deleting it again", c.apps.DeleteGoal(ctx, ref, "goal_1"), svc.NotFound("goal"))
		goal.DeletedAt = &now
		goals, err = c.apps.Goals(ctx, ref)
		noError(t, err)
		wantEqual(t, "the goals at last", goals, []svc.Goal{goal})
		_, err = c.apps.Goals(ctx, nothing)
		wantError(t, "the goals of nothing", err, svc.NotFound("application"))
		_, err = c.apps.Funnel(ctx, nothing, "fun_1")
		wantError(t, "a funnel of nothing", err, svc.NotFound("application"))
	})
}
