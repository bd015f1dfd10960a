package analytics

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Reads serves the breakdowns, cohorts and rolling uniques.
type Reads interface {
	// Breakdown returns a page of the values of a dimension. An event that matches a goal is a
	// conversion.
	Breakdown(ctx context.Context, query analytics.BreakdownQuery, goals []goal.Matcher) (analytics.Breakdown, error)
	// Retention returns dense cohorts.
	Retention(ctx context.Context, query analytics.RetentionQuery) (analytics.Retention, error)
	// ActiveUsers returns dense series.
	ActiveUsers(ctx context.Context, scope analytics.Scope) (analytics.ActiveUsers, error)
}

// reads serves the routes of breakdowns, retention and active users.
type reads struct {
	reads    Reads
	segments Segments
}

// readRoutes lists the analytic reads other than overview and timeseries.
func readRoutes(ports Ports) []route.Route {
	reads := reads{reads: ports.Reads, segments: ports.Segments}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/breakdown", Operation: "analytics.breakdown", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Top values for one dimension", Handler: route.Typed(marked(ports.Sampling, reads.breakdown)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/retention", Operation: "analytics.retention", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Cohort retention", Handler: route.Typed(marked(ports.Sampling, reads.retention)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/active-users", Operation: "analytics.activeUsers", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Active users a day, a week and a month, and their ratio", Handler: route.Typed(marked(ports.Sampling, reads.activeUsers)),
		},
	}
}

// dimension is the parameter dimension of a breakdown.
type dimension filter.Dimension

// Parse reads the dimension.
func (d *dimension) Parse(_ *route.Call, words []string) []domain.FieldError {
	parsed, problem := filter.ParseBreakdownDimension(api.First(words))
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	*d = dimension(parsed)
	return nil
}

// Schema describes the parameter.
func (dimension) Schema() route.Schema {
	return route.Schema{"anyOf": []any{
		route.Schema{"type": "string", "enum": api.Words(filter.Dimensions())},
		route.Schema{"type": "string", "pattern": `^property\..+`, "maxLength": len(filter.PropertyPrefix) + filter.MaxPropertyKey},
	}}
}

// rankLimit is the parameter limit of a breakdown.
type rankLimit int

// Parse reads the page size.
func (l *rankLimit) Parse(_ *route.Call, words []string) []domain.FieldError {
	limit, problem := domain.ParseLimit(api.First(words), domain.BreakdownPageSize, analytics.MaxBreakdownPageSize)
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	*l = rankLimit(limit)
	return nil
}

// Schema describes the parameter.
func (rankLimit) Schema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "default": domain.BreakdownPageSize}
}

type getBreakdown struct {
	api.AppPath
	covered
	Dimension dimension `query:"dimension" doc:"What the rows are values of: one of the dimensions, or property.<key>." required:"true"`
	Search    string    `query:"search" doc:"Keeps the values that hold it, in any case."`
	Limit     rankLimit `query:"limit" doc:"Rows of a page; more than 100 means 100."`
	Cursor    string    `query:"cursor" doc:"The nextCursor of the page before."`
}

// breakdownRow is one value of the dimension.
type breakdownRow struct {
	Value       string  `json:"value"`
	Visitors    uint64  `json:"visitors" doc:"Daily uniques, summed over the range."`
	Pageviews   uint64  `json:"pageviews"`
	Sessions    uint64  `json:"sessions"`
	BounceRate  float64 `json:"bounceRate" doc:"0..1"`
	Conversions uint64  `json:"conversions" doc:"The goals that the row's visitors completed."`
}

