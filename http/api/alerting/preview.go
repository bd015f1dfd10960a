package alerting

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/api"
	"svc/http/route"
)

// Previews evaluates alert rules on past data.
type Previews interface {
	// Preview returns the firings that a rule of an environment would have had in the last alert.PreviewTime. The rule is
	// a new one, or the rule with an id and a patch. It fails as Alerts.PutRule does.
	Preview(ctx context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch, now time.Time) (alert.Preview, error)
}

// previewRoutes returns the row of previews.
func previewRoutes(ports Ports) []route.Route {
	previews := previews{ports.Previews}
	return []route.Route{{
		Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/alerts/preview", Operation: "alerts.preview", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateQuery,
		Summary: "When a rule would have fired in the last 7 days; nothing is stored", Handler: route.Typed(previews.preview),
	}}
}

// previews serves the route of previews.
type previews struct{ previews Previews }

type previewAlert struct {
	api.AppPath
	Env  api.Env   `query:"env" doc:"The environment of a new rule; a rule that is named by its id has its own."`
	Body alertBody `body:"json"`
}

// Check requires the mandatory fields of a rule.
func (p *previewAlert) Check(*route.Call) []domain.FieldError {
	body := &p.Body
	if body.ID == nil && body.Threshold == nil && valueOf(body.Kind) != string(alert.NewIssue) {
		return []domain.FieldError{{Field: "threshold", Code: "required", Message: "The field threshold is required."}}
	}
	return nil
}

// firing is one time that a rule would have fired.
type firing struct {
	StartedAt   route.Time  `json:"startedAt"`
	ResolvedAt  *route.Time `json:"resolvedAt" doc:"Null if it would fire now."`
	Title       string      `json:"title"`
	Value       *float64    `json:"value"`
	Occurrences uint64      `json:"occurrences"`
	Notices     int         `json:"notices" doc:"How many notices each channel would have got."`
}

// previewPoint shows a value that the rule would have judged.
type previewPoint struct {
	T     route.Time `json:"t"`
	Value *float64   `json:"value" doc:"Null without data."`
}

// alertPreview is the answer of …/alerts/preview.
type alertPreview struct {
	From        route.Time     `json:"from"`
	To          route.Time     `json:"to"`
	StepSeconds *int           `json:"stepSeconds" doc:"The time between two values that were looked at; null of rules that are told of each."`
	Firings     []firing       `json:"firings" doc:"The oldest first."`
	Points      []previewPoint `json:"points" doc:"At most 500 of the values, evenly spread."`
	Notices     int            `json:"notices" doc:"Of all firings."`
}

func (p previews) preview(ctx context.Context, call *route.Call, in previewAlert) (alertPreview, error) {
	id := valueOf(in.Body.ID)
	if in.Body.ID != nil && id == "" {
		return alertPreview{}, domain.NotFound("alert rule")
	}
	found, err := p.previews.Preview(ctx, call.Ref(), id, in.Env.Environment, in.Body.patch(), call.Now)
	if err != nil {
		return alertPreview{}, err
	}
	text := textOf(call)
	out := alertPreview{
		From: route.Time(found.From), To: route.Time(found.To),
		Firings: api.Convert(found.Firings, func(f *alert.PreviewFiring) firing {
			return firing{StartedAt: route.Time(f.StartedAt), ResolvedAt: route.TimeOf(f.ResolvedAt), Title: text(f.Title), Value: f.Value, Occurrences: f.Occurrences, Notices: f.Notices}
		}),
		Points: api.Convert(found.Points, func(p *alert.PreviewPoint) previewPoint { return previewPoint{T: route.Time(p.At), Value: p.Value} }),
	}
	for i := range out.Firings {
		out.Notices += out.Firings[i].Notices
	}
	if found.Step > 0 {
		seconds := int(found.Step / time.Second)
		out.StepSeconds = &seconds
	}
	return out, nil
}
