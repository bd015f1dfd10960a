package exports

import (
	"context"
	"errors"
	"time"

	"svc"
	"svc/actors/grain"
)

// Exports is the client of the exports actors.
type Exports struct {
	Actors grain.Caller
	// Files keeps the rows.
	Files Files
	// Wake has the runner of this node look for work; nil where it looks by itself only.
	Wake func()
}

// CreateExport begins an export. It fails with conflict beyond the bounds of the application.
func (e *Exports) CreateExport(ctx context.Context, export svc.Export) (svc.Export, error) {
	made, err := booksCreate.Ask(ctx, e.Actors, export.App.String(), export)
	if err == nil && e.Wake != nil {
		e.Wake()
	}
	return made, err
}

// Export returns an export. It fails with not_found where the application has none of the id.
func (e *Exports) Export(ctx context.Context, app svc.AppRef, id string) (svc.Export, error) {
	return booksGet.Ask(ctx, e.Actors, app.String(), findExport{id})
}

// Exports returns the exports of an application, the newest first.
func (e *Exports) Exports(ctx context.Context, app svc.AppRef) ([]svc.Export, error) {
	return booksList.Ask(ctx, e.Actors, app.String(), grain.None{})
}

// clockSkew is by how much the clocks of nodes may differ.
const clockSkew = 5 * time.Second

// Withdraw takes the rows from the exports that were begun before somebody of an environment was erased, and removes their files:
// those that are under way begin again. What is begun later holds nothing of the person. It may be repeated.
func (e *Exports) Withdraw(ctx context.Context, erasure svc.Erasure) error {
	files, err := booksWithdraw.Ask(ctx, e.Actors, erasure.App.String(), withdrawExports{erasure.EnvironmentNumber, erasure.At.Add(clockSkew)})
	for _, file := range files {
		err = errors.Join(err, e.Files.DropExport(ctx, file))
	}
	return err
}
