package domain_test

import (
	"slices"
	"testing"
	"time"

	"svc/domain"
)

func TestCheckMemberChange(t *testing.T) {
	seat := func(email string, role domain.Role) domain.Member {
		return domain.Member{User: domain.User{Email: email}, Role: role}
	}
	one := []domain.Member{seat("Olga@x.example", domain.RoleOwner), seat("adam@x.example", domain.RoleAdmin), seat("mia@x.example", domain.RoleMember)}
	two := append(slices.Clone(one), seat("oz@x.example", domain.RoleOwner))
	for _, test := range []struct {
		name    string
		members []domain.Member
		actor   domain.Role
		email   string
		next    domain.Role
		want    domain.Code
	}{
		{"an administrator seats", one, domain.RoleAdmin, "new@x.example", domain.RoleMember, ""},
		{"an administrator removes", one, domain.RoleAdmin, "mia@x.example", "", ""},
		{"an administrator promotes", one, domain.RoleAdmin, "mia@x.example", domain.RoleAdmin, ""},
		{"an administrator makes no owner", one, domain.RoleAdmin, "mia@x.example", domain.RoleOwner, domain.CodeForbidden},
		{"an administrator unmakes no owner", two, domain.RoleAdmin, "oz@x.example", domain.RoleAdmin, domain.CodeForbidden},
		{"an administrator removes no owner", two, domain.RoleAdmin, "oz@x.example", "", domain.CodeForbidden},
		{"a member changes nobody", one, domain.RoleMember, "adam@x.example", domain.RoleViewer, domain.CodeForbidden},
		{"no role changes nobody", one, "", "mia@x.example", "", domain.CodeForbidden},
		{"an owner makes an owner", one, domain.RoleOwner, "mia@x.example", domain.RoleOwner, ""},
		{"one of two owners leaves", two, domain.RoleOwner, "olga@x.example", "", ""},
		{"the last owner stays", one, domain.RoleOwner, "olga@x.example", "", domain.CodeConflict},
		{"the last owner keeps the role", one, domain.RoleOwner, "olga@x.example", domain.RoleAdmin, domain.CodeConflict},
		{"the last owner stays owner", one, domain.RoleOwner, "olga@x.example", domain.RoleOwner, ""},
		{"nobody cannot be removed", one, domain.RoleOwner, "none@x.example", "", domain.CodeNotFound},
	} {
		err := domain.CheckMemberChange(test.members, test.actor, test.email, test.next)
		if (err == nil) != (test.want == "") || err != nil && domain.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestRoleAtLeast(t *testing.T) {
	roles := domain.Roles()
	for i, role := range roles {
		for j, other := range roles {
			if role.AtLeast(other) != (i <= j) {
				t.Errorf("%s at least %s", role, other)
			}
		}
		if role.AtLeast("") || domain.Role("").AtLeast(role) || domain.Role("god").AtLeast(role) {
			t.Errorf("%s and no role", role)
		}
	}
}

func TestSpecsOfPeople(t *testing.T) {
	past, future := day().Add(-time.Second), day().Add(time.Second)
	for _, test := range []struct {
		got  []domain.FieldError
		want []string
	}{
		{domain.OrgSpec{Name: "Acme"}.Validate(), []string{}},
		{domain.OrgSpec{Slug: "A"}.Validate(), []string{"name required", "slug invalid_slug"}},
		{domain.MemberSpec{Email: "A@x.example", Role: domain.RoleViewer}.Validate(), []string{}},
		{domain.MemberSpec{Email: "A <a@x.example>", Role: "king"}.Validate(), []string{"email invalid_email", "role unknown_value"}},
		{domain.TokenSpec{Name: "ci", Scopes: []domain.Scope{domain.ScopeRead}, ExpiresAt: &future}.Validate(day()), []string{}},
		{domain.TokenSpec{ExpiresAt: &past}.Validate(day()), []string{"name required", "scopes required", "expiresAt in_the_past"}},
		{domain.TokenSpec{Name: "ci", Scopes: []domain.Scope{"fly", "run"}}.Validate(day()), []string{"scopes unknown_value", "scopes unknown_value"}},
	} {
		if got := codesOf(test.got); !slices.Equal(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestNormaliseEmail(t *testing.T) {
	for value, want := range map[string]string{
		" Ada@X.example ": "ada@x.example", "a+b@x.example": "a+b@x.example", "": "", "ada": "", "ada@": "", "@x": "", "a@x, b@x": "", "Ada <ada@x>": "",
	} {
		if got, ok := domain.NormaliseEmail(value); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
