package analytics

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Goals stores the goals of applications. Handlers read them from the call (route.Call.Parts).
type Goals interface {
	// CreateGoal makes a goal of a valid specification. It fails as
	// goal.CheckNewGoal does.
	CreateGoal(ctx context.Context, ref domain.AppRef, spec goal.Spec) (goal.Goal, error)
	// ChangeGoal applies a patch to a goal. It fails as goal.ChangeGoal does.
	ChangeGoal(ctx context.Context, ref domain.AppRef, id string, patch goal.Patch) (goal.Goal, error)
	// DeleteGoal fails with not_found if the goal does not exist or is deleted already.
	DeleteGoal(ctx context.Context, ref domain.AppRef, id string) error
}

// Results counts conversions.
type Results interface {
	// GoalCounts returns the rows of the goals, ordered as goal.RankGoals does.
	GoalCounts(ctx context.Context, scope analytics.Scope, goals []goal.Goal) (goal.Counts, error)
	// FunnelResult returns the number of visitors that passed each step of a funnel.
	FunnelResult(ctx context.Context, scope analytics.Scope, funnel funnel.Funnel) (funnel.Result, error)
	// FunnelSplit is FunnelResult with additional rows for each value of a dimension.
	FunnelSplit(ctx context.Context, scope analytics.Scope, funnel funnel.Funnel, split funnel.Split) (funnel.Result, error)
}

// goals serves the routes of goals.
type goals struct {
	goals    Goals
	results  Results
	segments Segments
}

func goalRoutes(ports Ports) []route.Route {
	goals := goals{goals: ports.Goals, results: ports.Results, segments: ports.Segments}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/goals", Operation: "analytics.goals", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Conversions per goal", Handler: route.Typed(marked(ports.Sampling, goals.counts)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/goals", Operation: "goals.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List goal definitions", Handler: route.Typed(goals.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/goals", Operation: "goals.create", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "goal.created", Rate: domain.RateDefault,
			Summary: "Create a goal", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(goals.create),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/goals/{id}", Operation: "goals.update", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "goal.updated", Rate: domain.RateDefault,
			Summary: "Change a goal", Handler: route.Typed(goals.update),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/goals/{id}", Operation: "goals.delete", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Destructive, Ledger: "goal.deleted", Rate: domain.RateDefault,
			Summary: "Delete a goal", Status: 204, Handler: route.Typed(goals.delete),
		},
	}
}

// goalJSON is a goal as answers show it.
type goalJSON struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Kind      goal.MatchKind `json:"kind" enum:"path,event"`
	Match     string         `json:"match"`
	Value     float64        `json:"value" doc:"The monetary value of one conversion."`
	CreatedAt route.Time     `json:"createdAt"`
	UpdatedAt route.Time     `json:"updatedAt"`
}

func goalOf(g *goal.Goal) goalJSON {
	return goalJSON{
		ID: g.ID, Name: g.Name, Kind: g.Kind, Match: g.Match, Value: g.Value,
		CreatedAt: route.Time(g.CreatedAt), UpdatedAt: route.Time(g.UpdatedAt),
	}
}

type listGoals struct {
	api.AppPath
	api.Paging
}

func (g goals) list(_ context.Context, call *route.Call, in listGoals) (domain.Page[goalJSON], error) {
	return api.PageOfAll(call, api.Convert(goal.LiveGoals(call.Parts.Goals), goalOf), in.Paging, func(row goalJSON) string { return row.ID })
}

type createGoal struct {
	api.AppPath
	Body newGoal `body:"json"`
}

// newGoal is the body of POST …/goals.
type newGoal goal.Spec

// Check applies the rules of goals.
func (c *createGoal) Check(*route.Call) []domain.FieldError { return goal.Spec(c.Body).Validate() }

