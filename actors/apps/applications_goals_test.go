package apps_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"svc"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/protos"
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
		goal, err = c.Apps.ChangeGoal(ctx, ref, goal.ID, svc.GoalPatch{Name: new("Sign-up")})
		nodetest.NoError(t, err)
		shorter := checkout()
		shorter.Name, shorter.WindowHours = "Shorter", 1
		funnel, err = c.Apps.ChangeFunnel(ctx, ref, funnel.ID, shorter)
		nodetest.NoError(t, err)
		if goal.Name != "Sign-up" || funnel.Name != "Shorter" || funnel.WindowHours != 1 {
			t.Errorf("changed to %+v, %+v", goal, funnel)
		}
		_, err = c.Apps.ChangeFunnel(ctx, ref, "fun_9", shorter)
		if svc.CodeOf(err) != svc.CodeNotFound {
			t.Errorf("a funnel that is not there is changed with %v", err)
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

// recorder records the methods of calls to applications. An earlier one answers like a node of a version without parts:
// it ignores them.
type recorder struct {
	grain.Caller
	earlier bool
	asked   []string
}

func (r *recorder) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	r.asked = append(r.asked, call.GetMethod())
	if r.earlier && call.GetMethod() == "get" {
		call.Payload = []byte("{}")
	}
	return r.Caller.Call(ctx, call)
}

// TestAnApplicationIsReadWithOnePart reads every part of an application without parts and of one with parts, from a
// node of this version and from one of an earlier version.
func TestAnApplicationIsReadWithOnePart(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		empty, shop := c.App("Empty"), c.App("Shop")
		goal, err := c.Apps.CreateGoal(ctx, shop.Ref(), signup())
		nodetest.NoError(t, err)
		funnel, err := c.Apps.CreateFunnel(ctx, shop.Ref(), checkout())
		nodetest.NoError(t, err)
		page, err := c.Apps.PublishShare(ctx, shop.Ref(), svc.SharePatch{})
		nodetest.NoError(t, err)
		for _, test := range []struct {
			app   svc.Application
			part  svc.AppPart
			want  svc.AppParts
			asked []string // by a node of an earlier version
		}{
			{shop, "", svc.AppParts{}, []string{"get"}},
			{shop, svc.AppGoals, svc.AppParts{Goals: []svc.Goal{goal}}, []string{"get", "goals"}},
			{shop, svc.AppFunnels, svc.AppParts{Funnels: []svc.Funnel{funnel}}, []string{"get", "funnels"}},
			{shop, svc.AppShare, svc.AppParts{Share: &page}, []string{"get", "share"}},
			{empty, svc.AppGoals, svc.AppParts{Goals: []svc.Goal{}}, []string{"get", "goals"}},
			{empty, svc.AppFunnels, svc.AppParts{Funnels: []svc.Funnel{}}, []string{"get", "funnels"}},
			{empty, svc.AppShare, svc.AppParts{Share: &svc.Share{}}, []string{"get", "share"}},
		} {
			for _, earlier := range []bool{false, true} {
				calls := &recorder{Caller: c, earlier: earlier}
				client := *c.Apps
				client.Actors = calls
				app, parts, err := client.Read(ctx, test.app.Ref(), test.part)
				nodetest.NoError(t, err)
				if earlier && len(parts.Goals)+len(parts.Funnels) == 0 {
					parts.Goals, parts.Funnels = test.want.Goals, test.want.Funnels // an earlier node answers null for []
				}
				what := test.app.Slug + " with " + string(test.part)
				nodetest.WantEqual(t, what, app, test.app)
				nodetest.WantEqual(t, "the part of "+what, parts, test.want)
				asked := []string{"get"}
				if earlier {
					asked = test.asked
				}
				if !slices.Equal(calls.asked, asked) {
					t.Errorf("%s was asked for by %v, want %v (earlier: %v)", what, calls.asked, asked, earlier)
				}
			}
		}
	})
}
