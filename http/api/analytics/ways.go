package analytics

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/domain/metric"
	"svc/http/api"
	"svc/http/route"
)

// Ways reads the journeys of visits and the web vitals of pages.
type Ways interface {
	// Journeys returns the pages that visits saw after or before a page or event.
	Journeys(ctx context.Context, query analytics.JourneyQuery) (analytics.Journeys, error)
	// Vitals returns a page of paths or kinds of devices with their web vitals, ordered by the number of observations,
	// the highest first. It also returns whether more follow, and the vitals of all groups together.
	Vitals(ctx context.Context, query metric.VitalsQuery) (page []metric.VitalGroup, more bool, all metric.VitalGroup, err error)
}

// ways serves the routes of journeys and web vitals.
type ways struct {
	ways     Ways
	segments Segments
}

func wayRoutes(ports Ports) []route.Route {
	ways := ways{ports.Ways, ports.Segments}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/journeys", Operation: "analytics.journeys", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Which pages visits saw after or before a page or event, by step", Handler: route.Typed(marked(ports.Sampling, ways.journeys)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/vitals", Operation: "analytics.vitals", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Web vitals by path or kind of device", Handler: route.Typed(ways.vitals),
		},
	}
}

type getJourneys struct {
	api.AppPath
	covered
	From  string       `query:"from" doc:"Where the journeys begin: path:<path>, which may end with *, or event:<name>. One of from and to is needed."`
	To    string       `query:"to" doc:"Where the journeys end, in the same form."`
	Steps journeySteps `query:"steps" doc:"How far to look, from 1 to 6."`
	Limit journeyRows  `query:"limit" doc:"How many values of each step are told apart, from 1 to 25."`
}

// journeySteps is the parameter steps.
type journeySteps int

// Parse reads the number.
func (j *journeySteps) Parse(_ *route.Call, words []string) []domain.FieldError {
	return parseCount((*int)(j), words, "steps", analytics.DefaultJourneySteps, analytics.MaxJourneySteps)
}

// Schema describes the parameter.
func (journeySteps) Schema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "maximum": analytics.MaxJourneySteps, "default": analytics.DefaultJourneySteps}
}

// journeyRows is the parameter limit of journeys.
type journeyRows int

// Parse reads the number.
func (j *journeyRows) Parse(_ *route.Call, words []string) []domain.FieldError {
	return parseCount((*int)(j), words, "limit", analytics.DefaultJourneyRows, analytics.MaxJourneyRows)
}

// Schema describes the parameter.
func (journeyRows) Schema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "maximum": analytics.MaxJourneyRows, "default": analytics.DefaultJourneyRows}
}

// parseCount reads a number from 1 to most.
func parseCount(into *int, words []string, field string, fallback, most int) []domain.FieldError {
	if *into = fallback; len(words) == 0 {
		return nil
	}
	number, err := strconv.Atoi(words[0])
	if err != nil || number < 1 || number > most {
		return []domain.FieldError{{Field: field, Code: "out_of_range", Message: fmt.Sprintf("%s is from 1 to %d.", field, most)}}
	}
	*into = number
	return nil
}

// Check requires exactly one end.
func (g *getJourneys) Check(*route.Call) (problems []domain.FieldError) {
	if (g.From == "") == (g.To == "") {
		problems = append(problems, domain.FieldError{Field: "from", Code: "required", Message: "Exactly one of from and to is needed."})
	} else if _, ok := g.start(); !ok {
		problems = append(problems, domain.FieldError{Field: "from", Code: "invalid_value", Message: "A journey begins or ends at path:<path> or event:<name>."})
	}
	return problems
}

// start returns the end that the request names.
func (g *getJourneys) start() (goal.Matcher, bool) {
	kind, match, ok := strings.Cut(g.From+g.To, ":")
	matcher := goal.Matcher{Kind: goal.MatchKind(kind), Match: match}
	return matcher, ok && match != "" && (matcher.Kind == goal.MatchPath || matcher.Kind == goal.MatchEvent)
}

// journeyLink is the number of visits that went from one value to the next.
type journeyLink struct {
	Step     int     `json:"step" doc:"From 1 on, away from the start."`
	Value    *string `json:"value" doc:"The path that the link begins at; null for the start of step 1, and for others."`
	Other    bool    `json:"other" doc:"The link begins at a value that is not told apart."`
	To       *string `json:"to" doc:"The path that it leads to; null for the end of the visit, and for others."`
	ToOther  bool    `json:"toOther" doc:"The link leads to a value that is not told apart."`
	End      bool    `json:"end" doc:"The visit ended here, or began here where journeys lead to the start."`
	Sessions uint64  `json:"sessions"`
}

func journeyLinkOf(l *analytics.JourneyLink) journeyLink {
	return journeyLink{Step: l.Step, Value: api.OrNull(l.Value), Other: l.FromOther, To: api.OrNull(l.To), ToOther: l.Other, End: l.End, Sessions: l.Sessions}
}

// journeysShown is the answer of …/analytics/journeys.
type journeysShown struct {
	Start       goal.Matcher               `json:"start"`
	Direction   analytics.JourneyDirection `json:"direction" enum:"from,to"`
	Sessions    uint64                     `json:"sessions" doc:"Visits that met the start."`
	Links       []journeyLink              `json:"links" doc:"By step, the most frequent first."`
	Capped      bool                       `json:"capped" doc:"The numbers describe the newest 100000 visits of the last 90 days of the range."`
	Environment string                     `json:"environment"`
	sampling
}

