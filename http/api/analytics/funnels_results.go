package analytics

import (
	"context"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/http/api"
	"svc/http/route"
)

type getFunnelResult struct {
	funnelPath
	Env         api.Env     `query:"env" doc:"The environment's slug."`
	Range       window      `query:"range" doc:"When persons take the first step; custom:<YYYY-MM-DD>..<YYYY-MM-DD> takes up to 400 days."`
	IncludeBots bool        `query:"includeBots" doc:"Count bots as well." default:"false"`
	Breakdown   funnelSplit `query:"breakdown" doc:"Answer the steps for each value of a dimension of the first event that takes the first step, too: one of the dimensions, or property.<key>."`
}

func (g getFunnelResult) environment() uint64 { return g.Env.Number }

// funnelSplit is the parameter breakdown; empty if the request names none.
type funnelSplit filter.Dimension

// Parse reads the dimension.
func (f *funnelSplit) Parse(_ *route.Call, words []string) []domain.FieldError {
	parsed, problem := funnel.ParseFunnelDimension(api.First(words))
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	*f = funnelSplit(parsed)
	return nil
}

// Schema describes the parameter.
func (funnelSplit) Schema() route.Schema {
	return route.Schema{"anyOf": []any{
		route.Schema{"type": "string", "enum": api.Words(funnel.Dimensions())},
		route.Schema{"type": "string", "pattern": `^property\..+`, "maxLength": len(filter.PropertyPrefix) + filter.MaxPropertyKey},
	}}
}

// funnelRow is one step of the results.
type funnelRow struct {
	Step           int      `json:"step"`
	Name           string   `json:"name" doc:"What the step matches."`
	Entered        uint64   `json:"entered" doc:"Persons who took the step."`
	Converted      uint64   `json:"converted" doc:"Those of them who took the next step; whoever took the last step has converted."`
	ConversionRate float64  `json:"conversionRate" doc:"0..1"`
	DropOff        uint64   `json:"dropOff" doc:"entered - converted"`
	MedianSeconds  *float64 `json:"medianSeconds" doc:"Median time from the step before to this one; null for the first step and where nobody entered."`
}

func funnelRowOf(r *funnel.Row) funnelRow {
	return funnelRow{
		Step: r.Step, Name: r.Name, Entered: r.Entered, Converted: r.Converted, ConversionRate: finite(r.ConversionRate),
		DropOff: r.DropOff, MedianSeconds: r.MedianSeconds,
	}
}

// funnelResult is the answer of …/funnels/{id}/results.
type funnelResult struct {
	Funnel      funnelJSON       `json:"funnel"`
	Steps       []funnelRow      `json:"steps"`
	Breakdown   *funnelBreakdown `json:"breakdown" doc:"null where the request names no dimension."`
	Range       windowShape      `json:"range"`
	Environment string           `json:"environment"`
	Capped      bool             `json:"capped" doc:"Steps have filters, or the breakdown is by a custom property, and the numbers describe those who entered in the last 90 days of the range."`
	sampling
}

// funnelBreakdown is the results by the values of a dimension.
type funnelBreakdown struct {
	Dimension string        `json:"dimension"`
	Values    []funnelValue `json:"values" doc:"The 25 values that most persons entered with. Without people.pii.read, personal values are masked and count together."`
}

type funnelValue struct {
	Value *string     `json:"value" doc:"null for those whose event has no value."`
	Steps []funnelRow `json:"steps"`
}

func (f funnels) rows(ctx context.Context, call *route.Call, in getFunnelResult) (funnelResult, error) {
	found, err := funnelWith(call, in.ID)
	if err != nil {
		return funnelResult{}, err
	}
	scope := analytics.Scope{App: call.Ref(), Environment: in.Env.Environment, Window: in.Range.Window, IncludeBots: in.IncludeBots}
	var result funnel.Result
	if in.Breakdown == "" {
		result, err = f.results.FunnelResult(ctx, scope, found)
	} else {
		split := funnel.Split{Dimension: filter.Dimension(in.Breakdown), Masked: !call.Grant.May(domain.PermPeoplePIIRead), Fields: call.App.Personal()}
		result, err = f.results.FunnelSplit(ctx, scope, found, split)
	}
	if err != nil {
		return funnelResult{}, err
	}
	out := funnelResult{
		Funnel: funnelOf(&found), Steps: api.Convert(result.Rows, funnelRowOf), Environment: in.Env.Slug, Capped: result.Capped,
		Range: windowShape{From: route.Time(in.Range.From), To: route.Time(in.Range.To), Interval: in.Range.Interval},
	}
	if in.Breakdown != "" {
		out.Breakdown = &funnelBreakdown{Dimension: string(in.Breakdown), Values: api.Convert(result.Values, func(v *funnel.Value) funnelValue {
			return funnelValue{Value: api.OrNull(v.Value), Steps: api.Convert(v.Rows, funnelRowOf)}
		})}
	}
	return out, nil
}
