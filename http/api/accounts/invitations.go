package accounts

import (
	"context"

	"svc/domain"
	"svc/domain/signin"
	"svc/http/api"
	"svc/http/route"
)

// Invitations stores the invitations that a person has received.
type Invitations interface {
	// Offers returns a person's open invitations.
	Offers(ctx context.Context, person domain.User) ([]signin.Offer, error)
	// AcceptOffer makes the person a member; it fails with not_found if there is no open invitation.
	AcceptOffer(ctx context.Context, person domain.User, org string) (domain.Membership, error)
	// DeclineOffer ends an invitation. It fails in the same case.
	DeclineOffer(ctx context.Context, person domain.User, org string) error
}

// consoleInvitations serves the console's routes of invitations: an organization makes them, and the invited person
// answers them in their own session.
type consoleInvitations struct {
	members     consoleMembers
	invitations Invitations
	links       Links
}

func consoleInvitationRoutes(ports Ports) []route.Route {
	invitations := consoleInvitations{members: membersOf(ports), invitations: ports.Invitations, links: ports.Links}
	return []route.Route{
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/invitations", Operation: "console.invitations.create", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Write, Ledger: "member.invited", Rate: domain.RateDefault,
			Summary: "Invite a person, who has 72 hours to accept; the link is mailed, or the answer shows it once", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(invitations.create),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/me/invitations", Operation: "console.invitations.list", Addition: true, Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the invitations of the signed-in person", Handler: route.Typed(invitations.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/invitations/{slug}/accept", Operation: "console.invitations.accept", Addition: true, Scope: domain.ScopeWrite, Effect: route.Write, Ledger: "member.joined", Codes: []domain.Code{domain.CodeForbidden}, Rate: domain.RateDefault,
			Summary: "Accept an invitation and become a member", Handler: route.Typed(invitations.accept),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/invitations/{slug}", Operation: "console.invitations.decline", Addition: true, Scope: domain.ScopeWrite, Effect: route.Destructive, Ledger: "member.declined", Rate: domain.RateDefault,
			Summary: "Decline an invitation", Status: 204, Handler: route.Typed(invitations.decline),
		},
	}
}

// invitationSpec is the body of POST …/invitations.
type invitationSpec struct {
	Email string      `json:"email" required:"true" doc:"The person's e-mail address."`
	Role  domain.Role `json:"role" required:"true"`
	Name  string      `json:"name" doc:"What to call the person until they accept; a known person keeps the present name."`
}

type createInvitation struct {
	api.OrgPath
	Body invitationSpec `body:"json"`
}

func (c *createInvitation) spec() domain.MemberSpec {
	return domain.MemberSpec{Email: c.Body.Email, Name: c.Body.Name, Role: c.Body.Role}
}

// Check applies the rules of members.
func (c *createInvitation) Check(*route.Call) []domain.FieldError { return c.spec().Validate() }

func (c consoleInvitations) create(ctx context.Context, call *route.Call, in createInvitation) (invitationLink, error) {
	email, _ := domain.NormaliseEmail(in.Body.Email)
	seats, err := c.members.members.Seats(ctx, in.Org)
	if err != nil {
		return invitationLink{}, err
	}
	for i := range seats {
		if seats[i].Invitation == nil && seats[i].Member.User.Email == email {
			return invitationLink{}, &domain.Error{Code: domain.CodeConflict, Reason: "already_member", Message: "The person is a member; change the role with PUT …/members/{email}."}
		}
	}
	seat, err := c.members.offer(ctx, call, in.Org, in.spec())
	if err != nil {
		return invitationLink{}, err
	}
	made := invitationLink{member: memberOf(&seat), Mailed: c.members.letters != nil}
	if seat.Invitation == nil {
		return made, nil
	}
	secret, err := c.members.newLink(ctx, call, seat.Invitation)
	if secret != "" {
		made.Link = linkTo(call.Site(), "invitation", secret)
	}
	return made, err
}

// invitation is an invitation as the invited person sees it.
type invitation struct {
	ID           string              `json:"id"`
	Organization domain.Organization `json:"organization"`
	Role         domain.Role         `json:"role"`
	InvitedBy    string              `json:"invitedBy" doc:"The name of the member who invited the person."`
	CreatedAt    route.Time          `json:"createdAt"`
	ExpiresAt    route.Time          `json:"expiresAt"`
}

func invitationOf(offer *signin.Offer) invitation {
	i := &offer.Invitation
	return invitation{ID: i.ID, Organization: offer.Organization, Role: i.Role, InvitedBy: i.InvitedBy.Name, CreatedAt: route.Time(i.CreatedAt), ExpiresAt: route.Time(i.ExpiresAt)}
}

func (c consoleInvitations) list(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[invitation], error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return domain.Page[invitation]{}, err
	}
	rows, err := c.invitations.Offers(ctx, person)
	if err != nil {
		return domain.Page[invitation]{}, err
	}
	return api.PageOfAll(call, api.Convert(rows, invitationOf), in, func(row invitation) string { return row.Organization.Slug })
}

// offerPath addresses an invitation of the signed-in person. The parameter is not called org, since
// the person is not a member yet.
type offerPath struct {
	Slug string `path:"slug" doc:"The organization's slug."`
}

type acceptOffer struct {
	offerPath
	Body acceptBody `body:"json" optional:"true"`
}

// acceptBody is the body of POST …/accept.
type acceptBody struct {
	Link string `json:"link" doc:"The secret of the invitation's link; a session that the operator opened needs none."`
}

func (c consoleInvitations) accept(ctx context.Context, call *route.Call, in acceptOffer) (domain.Membership, error) {
	person, err := api.SignedIn(call)
	if err == nil {
		err = c.vouch(ctx, call, person, in.Slug, in.Body.Link)
	}
	if err != nil {
		return domain.Membership{}, err
	}
	call.Concerns(in.Slug)
	call.About(person.ID)
	return c.invitations.AcceptOffer(ctx, person, in.Slug)
}

func (c consoleInvitations) decline(ctx context.Context, call *route.Call, in offerPath) (route.Empty, error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return route.Empty{}, err
	}
	call.Concerns(in.Slug)
	call.About(person.ID)
	return route.Empty{}, c.invitations.DeclineOffer(ctx, person, in.Slug)
}
