package apps_test

import (
	"testing"
	"testing/synctest"

	"svc"
	"svc/actors/identity"
	"svc/actors/nodetest"
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
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop := c.App("Shop")
		ref, nothing := shop.Ref(), svc.AppRef{Org: "acme", App: "nothing"}
		now := nodetest.Clock()
		goal, err := c.Apps.CreateGoal(ctx, ref, signup())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goal", goal, svc.NewGoal(signup(), "goal_1", now))
		_, err = c.Apps.CreateGoal(ctx, ref, signup())
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a duplicate fails with %v", err)
		}
		_, err = c.Apps.CreateGoal(ctx, ref, svc.GoalSpec{})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad goal fails with %v", err)
		}
		funnel, err := c.Apps.CreateFunnel(ctx, ref, checkout())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnel", funnel, svc.NewFunnel(checkout(), "fun_1", now))
		_, err = c.Apps.CreateFunnel(ctx, ref, svc.FunnelSpec{})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad funnel fails with %v", err)
		}
		c.EvictAll()
		synctest.Wait()
		goals, err := c.Apps.Goals(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goals after a reload", goals, []svc.Goal{goal})
		funnels, err := c.Apps.Funnels(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnels after a reload", funnels, []svc.Funnel{funnel})
		got, err := c.Apps.Funnel(ctx, ref, "fun_1")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnel after a reload", got, funnel)
		nodetest.NoError(t, c.Apps.DeleteFunnel(ctx, ref, "fun_1"))
		nodetest.WantError(t, "deleting it again", c.Apps.DeleteFunnel(ctx, ref, "fun_1"), svc.NotFound("funnel"))
		nodetest.NoError(t, c.Apps.DeleteGoal(ctx, ref, "goal_1"))
		nodetest.WantError(t, "deleting it again", c.Apps.DeleteGoal(ctx, ref, "goal_1"), svc.NotFound("goal"))
		goal.DeletedAt = &now
		goals, err = c.Apps.Goals(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goals at last", goals, []svc.Goal{goal})
		_, err = c.Apps.Goals(ctx, nothing)
		nodetest.WantError(t, "the goals of nothing", err, svc.NotFound("application"))
		_, err = c.Apps.Funnel(ctx, nothing, "fun_1")
		nodetest.WantError(t, "a funnel of nothing", err, svc.NotFound("application"))
	})
}