func (w ways) journeys(ctx context.Context, call *route.Call, in getJourneys) (journeysShown, error) {
	start, _ := in.start()
	scope, err := in.scope(ctx, call, w.segments)
	if err != nil {
		return journeysShown{}, err
	}
	query := analytics.JourneyQuery{Scope: scope, Direction: analytics.JourneyFrom, Start: start, Steps: int(in.Steps), Rows: int(in.Limit)}
	if in.To != "" {
		query.Direction = analytics.JourneyTo
	}
	found, err := w.ways.Journeys(ctx, query)
	if err != nil {
		return journeysShown{}, err
	}
	return journeysShown{
		Start: start, Direction: query.Direction, Sessions: found.Sessions, Links: api.Convert(found.Links, journeyLinkOf), Capped: found.Capped, Environment: in.Env.Slug,
	}, nil
}

// vitalsBy is the parameter by of the vitals.
type vitalsBy string

// Parse reads the word; the default is paths.
func (b *vitalsBy) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := vitalsByChoice().Parse(words)
	*b = vitalsBy(word)
	return problems
}

// Schema describes the parameter.
func (vitalsBy) Schema() route.Schema { return vitalsByChoice().Schema() }

func vitalsByChoice() api.Choice {
	return api.Choice{Field: "by", What: "group", Fallback: "path", Allowed: []string{"path", "device"}}
}

type getVitals struct {
	api.AppPath
	api.Paging
	Env    api.Env  `query:"env" doc:"The environment's slug."`
	Range  window   `query:"range" doc:"The span of time; custom:<YYYY-MM-DD>..<YYYY-MM-DD> takes up to 400 days."`
	By     vitalsBy `query:"by" doc:"What the rows are."`
	Path   string   `query:"path" doc:"Keeps the observations of one path."`
	Device string   `query:"device" doc:"Keeps the observations of mobile, tablet or desktop devices."`
}

// vitalScore shows the 75th percentile, the shares and the rating of one vital.
type vitalScore struct {
	Samples uint64             `json:"samples"`
	P75     float64            `json:"p75" doc:"Within 1 %."`
	Unit    string             `json:"unit"`
	Rating  metric.VitalRating `json:"rating" doc:"Of the p75, as web.dev judges it."`
	Good    float64            `json:"good" doc:"The share of good observations, 0..1."`
	Poor    float64            `json:"poor" doc:"The share of poor ones."`
}

// vitalScores contains the five vitals; a vital without observations is null.
type vitalScores struct {
	LCP  *vitalScore `json:"LCP"`
	INP  *vitalScore `json:"INP"`
	CLS  *vitalScore `json:"CLS"`
	FCP  *vitalScore `json:"FCP"`
	TTFB *vitalScore `json:"TTFB"`
}

func vitalScoresOf(group *metric.VitalGroup) vitalScores {
	score := func(vital string) *vitalScore {
		bins := group.Vitals[vital]
		found := bins.Score(vital)
		if found == nil {
			return nil
		}
		return &vitalScore{Samples: found.Samples, P75: found.P75, Unit: metric.VitalUnit(vital), Rating: found.Rating, Good: found.Good, Poor: found.Poor}
	}
	return vitalScores{LCP: score("LCP"), INP: score("INP"), CLS: score("CLS"), FCP: score("FCP"), TTFB: score("TTFB")}
}

// vitalRow is one path or kind of device.
type vitalRow struct {
	Value   *string     `json:"value" doc:"Null where the browser did not say."`
	Samples uint64      `json:"samples" doc:"Observations of all vitals."`
	Vitals  vitalScores `json:"vitals"`
}

// vitalPage is the answer of …/analytics/vitals.
type vitalPage struct {
	domain.Page[vitalRow]
	Totals      vitalScores `json:"totals"`
	By          string      `json:"by"`
	Environment string      `json:"environment"`
}

func (w ways) vitals(ctx context.Context, call *route.Call, in getVitals) (vitalPage, error) {
	query := metric.VitalsQuery{Environment: in.Env.Environment, Window: in.Range.Window, By: string(in.By), Path: in.Path, Device: in.Device, Limit: int(in.Limit)}
	keyset, err := call.Keyset(in.Cursor, 2)
	if err != nil {
		return vitalPage{}, err
	}
	if keyset != nil {
		samples, err := strconv.ParseUint(keyset[0], 10, 64)
		if err != nil {
			return vitalPage{}, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
		}
		query.After = &metric.VitalKey{Samples: samples, Value: keyset[1]}
	}
	rows, more, all, err := w.ways.Vitals(ctx, query)
	if err != nil {
		return vitalPage{}, err
	}
	page := route.PageOf(call, api.Convert(rows, func(g *metric.VitalGroup) vitalRow {
		return vitalRow{Value: api.OrNull(g.Value), Samples: g.Samples, Vitals: vitalScoresOf(g)}
	}), more, func(vitalRow) []string {
		last := rows[len(rows)-1]
		return []string{strconv.FormatUint(last.Samples, 10), last.Value}
	})
	return vitalPage{Page: page, Totals: vitalScoresOf(&all), By: string(in.By), Environment: in.Env.Slug}, nil
}
