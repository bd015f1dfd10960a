package flags

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/flag"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Results reads the conversions of the people that saw variants.
type Results interface {
	// FlagResults returns the people that were served the variants of a flag in a window, and how many of them reached
	// the goals afterwards.
	FlagResults(ctx context.Context, q flag.ResultQuery) (flag.Totals, error)
}

type results struct {
	flags  Flags
	totals Results
}

func resultRoutes(ports Ports) []route.Route {
	r := results{ports.Flags, ports.Results}
	return []route.Route{{
		Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/flags/{key}/results", Operation: "flags.results", Module: domain.ModuleFlags, Scope: domain.ScopeRead, Permission: domain.PermFlagsRead, Effect: route.Read, Rate: domain.RateQuery,
		AppPart: share.AppGoals, Summary: "Exposures and conversions of goals by variant, with intervals; needs analytics.read as well", Handler: route.Typed(r.results),
	}}
}

type flagResults struct {
	flagPath
	Env   api.Env  `query:"env" doc:"The environment's slug."`
	Range window   `query:"range" doc:"24h, 7d, 14d, 30d, 90d, 12m, today, yesterday or custom:<YYYY-MM-DD>..<YYYY-MM-DD>; 7d where it is absent."`
	Goal  []string `query:"goal" doc:"The ids of goals; all goals where it is absent."`
}

// window is the parameter range, in the application's time zone.
type window struct{ domain.Window }

// Parse reads the range.
func (w *window) Parse(call *route.Call, words []string) []domain.FieldError {
	parsed, problem := domain.ParseWindow(api.First(words), call.Now, call.App.Location())
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (window) Schema() route.Schema {
	return route.Schema{"type": "string", "default": domain.DefaultWindow, "examples": []string{"30d", "custom:2026-01-01..2026-01-31"}}
}

// shownRange is a range in an answer.
type shownRange struct {
	From route.Time `json:"from"`
	To   route.Time `json:"to"`
	Key  string     `json:"key"`
}

// variantResult shows the conversions of one variant to a goal.
type variantResult struct {
	Variant     string   `json:"variant" doc:"off where a multivariate flag served nothing."`
	Exposed     uint64   `json:"exposed" doc:"Persons who were served the variant first."`
	Conversions uint64   `json:"conversions" doc:"Of these, who reached the goal afterwards."`
	Rate        *float64 `json:"rate" doc:"conversions by exposed; null where nobody was exposed."`
	Low         float64  `json:"low" doc:"The lower end of the interval of the rate: Wilson, 95 percent."`
	High        float64  `json:"high" doc:"Its upper end."`
}

// goalResult shows the conversions of all variants to one goal.
type goalResult struct {
	GoalID   string          `json:"goalId"`
	Name     string          `json:"name"`
	Variants []variantResult `json:"variants"`
	Winner   *string         `json:"winner" doc:"The variant whose rate is higher than that of each other one at 95 percent; null where the data do not support any."`
	Why      *string         `json:"why" doc:"Why there is no winner: too_few_exposures (each variant needs 100), no_clear_difference, one_variant." enum:"too_few_exposures,no_clear_difference,one_variant"`
}

// variantExposure is the number of persons that saw one variant.
type variantExposure struct {
	Variant     string `json:"variant"`
	Exposed     uint64 `json:"exposed"`
	Several     uint64 `json:"several" doc:"Of these, who were served another variant later."`
	Evaluations uint64 `json:"evaluations"`
}

// dayCount is the number of evaluations on a day.
type dayCount struct {
	Day     string `json:"day" doc:"A day of UTC."`
	Variant string `json:"variant"`
	Count   uint64 `json:"count"`
}

// flagResult is the answer of …/results.
type flagResult struct {
	Key         string            `json:"key"`
	Environment string            `json:"environment"`
	Range       shownRange        `json:"range"`
	Exposures   []variantExposure `json:"exposures"`
	Evaluations []dayCount        `json:"evaluations" doc:"By day and variant."`
	Goals       []goalResult      `json:"goals"`
	Method      string            `json:"method"`
}

// method names the sources of the intervals.
const method = "Wilson score intervals at 95% (1927); a winner needs Newcombe's interval of the difference (1998, method 10) above zero for every other variant, with Bonferroni's correction."

func (r results) results(ctx context.Context, call *route.Call, in flagResults) (flagResult, error) {
	if !call.Grant.May(domain.PermAnalyticsRead) {
		return flagResult{}, &domain.Error{Code: domain.CodeForbidden, Message: "The token lacks the permission analytics.read.", Required: &domain.Required{Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead}}
	}
	if _, err := r.flags.Get(ctx, call.Ref(), in.Key); err != nil {
		return flagResult{}, err
	}
	query := flag.ResultQuery{Environment: in.Env.Number, Flag: in.Key, From: in.Range.From, To: in.Range.To}
	for _, goal := range call.Parts.Goals {
		if goal.DeletedAt == nil && (len(in.Goal) == 0 || slices.Contains(in.Goal, goal.ID)) {
			query.Goals = append(query.Goals, goal)
		}
	}
	totals, err := r.totals.FlagResults(ctx, query)
	if err != nil {
		return flagResult{}, err
	}
	answer := flagResult{Key: in.Key, Environment: in.Env.Slug, Range: shownRange{route.Time(in.Range.From), route.Time(in.Range.To), in.Range.Key}, Method: method, Goals: []goalResult{}, Exposures: exposuresOf(&totals), Evaluations: []dayCount{}}
	for _, day := range totals.Days {
		answer.Evaluations = append(answer.Evaluations, dayCount{day.Day.Format("2006-01-02"), shownVariant(day.Variant), day.Count})
	}
	for n := range query.Goals {
		answer.Goals = append(answer.Goals, resultOf(&query.Goals[n], &totals))
	}
	return answer, nil
}

func shownVariant(key string) string {
	if key == "" {
		return flag.Off
	}
	return key
}

// exposuresOf returns the persons that saw the variants, and the number of evaluations.
func exposuresOf(totals *flag.Totals) []variantExposure {
	rows := []variantExposure{}
	for _, exposed := range totals.Exposed {
		row := variantExposure{Variant: shownVariant(exposed.Variant), Exposed: exposed.Persons, Several: exposed.Several}
		for _, day := range totals.Days {
			if day.Variant == exposed.Variant {
				row.Evaluations += day.Count
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// resultOf judges one goal.
func resultOf(goal *goal.Goal, totals *flag.Totals) goalResult {
	result := goalResult{GoalID: goal.ID, Name: goal.Name, Variants: []variantResult{}}
	var arms []flag.Arm
	for _, exposed := range totals.Exposed {
		arm := flag.Arm{Variant: shownVariant(exposed.Variant), Exposed: exposed.Persons, Conversions: totals.Conversions[goal.ID][exposed.Variant]}
		arms = append(arms, arm)
		row := variantResult{Variant: arm.Variant, Exposed: arm.Exposed, Conversions: arm.Conversions}
		if arm.Exposed > 0 {
			rate := float64(arm.Conversions) / float64(arm.Exposed)
			row.Rate = &rate
		}
		row.Low, row.High = flag.Wilson95(arm.Conversions, arm.Exposed)
		result.Variants = append(result.Variants, row)
	}
	winner, why := flag.Winner(arms)
	result.Winner, result.Why = api.OrNull(winner), api.OrNull(why)
	return result
}
