package accounts

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/signin"
	"svc/http/api"
	"svc/http/route"
)

// Members stores the seats of organizations.
type Members interface {
	// Members returns the members of an organization.
	Members(ctx context.Context, org string) ([]domain.Member, error)
	// Seats returns an organization's seats, the taken ones first.
	Seats(ctx context.Context, org string) ([]signin.Seat, error)
	// OfferSeat changes the role of a member, or invites the person of an e-mail address. actor is the role of the
	// member that asks. domain.CheckMemberChange decides, and OfferSeat returns its error.
	OfferSeat(ctx context.Context, org string, actor domain.Role, by domain.User, spec domain.MemberSpec) (signin.Seat, error)
	// WithdrawSeat withdraws an invitation under the same rule.
	WithdrawSeat(ctx context.Context, org string, actor domain.Role, email string) (signin.Invitation, error)
	// RemoveMember removes a member under the same rule.
	RemoveMember(ctx context.Context, org string, actor domain.Role, email string) error
}

// consoleMembers serves the console's routes of members.
type consoleMembers struct {
	members       Members
	organizations Organizations
	links         Links
	letters       Letters
}

func membersOf(ports Ports) consoleMembers {
	return consoleMembers{ports.Members, ports.Organizations, ports.Links, ports.Letters}
}

func consoleMemberRoutes(ports Ports) []route.Route {
	members := membersOf(ports)
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/members", Operation: "console.members.list", Scope: domain.ScopeRead, Permission: domain.PermOrgRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List members", Handler: route.Typed(members.list),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/members/{email}", Operation: "console.members.put", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "member.updated", Rate: domain.RateDefault,
			Summary: "Change a member's role, or invite the person, who has 72 hours to accept", Also: 202, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(members.put),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/members/{email}", Operation: "console.members.remove", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "member.removed", Rate: domain.RateDefault,
			Summary: "Remove a member, or withdraw an invitation", Status: 204, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(members.remove),
		},
	}
}

// memberStatus says whether a seat is taken or offered.
type memberStatus string

const (
	memberActive  memberStatus = "active"
	memberInvited memberStatus = "invited"
)

// member is a seat as answers show it.
type member struct {
	User         memberUser   `json:"user"`
	Role         domain.Role  `json:"role"`
	Status       memberStatus `json:"status" open:"true" doc:"active, or invited until the person accepts."`
	JoinedAt     *route.Time  `json:"joinedAt"`
	InvitationID *string      `json:"invitationId"`
	InvitedUntil *route.Time  `json:"invitedUntil" doc:"When the invitation ends unless it is accepted."`
}

// memberUser is the person of a seat. For an invited person it has only the inviter's text.
type memberUser struct {
	ID    *string `json:"id"`
	Email string  `json:"email"`
	Name  string  `json:"name"`
}

func memberOf(seat *signin.Seat) member {
	if i := seat.Invitation; i != nil {
		return member{User: memberUser{Email: i.Email, Name: i.Name}, Role: i.Role, Status: memberInvited, InvitationID: &i.ID, InvitedUntil: route.TimeOf(&i.ExpiresAt)}
	}
	m := &seat.Member
	return member{User: memberUser{ID: &m.User.ID, Email: m.User.Email, Name: m.User.Name}, Role: m.Role, Status: memberActive, JoinedAt: route.TimeOf(&m.JoinedAt)}
}

type listMembers struct {
	api.OrgPath
	api.Paging
}

func (c consoleMembers) list(ctx context.Context, call *route.Call, in listMembers) (domain.Page[member], error) {
	rows, err := c.members.Seats(ctx, in.Org)
	if err != nil {
		return domain.Page[member]{}, err
	}
	return api.PageOfAll(call, api.Convert(rows, memberOf), in.Paging, func(row member) string { return row.User.Email })
}

type memberPath struct {
	api.OrgPath
	Email string `path:"email" doc:"The person's e-mail address, in any case."`
}

type putMember struct {
	memberPath
	Body memberSpec `body:"json"`
}

// memberSpec is the body of PUT …/members/{email}.
type memberSpec struct {
	Role domain.Role `json:"role" required:"true"`
	Name string      `json:"name" doc:"The person's name; a known person keeps the present one where it is absent."`
}

func (p *putMember) spec() domain.MemberSpec {
	email, _ := domain.NormaliseEmail(p.Email)
	return domain.MemberSpec{Email: email, Name: p.Body.Name, Role: p.Body.Role}
}

// Check applies the rules of members.
func (p *putMember) Check(*route.Call) []domain.FieldError { return p.spec().Validate() }

func (c consoleMembers) put(ctx context.Context, call *route.Call, in putMember) (member, error) {
	seat, err := c.offer(ctx, call, in.Org, in.spec())
	if err != nil || seat.Invitation == nil {
		return memberOf(&seat), err
	}
	call.Answer(202)
	if c.letters != nil {
		_, err = c.newLink(ctx, call, seat.Invitation)
	}
	return memberOf(&seat), err
}

// offer changes the role of a member, or invites the person. If the service has a mail server, it makes an invitation
// only if the limits allow its mail.
func (c consoleMembers) offer(ctx context.Context, call *route.Call, org string, spec domain.MemberSpec) (signin.Seat, error) {
	by, err := api.SignedIn(call)
	if err != nil {
		return signin.Seat{}, err
	}
	if err := c.admit(ctx, org, spec.Email); err != nil {
		return signin.Seat{}, err
	}
	seat, err := c.members.OfferSeat(ctx, org, call.Grant.Role, by, spec)
	switch {
	case err != nil:
	case seat.Invitation != nil:
		call.Happened("member.invited")
		call.About(seat.Invitation.ID)
	default:
		call.About(seat.Member.User.ID)
	}
	return seat, err
}

// admit checks whether an invitation may be mailed. A member gets no mail.
func (c consoleMembers) admit(ctx context.Context, org, address string) error {
	email, ok := domain.NormaliseEmail(address)
	if c.letters == nil || !ok {
		return nil
	}
	members, err := c.members.Members(ctx, org)
	if err != nil || slices.ContainsFunc(members, func(member domain.Member) bool { return member.User.Email == email }) {
		return err
	}
	return c.letters.Admit(org, email)
}

func (c consoleMembers) remove(ctx context.Context, call *route.Call, in memberPath) (route.Empty, error) {
	email, ok := domain.NormaliseEmail(in.Email)
	if !ok {
		return route.Empty{}, domain.NotFound("member")
	}
	seats, err := c.members.Seats(ctx, in.Org)
	if err != nil {
		return route.Empty{}, err
	}
	for i := range seats {
		switch invitation := seats[i].Invitation; {
		case invitation != nil && invitation.Email == email:
			call.Happened("member.withdrawn")
			call.About(invitation.ID)
			_, err := c.members.WithdrawSeat(ctx, in.Org, call.Grant.Role, email)
			return route.Empty{}, err
		case invitation == nil && seats[i].Member.User.Email == email:
			call.About(seats[i].Member.User.ID)
		}
	}
	return route.Empty{}, c.members.RemoveMember(ctx, in.Org, call.Grant.Role, email)
}
