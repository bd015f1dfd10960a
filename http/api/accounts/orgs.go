package accounts

import (
	"context"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// consoleOrgs serves the console's routes of organizations.
type consoleOrgs struct{ organizations Organizations }

func consoleOrgRoutes(ports Ports) []route.Route {
	orgs := consoleOrgs{organizations: ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs", Operation: "console.orgs.list", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the organizations of the signed-in person", Handler: route.Typed(orgs.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs", Operation: "console.orgs.create", Scope: domain.ScopeWrite, Effect: route.Write, Ledger: "organization.created", Rate: domain.RateDefault,
			Summary: "Create an organization whose owner is the signed-in person", Status: 201, Handler: route.Typed(orgs.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/orgs/{org}", Operation: "console.orgs.rename", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Write, Ledger: "organization.renamed", Rate: domain.RateDefault,
			Summary: "Rename an organization", Handler: route.Typed(orgs.rename),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}", Operation: "console.orgs.delete", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleOwner, Effect: route.Destructive, Ledger: "organization.deleted", Rate: domain.RateDefault,
			Summary: "Delete an organization with its applications, members and tokens, soon after signing in with a passkey; its slug stays taken", Status: 204, Codes: []domain.Code{domain.CodePasskeyRequired}, Handler: route.Typed(orgs.remove),
		},
	}
}

func (c consoleOrgs) list(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[domain.Membership], error) {
	return me{organizations: c.organizations}.listOrganizations(ctx, call, in)
}

type createOrg struct {
	Body newOrganization `body:"json"`
}

// newOrganization is the body of POST /orgs.
type newOrganization struct {
	Name string `json:"name" required:"true"`
	Slug string `json:"slug" doc:"The address; derived from the name where it is absent. It never changes."`
}

// Check applies the rules of organizations.
func (c *createOrg) Check(*route.Call) []domain.FieldError { return domain.OrgSpec(c.Body).Validate() }

func (c consoleOrgs) create(ctx context.Context, call *route.Call, in createOrg) (domain.Organization, error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return domain.Organization{}, err
	}
	spec := domain.OrgSpec(in.Body)
	if spec.Slug == "" {
		spec.Slug = domain.Slugify(spec.Name)
	}
	call.Concerns(spec.Slug)
	org, err := c.organizations.CreateOrganization(ctx, person, spec)
	if err != nil {
		return domain.Organization{}, err
	}
	call.Created("/orgs/" + org.Slug)
	call.About(org.ID)
	return org, nil
}

type renameOrg struct {
	api.OrgPath
	Body orgPatch `body:"json"`
}

// orgPatch is the body of PATCH /orgs/{org}.
type orgPatch struct {
	Name *string `json:"name"`
}

// Check applies the rules of organizations.
func (r *renameOrg) Check(*route.Call) []domain.FieldError {
	if r.Body.Name == nil {
		return []domain.FieldError{{Code: "empty_body", Message: "The body names nothing to change."}}
	}
	return domain.OrgSpec{Name: *r.Body.Name}.Validate()
}

func (c consoleOrgs) rename(ctx context.Context, _ *route.Call, in renameOrg) (domain.Organization, error) {
	return c.organizations.RenameOrganization(ctx, in.Org, *in.Body.Name)
}

func (c consoleOrgs) remove(ctx context.Context, call *route.Call, in api.OrgPath) (route.Empty, error) {
	if err := api.FreshPasskey(call); err != nil {
		return route.Empty{}, err
	}
	return route.Empty{}, c.organizations.DeleteOrganization(ctx, in.Org)
}
