package exports

import (
	"context"
	"errors"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/export"
	"svc/domain/person"
)

// Exports is the client of the exports actors.
type Exports struct {
	Actors grain.Caller
	// Files stores the rows.
	Files Files
	// Wake makes the runner of this node look for work; it is nil if the runner only looks periodically.
	Wake func()
}

// CreateExport begins an export. It fails with conflict beyond the limits of the application.
func (e *Exports) CreateExport(ctx context.Context, export export.Export) (export.Export, error) {
	made, err := booksCreate.Ask(ctx, e.Actors, export.App.String(), export)
	if err == nil && e.Wake != nil {
		e.Wake()
	}
	return made, err
}

// Export returns an export. It fails with not_found if the application has no export with the id.
func (e *Exports) Export(ctx context.Context, app domain.AppRef, id string) (export.Export, error) {
	return booksGet.Ask(ctx, e.Actors, app.String(), findExport{id})
}

// Exports returns the exports of an application, the newest first.
func (e *Exports) Exports(ctx context.Context, app domain.AppRef) ([]export.Export, error) {
	return booksList.Ask(ctx, e.Actors, app.String(), grain.None{})
}

// clockSkew bounds the difference between the clocks of nodes.
const clockSkew = 5 * time.Second

// Withdraw removes the rows and files of exports that began before the erasure of a person of an environment. Exports
// under way begin again. Later exports contain nothing of the person. It may be repeated.
func (e *Exports) Withdraw(ctx context.Context, erasure person.Erasure) error {
	files, err := booksWithdraw.Ask(ctx, e.Actors, erasure.App.String(), withdrawExports{erasure.EnvironmentNumber, erasure.At.Add(clockSkew)})
	for _, file := range files {
		err = errors.Join(err, e.Files.DropExport(ctx, file))
	}
	return err
}
