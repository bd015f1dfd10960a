package actors

import (
	"testing"
	"testing/synctest"

	"svc"
)

func signup() svc.GoalSpec {
	return svc.GoalSpec{Name: "Signup", Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: "signup"}, Value: 12.5}
}

func checkout() svc.FunnelSpec {
	return svc.FunnelSpec{Name: "Checkout", WindowHours: 24, Steps: []svc.FunnelStep{
		{Matcher: svc.Matcher{Kind: svc.MatchPath, Match: "/pricing*"}},
		{
			Matcher: svc.Matcher{Kind: svc.MatchEvent, Match: "purchase"},
			Filters: []svc.StepFilter{{Property: "value", Op: svc.OpGte, Value: 10.5}, {Property: "property.plan", Op: svc.OpIn, Value: []any{"pro", true, 3.0}}},
		},
	}}
}

func TestGoalsAndFunnelsThroughTheirClient(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop := c.app("Shop")
		ref, nothing := shop.Ref(), svc.AppRef{Org: "acme", App: "nothing"}
		now := clock()
		goal, err := c.apps.CreateGoal(ctx, ref, signup())
		noError(t, err)
		wantEqual(t, "the goal", goal, svc.NewGoal(signup(), "goal_1", now))
		_, err = c.apps.CreateGoal(ctx, ref, signup())
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a duplicate fails with %v", err)
		}
		_, err = c.apps.CreateGoal(ctx, ref, svc.GoalSpec{})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad goal fails with %v", err)
		}
		funnel, err := c.apps.CreateFunnel(ctx, ref, checkout())
		noError(t, err)
		wantEqual(t, "the funnel", funnel, svc.NewFunnel(checkout(), "fun_1", now))
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
