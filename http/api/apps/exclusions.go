package apps

import (
	"context"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// Exclusions stores the rules that exclude traffic of applications.
type Exclusions interface {
	// PutExclusions replaces the rules of an application. It fails with invalid_request as domain.Exclusions.Replace does,
	// and with conflict if the rules have changed since app was read.
	PutExclusions(ctx context.Context, app domain.Application, items []domain.ExclusionItem) (domain.Exclusions, error)
}

// exclusions serves the routes of exclusions.
type exclusions struct{ exclusions Exclusions }

func exclusionRoutes(ports Ports) []route.Route {
	exclusions := exclusions{ports.Exclusions}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/exclusions", Operation: "exclusions.list", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "The rules by which internal traffic is not kept", Handler: route.Typed(exclusions.list),
		},
		{
			Surface: route.Manage, Method: "PUT", Path: "/apps/{org}/{app}/exclusions", Operation: "exclusions.put", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Destructive, Ledger: "exclusions.updated", Rate: domain.RateDefault,
			Summary: "Replace the rules by which internal traffic is not kept", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(exclusions.put),
		},
	}
}

// exclusion is one rule as answers show it.
type exclusion struct {
	ID           string               `json:"id"`
	Kind         domain.ExclusionKind `json:"kind"`
	Value        *string              `json:"value" doc:"A hostname or path, in which * stands for any text, or a part of a user agent. Null of addresses, of which a hash alone is kept."`
	Label        *string              `json:"label" doc:"What people call it."`
	PrefixLength *int                 `json:"prefixLength" doc:"Of addresses: how many bits of the network count."`
	Version      *int                 `json:"version" doc:"Of addresses: 4 or 6."`
}

func exclusionOf(e *domain.Exclusion) exclusion {
	row := exclusion{ID: e.ID, Kind: e.Kind, Value: api.OrNull(e.Value), Label: api.OrNull(e.Label)}
	if e.Kind == domain.ExcludeAddress {
		version := 4
		if e.V6 {
			version = 6
		}
		row.PrefixLength, row.Version = &e.Bits, &version
	}
	return row
}

type listExclusions struct {
	api.AppPath
	api.Paging
}

func (e exclusions) list(_ context.Context, call *route.Call, in listExclusions) (domain.Page[exclusion], error) {
	return api.PageOfAll(call, api.Convert(call.App.Exclusions.Items, exclusionOf), in.Paging, func(row exclusion) string { return row.ID })
}

type putExclusions struct {
	api.AppPath
	Body exclusionList `body:"json"`
}

// exclusionList is the body of PUT …/exclusions.
type exclusionList struct {
	Items []exclusionItem `json:"items" required:"true" doc:"All rules, 200 at most; those that are not named are gone."`
}

// exclusionItem is one rule.
type exclusionItem struct {
	ID    *string               `json:"id" doc:"Keeps the rule of this id; of addresses, there is no other way."`
	Kind  *domain.ExclusionKind `json:"kind"`
	Value *string               `json:"value" doc:"An address or network, a hostname or path with *, or a part of a user agent."`
	Label *string               `json:"label"`
}

// keptExclusions is the answer of PUT …/exclusions.
type keptExclusions struct {
	Data []exclusion `json:"data"`
}

func (e exclusions) put(ctx context.Context, call *route.Call, in putExclusions) (keptExclusions, error) {
	text := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	items := make([]domain.ExclusionItem, len(in.Body.Items))
	for i, item := range in.Body.Items {
		items[i] = domain.ExclusionItem{ID: text(item.ID), Kind: domain.ExclusionKind(text((*string)(item.Kind))), Value: text(item.Value), Label: text(item.Label)}
	}
	kept, err := e.exclusions.PutExclusions(ctx, call.App, items)
	if err != nil {
		return keptExclusions{}, err
	}
	return keptExclusions{Data: api.Convert(kept.Items, exclusionOf)}, nil
}
