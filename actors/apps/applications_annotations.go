package apps

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/annotation"
)

// Annotations returns the annotations of an application that members made, by id.
func (a *Applications) Annotations(ctx context.Context, ref domain.AppRef) ([]annotation.Annotation, error) {
	return ask(ctx, a, ref, applicationAnnotations, grain.None{})
}

// PutAnnotation makes an annotation, or changes the one with an id. It fails with not_found if no annotation has the
// id, with invalid_request as annotation.Spec.Validate does, and with conflict if there are too many.
func (a *Applications) PutAnnotation(ctx context.Context, ref domain.AppRef, id string, patch annotation.Patch, by domain.LedgerActor) (annotation.Annotation, error) {
	message := putAnnotation{ID: id, New: id == "", Patch: patch, By: by}
	if message.New {
		message.ID = a.Random.ID("ann_")
	}
	return ask(ctx, a, ref, applicationPutAnnotation, message)
}

// DeleteAnnotation removes an annotation. It fails with not_found if no annotation has the id.
func (a *Applications) DeleteAnnotation(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := ask(ctx, a, ref, applicationDeleteAnnotation, findAnnotation{ID: id})
	return err
}

// PutExclusions replaces the rules for excluded traffic of an application. Every node applies them as soon as it
// receives them, this one at once. It fails with invalid_request as domain.Exclusions.Replace does.
func (a *Applications) PutExclusions(ctx context.Context, app domain.Application, items []domain.ExclusionItem) (domain.Exclusions, error) {
	next, problems := app.Exclusions.Replace(a.ExclusionKey, app.ID, items, a.Now())
	if len(problems) > 0 {
		return domain.Exclusions{}, domain.Invalid(problems...)
	}
	answer, err := ask(ctx, a, app.Ref(), applicationPutExclusions, putExclusions{Exclusions: next, Before: app.Exclusions.UpdatedAt})
	return answer, a.changed(ctx, app.Ref(), err)
}
