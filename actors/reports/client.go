package reports

import (
	"context"
	"time"

	"svc"
	"svc/actors/grain"
)

// Reports is the client of the reports actors.
type Reports struct {
	Actors grain.Caller
	Now    func() time.Time
}

// Reports returns the reports of an application.
func (r *Reports) Reports(ctx context.Context, app svc.AppRef) ([]svc.Report, error) {
	return booksList.Ask(ctx, r.Actors, app.String(), grain.None{})
}

// PutReport makes the report of a kind and an environment under an id, or changes the one that is there. The first period that it
// sends is the one that ends next in the time zone of the application.
func (r *Reports) PutReport(ctx context.Context, app *svc.Application, id string, spec svc.ReportSpec) (svc.Report, error) {
	return booksPut.Ask(ctx, r.Actors, app.Ref().String(), putReport{ID: id, App: app.Ref(), Spec: spec, Due: spec.Kind.Period(r.Now(), app.Location())})
}

// DeleteReport fails with not_found where the application has no report of the id.
func (r *Reports) DeleteReport(ctx context.Context, app svc.AppRef, id string) error {
	_, err := booksDelete.Ask(ctx, r.Actors, app.String(), findReport{id})
	return err
}

// Unsubscribe takes a recipient, whom svc.RecipientHash names, out of a report. It may be repeated.
func (r *Reports) Unsubscribe(ctx context.Context, app svc.AppRef, id, recipient string) error {
	_, err := booksLeave.Ask(ctx, r.Actors, app.String(), leaveReport{id, recipient})
	return err
}