// breakdownPage is the answer of …/analytics/breakdown.
type breakdownPage struct {
	domain.Page[breakdownRow]
	Dimension   string `json:"dimension"`
	Capped      bool   `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Environment string `json:"environment"`
	sampling
}

func (r reads) breakdown(ctx context.Context, call *route.Call, in getBreakdown) (breakdownPage, error) {
	scope, err := in.scope(ctx, call, r.segments)
	if err != nil {
		return breakdownPage{}, err
	}
	query := analytics.BreakdownQuery{
		Scope: scope, Dimension: filter.Dimension(in.Dimension), Search: in.Search,
		Masked: !call.Grant.May(domain.PermPeoplePIIRead), Fields: call.App.Personal(), Limit: int(in.Limit),
	}
	if query.After, err = breakdownKey(call, in.Cursor); err != nil {
		return breakdownPage{}, err
	}
	result, err := r.reads.Breakdown(ctx, query, goal.Matchers(call.Parts.Goals))
	if err != nil {
		return breakdownPage{}, err
	}
	rows := api.Convert(result.Rows, func(row *analytics.BreakdownRow) breakdownRow {
		return breakdownRow{
			Value: row.Value, Visitors: row.Visitors, Pageviews: row.Pageviews, Sessions: row.Sessions,
			BounceRate: finite(row.BounceRate), Conversions: row.Conversions,
		}
	})
	page := route.PageOf(call, rows, result.More, func(last breakdownRow) []string {
		return []string{strconv.FormatUint(last.Visitors, 10), strconv.FormatUint(last.Pageviews, 10), last.Value}
	})
	return breakdownPage{Page: page, Dimension: string(in.Dimension), Capped: result.Capped, Environment: in.Env.Slug}, nil
}

// breakdownKey reads the position of a cursor in the ranking.
func breakdownKey(call *route.Call, cursor string) (*analytics.BreakdownKey, error) {
	keyset, err := call.Keyset(cursor, 3)
	if keyset == nil || err != nil {
		return nil, err
	}
	key := analytics.BreakdownKey{Value: keyset[2]}
	if _, err := fmt.Sscan(keyset[0]+" "+keyset[1], &key.Visitors, &key.Pageviews); err != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &key, nil
}

// cohortBy is the parameter cohortBy of a retention read.
type cohortBy domain.Interval

// Parse reads the width of the cohorts.
func (c *cohortBy) Parse(_ *route.Call, words []string) []domain.FieldError {
	parsed, problem := analytics.ParseCohortInterval(api.First(words))
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	*c = cohortBy(parsed)
	return nil
}

// Schema describes the parameter.
func (cohortBy) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": api.Words(analytics.CohortIntervals()), "default": string(domain.Week)}
}

type getRetention struct {
	api.AppPath
	covered
	CohortBy cohortBy `query:"cohortBy" doc:"The width of a cohort; weeks begin on Monday."`
	Event    string   `query:"event" doc:"The only event that counts as activity; any where it is absent."`
}

// cohort is one row of a retention table.
type cohort struct {
	Cohort  string   `json:"cohort" doc:"The first day of the period, in the application's time zone."`
	Size    uint64   `json:"size"`
	Periods []uint64 `json:"periods" doc:"Who was active so many periods later, up to the end of the range; the first one is the size."`
}

// retention is the answer of …/analytics/retention.
type retention struct {
	CohortBy    domain.Interval `json:"cohortBy"`
	Capped      bool            `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Environment string          `json:"environment"`
	Cohorts     []cohort        `json:"cohorts" doc:"Dense: a period without newcomers is a cohort of size 0."`
	sampling
}

func (r reads) retention(ctx context.Context, call *route.Call, in getRetention) (retention, error) {
	scope, err := in.scope(ctx, call, r.segments)
	if err != nil {
		return retention{}, err
	}
	query := analytics.RetentionQuery{Scope: scope, CohortBy: domain.Interval(in.CohortBy), Event: in.Event}
	result, err := r.reads.Retention(ctx, query)
	if err != nil {
		return retention{}, err
	}
	cohorts := api.Convert(result.Cohorts, func(c *analytics.Cohort) cohort {
		return cohort{Cohort: c.From.Format(time.DateOnly), Size: c.Size, Periods: c.Periods}
	})
	return retention{CohortBy: result.CohortBy, Capped: result.Capped, Environment: in.Env.Slug, Cohorts: cohorts}, nil
}

type getActiveUsers struct {
	api.AppPath
	covered
}

// activeUsers is the answer of …/analytics/active-users.
type activeUsers struct {
	Capped      bool    `json:"capped" doc:"The series cover the last 90 days of the range."`
	Environment string  `json:"environment"`
	DAU         []point `json:"dau" doc:"Visitors of the day. Every series is dense."`
	WAU         []point `json:"wau" doc:"Visitors of the 7 days that end with the day."`
	MAU         []point `json:"mau" doc:"Visitors of the 30 days that end with the day."`
	Stickiness  []point `json:"stickiness" doc:"DAU/MAU of the day, 0..1."`
	sampling
}

func (r reads) activeUsers(ctx context.Context, call *route.Call, in getActiveUsers) (activeUsers, error) {
	scope, err := in.scope(ctx, call, r.segments)
	if err != nil {
		return activeUsers{}, err
	}
	result, err := r.reads.ActiveUsers(ctx, scope)
	if err != nil {
		return activeUsers{}, err
	}
	points := func(series []analytics.Point) []point {
		return api.Convert(series, func(p *analytics.Point) point { return point{T: route.Time(p.T), Value: finite(p.Value)} })
	}
	return activeUsers{
		Capped: result.Capped, Environment: in.Env.Slug, DAU: points(result.DAU), WAU: points(result.WAU),
		MAU: points(result.MAU), Stickiness: points(result.Stickiness),
	}, nil
}
