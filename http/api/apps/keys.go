package apps

import (
	"context"
	"strings"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// Keys stores the ingest keys of applications.
type Keys interface {
	// Keys returns an application's keys; it may omit revoked ones.
	Keys(ctx context.Context, ref domain.AppRef) ([]domain.IngestKey, error)
	// MintKey makes a key of a valid specification and returns it in plain text, once.
	MintKey(ctx context.Context, ref domain.AppRef, spec domain.KeySpec) (domain.IngestKey, domain.Secret, error)
	// RevokeKey ends a key at once. It fails with not_found if the key does not exist or is revoked already.
	RevokeKey(ctx context.Context, ref domain.AppRef, id string) error
}

// keys serves the routes of ingest keys.
type keys struct{ keys Keys }

func keyRoutes(ports Ports) []route.Route {
	keys := keys{keys: ports.Keys}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/keys", Operation: "keys.list", Scope: domain.ScopeAdmin, Permission: domain.PermKeysRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List ingest keys", Handler: route.Typed(keys.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/keys", Operation: "keys.create", Scope: domain.ScopeAdmin, Permission: domain.PermKeysWrite, Effect: route.Write, Ledger: "key.created", Rate: domain.RateDefault,
			Summary: "Mint an ingest key; the answer shows it once", Status: 201, Handler: route.Typed(keys.create),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/keys/{id}", Operation: "keys.revoke", Scope: domain.ScopeAdmin, Permission: domain.PermKeysWrite, Effect: route.Destructive, Ledger: "key.revoked", Rate: domain.RateDefault,
			Summary: "Revoke an ingest key", Status: 204, Handler: route.Typed(keys.revoke),
		},
	}
}

// keyRow is a key as lists show it.
type keyRow struct {
	ID          string         `json:"id"`
	Kind        domain.KeyKind `json:"kind"`
	Environment string         `json:"environment"`
	Label       string         `json:"label"`
	Prefix      string         `json:"prefix"`
	Last4       string         `json:"last4"`
	CreatedAt   route.Time     `json:"createdAt"`
	RevokedAt   *route.Time    `json:"revokedAt"`
}

// newKeyRow is the only answer that shows a key in plain text.
type newKeyRow struct {
	keyRow
	Key string `json:"key" doc:"The full key; it is never shown again."`
	DSN string `json:"dsn" doc:"What an SDK of Sentry is given; it holds the key and is never shown again."`
}

func keyRowOf(key *domain.IngestKey) keyRow {
	return keyRow{
		ID: key.ID, Kind: key.Kind, Environment: key.Environment, Label: key.Label, Prefix: key.Prefix,
		Last4: key.Last4, CreatedAt: route.Time(key.CreatedAt), RevokedAt: route.TimeOf(key.RevokedAt),
	}
}

type listKeys struct {
	api.AppPath
	api.Paging
}

func (k keys) list(ctx context.Context, call *route.Call, in listKeys) (domain.Page[keyRow], error) {
	rows, err := k.keys.Keys(ctx, call.Ref())
	if err != nil {
		return domain.Page[keyRow]{}, err
	}
	return api.PageOfAll(call, api.Convert(rows, keyRowOf), in.Paging, func(row keyRow) string { return row.ID })
}

type createKey struct {
	api.AppPath
	Body keySpec `body:"json"`
}

// keySpec is the body of POST …/keys.
type keySpec struct {
	Kind        domain.KeyKind `json:"kind" required:"true"`
	Environment string         `json:"environment" required:"true" doc:"The environment's slug."`
	Label       string         `json:"label" doc:"What people call the key."`
}

// Check applies the rules of keys.
func (c *createKey) Check(*route.Call) []domain.FieldError { return domain.KeySpec(c.Body).Validate() }

func (k keys) create(ctx context.Context, call *route.Call, in createKey) (newKeyRow, error) {
	key, secret, err := k.keys.MintKey(ctx, call.Ref(), domain.KeySpec(in.Body))
	if err != nil {
		return newKeyRow{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/keys/" + key.ID)
	row := newKeyRow{keyRow: keyRowOf(&key), Key: secret.Reveal()}
	for _, env := range call.App.Environments {
		if env.Slug == key.Environment {
			row.DSN = sentryDSN(call.Origin(), row.Key, env)
		}
	}
	return row, nil
}

// sentryDSN returns the DSN by which a Sentry SDK gets a key and the address of the service.
func sentryDSN(origin, key string, env domain.Environment) string {
	scheme, host, _ := strings.Cut(origin, "://")
	return scheme + "://" + key + "@" + host + "/sentry/" + env.IngestID()
}

type keyPath struct {
	api.AppPath
	ID string `path:"id" doc:"The key's id."`
}

func (k keys) revoke(ctx context.Context, call *route.Call, in keyPath) (route.Empty, error) {
	return route.Empty{}, k.keys.RevokeKey(ctx, call.Ref(), in.ID)
}
