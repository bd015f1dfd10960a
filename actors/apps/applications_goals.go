package apps

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/funnel"
	"svc/domain/goal"
)

// Goals returns the goals of an application by id, including deleted ones.
func (a *Applications) Goals(ctx context.Context, ref domain.AppRef) ([]goal.Goal, error) {
	return ask(ctx, a, ref, applicationGoals, grain.None{})
}

// CreateGoal makes a goal, which counts in the next read. It fails with invalid_request if the pair of kind and match
// is taken.
func (a *Applications) CreateGoal(ctx context.Context, ref domain.AppRef, spec goal.Spec) (goal.Goal, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return goal.Goal{}, domain.Invalid(problems...)
	}
	return ask(ctx, a, ref, applicationCreateGoal, createGoal{ID: a.Random.NewID(ctx, "goal_"), Spec: spec})
}

// ChangeGoal applies a patch to a goal, as goal.ChangeGoal does.
func (a *Applications) ChangeGoal(ctx context.Context, ref domain.AppRef, id string, patch goal.Patch) (goal.Goal, error) {
	return ask(ctx, a, ref, applicationChangeGoal, changeGoal{ID: id, Patch: patch})
}

// DeleteGoal ends a goal; earlier conversions stay in its results.
func (a *Applications) DeleteGoal(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := ask(ctx, a, ref, applicationDeleteGoal, deleteGoal{ID: id})
	return err
}

// Funnels returns the funnels of an application by id.
func (a *Applications) Funnels(ctx context.Context, ref domain.AppRef) ([]funnel.Funnel, error) {
	return ask(ctx, a, ref, applicationFunnels, grain.None{})
}

// Funnel returns one funnel.
func (a *Applications) Funnel(ctx context.Context, ref domain.AppRef, id string) (funnel.Funnel, error) {
	return ask(ctx, a, ref, applicationGetFunnel, findFunnel{ID: id})
}

// CreateFunnel saves a funnel.
func (a *Applications) CreateFunnel(ctx context.Context, ref domain.AppRef, spec funnel.Spec) (funnel.Funnel, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return funnel.Funnel{}, domain.Invalid(problems...)
	}
	funnel := funnel.NewFunnel(spec, a.Random.NewID(ctx, "fun_"), a.Now())
	return ask(ctx, a, ref, applicationCreateFunnel, createFunnel{Funnel: funnel})
}

// ChangeFunnel gives a funnel another specification.
func (a *Applications) ChangeFunnel(ctx context.Context, ref domain.AppRef, id string, spec funnel.Spec) (funnel.Funnel, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return funnel.Funnel{}, domain.Invalid(problems...)
	}
	return ask(ctx, a, ref, applicationChangeFunnel, changeFunnel{ID: id, Spec: spec})
}

// DeleteFunnel removes a funnel.
func (a *Applications) DeleteFunnel(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := ask(ctx, a, ref, applicationDeleteFunnel, findFunnel{ID: id})
	return err
}
