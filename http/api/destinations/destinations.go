package destinations

import (
	"context"
	"reflect"
	"slices"

	"svc/domain"
	"svc/domain/destination"
	"svc/http/api"
	"svc/http/route"
)

// destinations serves the routes of destinations.
type destinations struct{ destinations Destinations }

func destinationRoutes(ports Ports) []route.Route {
	d := destinations{ports.Destinations}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/destinations", Operation: "destinations.list", Module: domain.ModuleDestinations, Scope: domain.ScopeRead, Permission: domain.PermDestinationsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the destinations that conversions are forwarded to", Handler: route.Typed(d.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/destinations", Operation: "console.destinations.create", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.Write, Ledger: "destination.created", Rate: domain.RateDefault,
			Summary: "Add a destination; the answer shows a webhook's secret once", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(d.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/destinations/{id}", Operation: "console.destinations.update", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.Destructive, Ledger: "destination.updated", Rate: domain.RateDefault,
			Summary: "Change the name, the mapping, the environments or the settings of a destination, or switch it", Handler: route.Typed(d.update),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/destinations/{id}", Operation: "console.destinations.delete", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.Destructive, Ledger: "destination.deleted", Rate: domain.RateDefault,
			Summary: "Delete a destination and what waits for it", Status: 204, Handler: route.Typed(d.delete),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/apps/{org}/{app}/destinations/{id}/credential", Operation: "console.destinations.credential", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.Destructive, Ledger: "destination.credential_replaced", Rate: domain.RateDefault,
			Summary: "Replace the credential of a destination; it goes to the vault and is never shown", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(d.credential),
		},
	}
}

// destinationJSON is a destination as answers show it.
type destinationJSON struct {
	ID             string             `json:"id"`
	Kind           destination.Kind   `json:"kind" open:"true"`
	KindLabel      string             `json:"kindLabel"`
	Name           string             `json:"name"`
	Enabled        bool               `json:"enabled"`
	Environments   []string           `json:"environments"`
	Mapping        []destination.Rule `json:"mapping"`
	Config         destination.Config `json:"config"`
	HasCredential  bool               `json:"hasCredential"`
	LastDispatchAt *route.Time        `json:"lastDispatchAt"`
	LastError      *string            `json:"lastError" doc:"Why the latest attempt failed; null where it did not."`
	Waiting        int                `json:"waiting" doc:"Deliveries that are not over."`
	CreatedAt      route.Time         `json:"createdAt"`
	UpdatedAt      route.Time         `json:"updatedAt"`
}

func destinationOf(d *destination.Destination, state destination.State) destinationJSON {
	row := destinationJSON{
		ID: d.ID, Kind: d.Kind, KindLabel: d.Kind.Label(), Name: d.Name, Enabled: d.Enabled, Environments: d.Environments, Mapping: d.Mapping, Config: d.Config,
		HasCredential: d.HasCredential(), LastError: api.OrNull(state.LastError), Waiting: state.Waiting, CreatedAt: route.Time(d.CreatedAt), UpdatedAt: route.Time(d.UpdatedAt),
	}
	if !state.LastDispatchAt.IsZero() {
		row.LastDispatchAt = route.TimeOf(&state.LastDispatchAt)
	}
	return row
}

type listDestinations struct {
	api.AppPath
	api.Paging
}

func (d destinations) list(ctx context.Context, call *route.Call, in listDestinations) (domain.Page[destinationJSON], error) {
	all, states, err := d.destinations.List(ctx, call.Ref())
	if err != nil {
		return domain.Page[destinationJSON]{}, err
	}
	rows := make([]destinationJSON, len(all))
	for i := range all {
		rows[i] = destinationOf(&all[i], states[i])
	}
	return api.PageOfAll(call, rows, in.Paging, func(row destinationJSON) string { return row.ID })
}

// createdDestination shows the secret of a webhook once.
type createdDestination struct {
	destinationJSON
	Secret *string `json:"secret" doc:"What signs the requests to a webhook; it is shown this once, and only where none was given."`
}

type createDestination struct {
	api.AppPath
	Body newDestination `body:"json"`
}

// newDestination is the body of POST …/destinations.
type newDestination struct {
	Kind         destination.Kind    `json:"kind" required:"true"`
	Name         string              `json:"name" required:"true" doc:"The name that people read."`
	Enabled      *bool               `json:"enabled" doc:"Whether conversions are forwarded; true where it is absent."`
	Environments []string            `json:"environments" doc:"The environments whose events are forwarded; production where it is absent."`
	Mapping      *[]destination.Rule `json:"mapping" doc:"Which events are forwarded, and as what; at most 200, one for an event."`
	Config       *destination.Config `json:"config"`
	Credential   *string             `json:"credential" doc:"What the destination is reached with; a webhook without one gets a new secret. It is never shown."`
}

