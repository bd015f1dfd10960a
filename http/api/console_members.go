package api

import (
	"context"

	"svc"
	"svc/http"
)

// Members keeps the seats of organizations.
type Members interface {
	// Members returns an organization's members.
	Members(ctx context.Context, org string) ([]svc.Member, error)
	// PutMember seats the person of an e-mail address, who becomes known by it, or
	// changes the role. A member of role actor asks; svc.CheckMemberChange
	// decides and its error is returned.
	PutMember(ctx context.Context, org string, actor svc.Role, spec svc.MemberSpec) (svc.Member, error)
	// RemoveMember takes a seat away under the same rule.
	RemoveMember(ctx context.Context, org string, actor svc.Role, email string) error
}

// consoleMembers answers the console's routes of members.
type consoleMembers struct{ members Members }

// member is a seat as answers show it.
type member struct {
	User     svc.User  `json:"user"`
	Role     svc.Role  `json:"role"`
	JoinedAt http.Time `json:"joinedAt"`
}

func memberOf(m *svc.Member) member {
	return member{User: m.User, Role: m.Role, JoinedAt: http.Time(m.JoinedAt)}
}

type listMembers struct {
	orgPath
	paging
}

func (c consoleMembers) list(ctx context.Context, call *http.Call, in listMembers) (svc.Page[member], error) {
	rows, err := c.members.Members(ctx, in.Org)
	if err != nil {
		return svc.Page[member]{}, err
	}
	return pageOfAll(call, convert(rows, memberOf), in.paging, func(row member) string { return row.User.Email })
}

type memberPath struct {
	orgPath
	Email string `path:"email" doc:"The person's e-mail address, in any case."`
}

type putMember struct {
	memberPath
	Body memberSpec `body:"json"`
}

// memberSpec is the body of PUT …/members/{email}.
type memberSpec struct {
	Role svc.Role `json:"role" required:"true"`
	Name string   `json:"name" doc:"The person's name; a known person keeps the present one where it is absent."`
}

func (p *putMember) spec() svc.MemberSpec {
	email, _ := svc.NormaliseEmail(p.Email)
	return svc.MemberSpec{Email: email, Name: p.Body.Name, Role: p.Body.Role}
}

// Check applies the rules of members.
func (p *putMember) Check(*http.Call) []svc.FieldError { return p.spec().Validate() }

func (c consoleMembers) put(ctx context.Context, call *http.Call, in putMember) (member, error) {
	seat, err := c.members.PutMember(ctx, in.Org, call.Grant.Role, in.spec())
	if err != nil {
		return member{}, err
	}
	call.About(seat.User.ID)
	return memberOf(&seat), nil
}

func (c consoleMembers) remove(ctx context.Context, call *http.Call, in memberPath) (http.Empty, error) {
	email, ok := svc.NormaliseEmail(in.Email)
	if !ok {
		return http.Empty{}, svc.NotFound("member")
	}
	seats, err := c.members.Members(ctx, in.Org)
	if err != nil {
		return http.Empty{}, err
	}
	for i := range seats {
		if seats[i].User.Email == email {
			call.About(seats[i].User.ID)
		}
	}
	return http.Empty{}, c.members.RemoveMember(ctx, in.Org, call.Grant.Role, email)
}
