// Package destinations has the routes of destinations and of their deliveries.
package destinations

import (
	"context"
	"slices"

	"svc"
	"svc/http/route"
)

// Ports are what the handlers call. A port may be nil only where the rows are listed and never served.
type Ports struct {
	Destinations Destinations
	Deliveries   Deliveries
}

// Destinations keeps the destinations of applications.
type Destinations interface {
	// List returns the destinations of an application and how they fare.
	List(ctx context.Context, ref svc.AppRef) ([]svc.Destination, []svc.DestinationState, error)
	// Create makes a destination; the secret of a webhook that was given none is returned this once. It fails with
	// invalid_request as svc.DestinationSpec.Validate does, and with conflict where there are too many.
	Create(ctx context.Context, app *svc.Application, spec svc.DestinationSpec, credential svc.Secret) (svc.Destination, svc.Secret, error)
	// Update fails with not_found where there is no such destination, and with invalid_request as Create does.
	Update(ctx context.Context, app *svc.Application, id string, patch svc.DestinationPatch) (svc.Destination, error)
	// Delete removes a destination and what waits for it.
	Delete(ctx context.Context, ref svc.AppRef, id string) error
	// SetCredential replaces the credential of a destination. A webhook that is given none gets a new secret, which
	// is returned this once.
	SetCredential(ctx context.Context, ref svc.AppRef, id string, credential svc.Secret) (svc.Destination, svc.Secret, error)
}

// Deliveries keeps what became of conversions.
type Deliveries interface {
	// Test sends a made-up conversion and returns why it was not taken, "" where it was, and the id of the delivery.
	Test(ctx context.Context, ref svc.AppRef, id string) (problem, delivery string, err error)
	// Deliveries returns a page of the delivery log of a destination, the newest first.
	Deliveries(ctx context.Context, q svc.DispatchQuery) ([]svc.Dispatch, error)
	// Replay queues parked deliveries again, one where an id is given, and returns how many, and whether more are
	// parked.
	Replay(ctx context.Context, ref svc.AppRef, id, delivery string) (replayed int, more bool, err error)
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(destinationRoutes(ports), deliveryRoutes(ports))
}