func (d destinations) create(ctx context.Context, call *route.Call, in createDestination) (createdDestination, error) {
	spec := destination.Spec{Kind: in.Body.Kind, Name: in.Body.Name, Enabled: in.Body.Enabled == nil || *in.Body.Enabled, Environments: in.Body.Environments}
	if in.Body.Mapping != nil {
		spec.Mapping = *in.Body.Mapping
	}
	if in.Body.Config != nil {
		spec.Config = *in.Body.Config
	}
	if err := mayForward(call, spec); err != nil {
		return createdDestination{}, err
	}
	made, secret, err := d.destinations.Create(ctx, &call.App, spec, secretOf(in.Body.Credential))
	if err != nil {
		return createdDestination{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/destinations/" + made.ID)
	return createdDestination{destinationOf(&made, destination.State{}), api.OrNull(secret.Reveal())}, nil
}

// mayForward refuses a destination that receives personal data if the caller may not see that data.
func mayForward(call *route.Call, spec destination.Spec) error {
	spec.Normalize()
	if fields := spec.Config.PersonFields; call.Grant.May(domain.PermPeoplePIIRead) || fields == "" || fields == destination.PersonNone {
		return nil
	}
	return &domain.Error{
		Code: domain.CodeForbidden, Reason: "personal_data", Required: &domain.Required{Permission: domain.PermPeoplePIIRead},
		Message: "The destination is sent personal fields, which are masked to you; it needs people.pii.read. Set config.personFields to none.",
	}
}

// mayChange refuses a change of a destination that receives, or would receive, personal data if the caller may not see
// it. Otherwise the caller could change the address to their own.
func (d destinations) mayChange(ctx context.Context, call *route.Call, id string, patch destination.Patch) error {
	if call.Grant.May(domain.PermPeoplePIIRead) {
		return nil
	}
	all, _, err := d.destinations.List(ctx, call.Ref())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(one destination.Destination) bool { return one.ID == id })
	if at < 0 {
		return domain.NotFound("destination")
	}
	return mayForward(call, all[at].With(patch))
}

// secretOf returns a credential of a body, empty if it has none.
func secretOf(text *string) domain.Secret {
	if text == nil {
		return ""
	}
	return domain.Secret(*text)
}

type destinationPath struct {
	api.AppPath
	ID string `path:"id" doc:"The destination's id."`
}

type updateDestination struct {
	destinationPath
	Body destinationPatch `body:"json"`
}

// destinationPatch is the body of PATCH …/destinations/{id}; absent fields stay unchanged.
type destinationPatch struct {
	Name         *string             `json:"name"`
	Enabled      *bool               `json:"enabled" doc:"A destination that is switched off is sent nothing; what waits for it is parked."`
	Environments *[]string           `json:"environments"`
	Mapping      *[]destination.Rule `json:"mapping" doc:"The whole mapping."`
	Config       *destination.Config `json:"config" doc:"All settings."`
}

// Check refuses an empty body.
func (u *updateDestination) Check(*route.Call) []domain.FieldError {
	if reflect.ValueOf(u.Body).IsZero() {
		return []domain.FieldError{{Code: "empty_body", Message: "The body changes nothing; send name, enabled, environments, mapping or config."}}
	}
	return nil
}

func (d destinations) update(ctx context.Context, call *route.Call, in updateDestination) (destinationJSON, error) {
	if err := d.mayChange(ctx, call, in.ID, destination.Patch(in.Body)); err != nil {
		return destinationJSON{}, err
	}
	changed, err := d.destinations.Update(ctx, &call.App, in.ID, destination.Patch(in.Body))
	if err != nil {
		return destinationJSON{}, err
	}
	return destinationOf(&changed, destination.State{}), nil
}

func (d destinations) delete(ctx context.Context, call *route.Call, in destinationPath) (route.Empty, error) {
	return route.Empty{}, d.destinations.Delete(ctx, call.Ref(), in.ID)
}

type putCredential struct {
	destinationPath
	Body newCredential `body:"json"`
}

// newCredential is the body of PUT …/destinations/{id}/credential.
type newCredential struct {
	Credential *string `json:"credential" doc:"The signing secret of a webhook (absent: a new one is made), the address of a chat's incoming webhook, the access token of Meta, TikTok or LinkedIn, or for Google Ads a JSON object with developerToken, clientId, clientSecret and refreshToken, as text."`
}

// keptCredential is the answer to a new credential.
type keptCredential struct {
	HasCredential bool    `json:"hasCredential"`
	Secret        *string `json:"secret" doc:"The signing secret of a webhook that was given none; it is shown this once."`
	// RotatesUntil is set while two secrets sign.
	RotatesUntil *route.Time `json:"rotatesUntil" doc:"Until when the replaced secret of a webhook signs beside the new one."`
}

func (d destinations) credential(ctx context.Context, call *route.Call, in putCredential) (keptCredential, error) {
	if err := d.mayChange(ctx, call, in.ID, destination.Patch{}); err != nil {
		return keptCredential{}, err
	}
	changed, secret, err := d.destinations.SetCredential(ctx, call.Ref(), in.ID, secretOf(in.Body.Credential))
	if err != nil {
		return keptCredential{}, err
	}
	kept := keptCredential{HasCredential: changed.HasCredential(), Secret: api.OrNull(secret.Reveal())}
	if changed.Kind == destination.Webhook {
		until := changed.UpdatedAt.Add(destination.SecretRotation)
		kept.RotatesUntil = route.TimeOf(&until)
	}
	return kept, nil
}
