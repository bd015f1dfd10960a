package apps_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/domain"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/protos"
)

func signup() goal.Spec {
	return goal.Spec{Name: "Signup", Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "signup"}, Value: 12.5}
}

func checkout() funnel.Spec {
	return funnel.Spec{Name: "Checkout", WindowHours: 24, Steps: []funnel.Step{
		{Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "/pricing*"}},
		{
			Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "purchase"},
			Filters: []filter.StepFilter{{Property: "value", Op: filter.OpGte, Value: 10.5}, {Property: "property.plan", Op: filter.OpIn, Value: []any{"pro", true, 3.0}}},
		},
	}}
}

func TestGoalsAndFunnelsThroughTheirClient(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop := c.App("Shop")
		ref, nothing := shop.Ref(), domain.AppRef{Org: "acme", App: "nothing"}
		now := nodetest.Clock()
		g, err := c.Apps.CreateGoal(ctx, ref, signup())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goal", g, goal.NewGoal(signup(), "goal_1", now))
		_, err = c.Apps.CreateGoal(ctx, ref, signup())
		if domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("a duplicate fails with %v", err)
		}
		_, err = c.Apps.CreateGoal(ctx, ref, goal.Spec{})
		if domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("a bad goal fails with %v", err)
		}
		f, err := c.Apps.CreateFunnel(ctx, ref, checkout())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnel", f, funnel.NewFunnel(checkout(), "fun_1", now))
		_, err = c.Apps.CreateFunnel(ctx, ref, funnel.Spec{})
		if domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("a bad funnel fails with %v", err)
		}
		g, err = c.Apps.ChangeGoal(ctx, ref, g.ID, goal.Patch{Name: new("Sign-up")})
		nodetest.NoError(t, err)
		shorter := checkout()
		shorter.Name, shorter.WindowHours = "Shorter", 1
		f, err = c.Apps.ChangeFunnel(ctx, ref, f.ID, shorter)
		nodetest.NoError(t, err)
		if g.Name != "Sign-up" || f.Name != "Shorter" || f.WindowHours != 1 {
			t.Errorf("changed to %+v, %+v", g, f)
		}
		_, err = c.Apps.ChangeFunnel(ctx, ref, "fun_9", shorter)
		if domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("a funnel that is not there is changed with %v", err)
		}
		c.EvictAll()
		synctest.Wait()
		goals, err := c.Apps.Goals(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goals after a reload", goals, []goal.Goal{g})
		funnels, err := c.Apps.Funnels(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnels after a reload", funnels, []funnel.Funnel{f})
		got, err := c.Apps.Funnel(ctx, ref, "fun_1")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the funnel after a reload", got, f)
		nodetest.NoError(t, c.Apps.DeleteFunnel(ctx, ref, "fun_1"))
		nodetest.WantError(t, "deleting it again", c.Apps.DeleteFunnel(ctx, ref, "fun_1"), domain.NotFound("funnel"))
		nodetest.NoError(t, c.Apps.DeleteGoal(ctx, ref, "goal_1"))
		nodetest.WantError(t, "deleting it again", c.Apps.DeleteGoal(ctx, ref, "goal_1"), domain.NotFound("goal"))
		g.DeletedAt = &now
		goals, err = c.Apps.Goals(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the goals at last", goals, []goal.Goal{g})
		_, err = c.Apps.Goals(ctx, nothing)
		nodetest.WantError(t, "the goals of nothing", err, domain.NotFound("application"))
		_, err = c.Apps.Funnel(ctx, nothing, "fun_1")
		nodetest.WantError(t, "a funnel of nothing", err, domain.NotFound("application"))
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
		g, err := c.Apps.CreateGoal(ctx, shop.Ref(), signup())
		nodetest.NoError(t, err)
		f, err := c.Apps.CreateFunnel(ctx, shop.Ref(), checkout())
		nodetest.NoError(t, err)
		page, err := c.Apps.PublishShare(ctx, shop.Ref(), share.Patch{})
		nodetest.NoError(t, err)
		for _, test := range []struct {
			app   domain.Application
			part  share.AppPart
			want  share.AppParts
			asked []string // by a node of an earlier version
		}{
			{shop, "", share.AppParts{}, []string{"get"}},
			{shop, share.AppGoals, share.AppParts{Goals: []goal.Goal{g}}, []string{"get", "goals"}},
			{shop, share.AppFunnels, share.AppParts{Funnels: []funnel.Funnel{f}}, []string{"get", "funnels"}},
			{shop, share.AppShare, share.AppParts{Share: &page}, []string{"get", "share"}},
			{empty, share.AppGoals, share.AppParts{Goals: []goal.Goal{}}, []string{"get", "goals"}},
			{empty, share.AppFunnels, share.AppParts{Funnels: []funnel.Funnel{}}, []string{"get", "funnels"}},
			{empty, share.AppShare, share.AppParts{Share: &share.Share{}}, []string{"get", "share"}},
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
