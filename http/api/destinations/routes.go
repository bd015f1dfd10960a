// Package destinations has the routes of destinations and of their deliveries.
package destinations

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/destination"
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Destinations Destinations
	Deliveries   Deliveries
}

// Destinations stores the destinations of applications.
type Destinations interface {
	// List returns the destinations of an application and their states.
	List(ctx context.Context, ref domain.AppRef) ([]destination.Destination, []destination.State, error)
	// Create makes a destination. If the body has no secret for a webhook, Create makes one and returns it this once.
	// It fails with invalid_request as destination.Spec.Validate does, and with conflict if there are too many.
	Create(ctx context.Context, app *domain.Application, spec destination.Spec, credential domain.Secret) (destination.Destination, domain.Secret, error)
	// Update fails with not_found if the destination does not exist, and with invalid_request as Create does.
	Update(ctx context.Context, app *domain.Application, id string, patch destination.Patch) (destination.Destination, error)
	// Delete removes a destination and its waiting deliveries.
	Delete(ctx context.Context, ref domain.AppRef, id string) error
	// SetCredential replaces the credential of a destination. With an empty credential a webhook gets a new secret,
	// which is returned this once.
	SetCredential(ctx context.Context, ref domain.AppRef, id string, credential domain.Secret) (destination.Destination, domain.Secret, error)
}

// Deliveries stores the outcomes of conversions.
type Deliveries interface {
	// Test sends a test conversion. It returns the id of the delivery, and the problem, "" if the destination accepted
	// it.
	Test(ctx context.Context, ref domain.AppRef, id string) (problem, delivery string, err error)
	// Deliveries returns a page of the delivery log of a destination, the newest first.
	Deliveries(ctx context.Context, q destination.DispatchQuery) ([]destination.Dispatch, error)
	// Replay queues parked deliveries again, only one if delivery is set. It returns their number, and whether more are
	// parked.
	Replay(ctx context.Context, ref domain.AppRef, id, delivery string) (replayed int, more bool, err error)
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(destinationRoutes(ports), deliveryRoutes(ports))
}