func (g goals) create(ctx context.Context, call *route.Call, in createGoal) (goalJSON, error) {
	made, err := g.goals.CreateGoal(ctx, call.Ref(), goal.Spec(in.Body))
	if err != nil {
		return goalJSON{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/goals/" + made.ID)
	return goalOf(&made), nil
}

type updateGoal struct {
	goalPath
	Body goal.Patch `body:"json"`
}

// Check applies the rules of goals to the present fields.
func (u *updateGoal) Check(*route.Call) []domain.FieldError { return u.Body.Validate() }

func (g goals) update(ctx context.Context, call *route.Call, in updateGoal) (goalJSON, error) {
	changed, err := g.goals.ChangeGoal(ctx, call.Ref(), in.ID, in.Body)
	return goalOf(&changed), err
}

type goalPath struct {
	api.AppPath
	ID string `path:"id" doc:"The goal's id."`
}

func (g goals) delete(ctx context.Context, call *route.Call, in goalPath) (route.Empty, error) {
	return route.Empty{}, g.goals.DeleteGoal(ctx, call.Ref(), in.ID)
}

type getGoalCounts struct {
	api.AppPath
	covered
	api.Paging
}

// goalCount is one row of …/analytics/goals.
type goalCount struct {
	GoalID      string          `json:"goalId"`
	Name        *string         `json:"name" doc:"Null where the goal was deleted since."`
	Kind        *goal.MatchKind `json:"kind" open:"true" doc:"path or event; null where the goal was deleted since."`
	Match       *string         `json:"match" doc:"Null where the goal was deleted since."`
	Conversions uint64          `json:"conversions" doc:"Events that met the goal; one event may meet several goals."`
	Visitors    uint64          `json:"visitors" doc:"Daily uniques, summed over the range."`
}

// goalCountPage is the answer of …/analytics/goals.
type goalCountPage struct {
	domain.Page[goalCount]
	Range       windowShape `json:"range"`
	Environment string      `json:"environment"`
	Capped      bool        `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	sampling
}

func goalCountOf(c *goal.Count) goalCount {
	row := goalCount{GoalID: c.Goal.ID, Conversions: c.Conversions, Visitors: c.Visitors}
	if c.Goal.DeletedAt == nil {
		row.Name, row.Kind, row.Match = &c.Goal.Name, &c.Goal.Kind, &c.Goal.Match
	}
	return row
}

func (g goals) counts(ctx context.Context, call *route.Call, in getGoalCounts) (goalCountPage, error) {
	after, err := goalCountKey(call, in.Cursor)
	if err != nil {
		return goalCountPage{}, err
	}
	scope, err := in.scope(ctx, call, g.segments)
	if err != nil {
		return goalCountPage{}, err
	}
	result, err := g.results.GoalCounts(ctx, scope, call.Parts.Goals)
	if err != nil {
		return goalCountPage{}, err
	}
	rows := slices.DeleteFunc(api.Convert(result.Rows, goalCountOf), func(row goalCount) bool { return after(row) <= 0 })
	limit := min(int(in.Limit), len(rows))
	page := route.PageOf(call, rows[:limit], len(rows) > limit, func(last goalCount) []string {
		return []string{strconv.FormatUint(last.Conversions, 10), last.GoalID}
	})
	return goalCountPage{
		Page: page, Range: windowShape{From: route.Time(in.Range.From), To: route.Time(in.Range.To), Interval: in.Range.Interval},
		Environment: in.Env.Slug, Capped: result.Capped,
	}, nil
}

// goalCountKey reads the position of a cursor: the comparison is positive for rows after it.
func goalCountKey(call *route.Call, cursor string) (func(goalCount) int, error) {
	keyset, err := call.Keyset(cursor, 2)
	if keyset == nil || err != nil {
		return func(goalCount) int { return 1 }, err
	}
	conversions, err := strconv.ParseUint(keyset[0], 10, 64)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return func(row goalCount) int {
		switch {
		case row.Conversions < conversions:
			return 1
		case row.Conversions > conversions:
			return -1
		}
		return strings.Compare(row.GoalID, keyset[1])
	}, nil
}
