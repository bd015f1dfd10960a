package people

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/funnel"
	"svc/http/api"
	"svc/http/route"
)

// DropOffs finds the people that drop off in funnels.
type DropOffs interface {
	// DroppedOff returns the numbers of the persons that entered a funnel in a window and went no further than a step,
	// which counts from 1. If they are more than funnel.MaxDropOffs, it returns the ones that began last.
	DroppedOff(ctx context.Context, scope analytics.Scope, funnel funnel.Funnel, step int) ([]uint64, error)
}

// dropOff contains the parameters that select the people that dropped off at a step of a funnel.
type dropOff struct {
	Funnel string     `query:"funnel" doc:"People who dropped off at a step of the funnel, by its id; needs analytics.read. Of more than 5000, those who began last."`
	Step   stepParam  `query:"step" doc:"With funnel: the last step that they took, counted from 1; not the last one of the funnel."`
	Range  entryRange `query:"range" doc:"With funnel: when they took its first step, as in the funnel's results."`
}

// Check refuses a funnel without a step, and a step without a funnel.
func (d *dropOff) Check(*route.Call) []domain.FieldError {
	switch {
	case d.Funnel != "" && d.Step == 0:
		return []domain.FieldError{{Field: "step", Code: "missing_value", Message: "A list of who dropped off in a funnel needs the step."}}
	case d.Funnel == "" && d.Step != 0:
		return []domain.FieldError{{Field: "funnel", Code: "missing_value", Message: "A step needs the funnel that it is one of."}}
	}
	return nil
}

// stepParam is the parameter step; 0 if the request names none.
type stepParam int

// Parse reads the step.
func (s *stepParam) Parse(_ *route.Call, words []string) []domain.FieldError {
	word := api.First(words)
	if word == "" {
		return nil
	}
	step, err := strconv.Atoi(word)
	if err != nil || step < 1 || step >= funnel.MaxFunnelSteps {
		return []domain.FieldError{{Field: "step", Code: "out_of_range", Message: fmt.Sprintf("A step is a whole number from 1 to %d.", funnel.MaxFunnelSteps-1)}}
	}
	*s = stepParam(step)
	return nil
}

// Schema describes the parameter.
func (stepParam) Schema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "maximum": funnel.MaxFunnelSteps - 1}
}

// entryRange is the parameter range, in the application's time zone.
type entryRange struct{ domain.Window }

// Parse reads the range word; relative ranges end at the request.
func (e *entryRange) Parse(call *route.Call, words []string) []domain.FieldError {
	parsed, problem := domain.ParseWindow(api.First(words), call.Now, call.App.Location())
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	e.Window = parsed
	return nil
}

// Schema describes the parameter.
func (entryRange) Schema() route.Schema {
	return route.Schema{"type": "string", "default": domain.DefaultWindow, "examples": []string{"24h", "30d", "today", "custom:2026-01-01..2026-01-31"}}
}

// whoDroppedOff returns the numbers of the people that the parameters select. It requires the same access as reading
// the funnel. It also requires people.pii.read if the steps use data that is masked without it.
func (d dossiers) whoDroppedOff(ctx context.Context, call *route.Call, environment domain.Environment, in dropOff) ([]uint64, error) {
	if !slices.Contains(call.App.Modules, domain.ModuleAnalytics) {
		return nil, unknownFunnel("The application has no funnels: its module analytics is off.")
	}
	if !call.Grant.May(domain.PermAnalyticsRead) {
		return nil, &domain.Error{Code: domain.CodeForbidden, Required: &domain.Required{Permission: domain.PermAnalyticsRead}, Message: "A list of who dropped off in a funnel needs analytics.read."}
	}
	at := slices.IndexFunc(call.Parts.Funnels, func(f funnel.Funnel) bool { return f.ID == in.Funnel })
	if at < 0 {
		return nil, unknownFunnel("The application has no funnel of this id.")
	}
	funnel := call.Parts.Funnels[at]
	if int(in.Step) >= len(funnel.Steps) {
		return nil, domain.Invalid(domain.FieldError{
			Field: "step", Code: "out_of_range", Message: fmt.Sprintf("Of the funnel's %d steps, people drop off at one from 1 to %d.", len(funnel.Steps), len(funnel.Steps)-1),
		})
	}
	if funnel.Personal() && !call.Grant.May(domain.PermPeoplePIIRead) {
		return nil, &domain.Error{
			Code: domain.CodeForbidden, Required: &domain.Required{Permission: domain.PermPeoplePIIRead},
			Message: "The funnel's steps ask for what is masked to you; its people need people.pii.read.",
		}
	}
	scope := analytics.Scope{App: call.Ref(), Environment: environment, Window: in.Range.Window}
	return d.dropOffs.DroppedOff(ctx, scope, funnel, int(in.Step))
}

func unknownFunnel(message string) error {
	return domain.Invalid(domain.FieldError{Field: "funnel", Code: "unknown_funnel", Message: message})
}
