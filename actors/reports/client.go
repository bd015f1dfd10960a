package reports

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/report"
)

// Reports is the client of the reports actors.
type Reports struct {
	Actors grain.Caller
	Now    func() time.Time
}

// Reports returns the reports of an application.
func (r *Reports) Reports(ctx context.Context, app domain.AppRef) ([]report.Report, error) {
	return booksList.Ask(ctx, r.Actors, app.String(), grain.None{})
}

// PutReport makes the report of a kind and an environment under an id, or changes the existing one. The first period
// that it sends is the one that ends next in the time zone of the application.
func (r *Reports) PutReport(ctx context.Context, app *domain.Application, id string, spec report.Spec) (report.Report, error) {
	return booksPut.Ask(ctx, r.Actors, app.Ref().String(), putReport{ID: id, App: app.Ref(), Spec: spec, Due: spec.Kind.Period(r.Now(), app.Location())})
}

// DeleteReport deletes a report. It fails with not_found if the application has no report with the id.
func (r *Reports) DeleteReport(ctx context.Context, app domain.AppRef, id string) error {
	_, err := booksDelete.Ask(ctx, r.Actors, app.String(), findReport{id})
	return err
}

// Unsubscribe removes a recipient from a report; report.RecipientHash returns the name of the recipient. It may be
// repeated.
func (r *Reports) Unsubscribe(ctx context.Context, app domain.AppRef, id, recipient string) error {
	_, err := booksLeave.Ask(ctx, r.Actors, app.String(), leaveReport{id, recipient})
	return err
}
