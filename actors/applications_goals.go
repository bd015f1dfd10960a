package actors

import (
	"context"

	"svc"
)

// Goals returns the goals of an application by id, those that were deleted among them.
func (a *Applications) Goals(ctx context.Context, ref svc.AppRef) ([]svc.Goal, error) {
	return onApp[[]svc.Goal](ctx, a, ref, "goals", none{})
}

// CreateGoal makes a goal, which counts in the next read. It fails with invalid_request
// where the pair of kind and match is taken.
func (a *Applications) CreateGoal(ctx context.Context, ref svc.AppRef, spec svc.GoalSpec) (svc.Goal, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Goal{}, svc.Invalid(problems...)
	}
	return onApp[svc.Goal](ctx, a, ref, "goal.create", createGoal{ID: a.Chance.ID("goal_"), Spec: spec})
}

// DeleteGoal ends a goal; what was converted before stays in its results.
func (a *Applications) DeleteGoal(ctx context.Context, ref svc.AppRef, id string) error {
	_, err := onApp[none](ctx, a, ref, "goal.delete", deleteGoal{ID: id})
	return err
}

// Funnels returns the funnels of an application by id.
func (a *Applications) Funnels(ctx context.Context, ref svc.AppRef) ([]svc.Funnel, error) {
	return onApp[[]svc.Funnel](ctx, a, ref, "funnels", none{})
}

// Funnel returns one funnel.
func (a *Applications) Funnel(ctx context.Context, ref svc.AppRef, id string) (svc.Funnel, error) {
	return onApp[svc.Funnel](ctx, a, ref, "funnel.get", findFunnel{ID: id})
}

// CreateFunnel saves a funnel.
func (a *Applications) CreateFunnel(ctx context.Context, ref svc.AppRef, spec svc.FunnelSpec) (svc.Funnel, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Funnel{}, svc.Invalid(problems...)
	}
	funnel := svc.NewFunnel(spec, a.Chance.ID("fun_"), a.Now())
	return onApp[svc.Funnel](ctx, a, ref, "funnel.create", createFunnel{Funnel: funnel})
}

// DeleteFunnel removes a funnel.
func (a *Applications) DeleteFunnel(ctx context.Context, ref svc.AppRef, id string) error {
	_, err := onApp[none](ctx, a, ref, "funnel.delete", findFunnel{ID: id})
	return err
}

// onApp sends a message to an application. One whose creation was cut short after its
// slug was taken is completed first.
func onApp[R any](ctx context.Context, a *Applications, ref svc.AppRef, method string, message any) (R, error) {
	if _, err := a.Get(ctx, ref); err != nil {
		var none R
		return none, err
	}
	return ask[R](ctx, a.Actors, kindApplication, ref.String(), method, message)
}
