package svc_test

import (
	"slices"
	"testing"
	"time"

	"svc"
)

func TestCheckMemberChange(t *testing.T) {
	seat := func(email string, role svc.Role) svc.Member {
		return svc.Member{User: svc.User{Email: email}, Role: role}
	}
	one := []svc.Member{seat("Olga@x.example", svc.RoleOwner), seat("adam@x.example", svc.RoleAdmin), seat("mia@x.example", svc.RoleMember)}
	two := append(slices.Clone(one), seat("oz@x.example", svc.RoleOwner))
	for _, test := range []struct {
		name    string
		members []svc.Member
		actor   svc.Role
		email   string
		next    svc.Role
		want    svc.Code
	}{
		{"an administrator seats", one, svc.RoleAdmin, "new@x.example", svc.RoleMember, ""},
		{"an administrator removes", one, svc.RoleAdmin, "mia@x.example", "", ""},
		{"an administrator promotes", one, svc.RoleAdmin, "mia@x.example", svc.RoleAdmin, ""},
		{"an administrator makes no owner", one, svc.RoleAdmin, "mia@x.example", svc.RoleOwner, svc.CodeForbidden},
		{"an administrator unmakes no owner", two, svc.RoleAdmin, "oz@x.example", svc.RoleAdmin, svc.CodeForbidden},
		{"an administrator removes no owner", two, svc.RoleAdmin, "oz@x.example", "", svc.CodeForbidden},
		{"a member changes nobody", one, svc.RoleMember, "adam@x.example", svc.RoleViewer, svc.CodeForbidden},
		{"no role changes nobody", one, "", "mia@x.example", "", svc.CodeForbidden},
		{"an owner makes an owner", one, svc.RoleOwner, "mia@x.example", svc.RoleOwner, ""},
		{"one of two owners leaves", two, svc.RoleOwner, "olga@x.example", "", ""},
		{"the last owner stays", one, svc.RoleOwner, "olga@x.example", "", svc.CodeConflict},
		{"the last owner keeps the role", one, svc.RoleOwner, "olga@x.example", svc.RoleAdmin, svc.CodeConflict},
		{"the last owner stays owner", one, svc.RoleOwner, "olga@x.example", svc.RoleOwner, ""},
		{"nobody cannot be removed", one, svc.RoleOwner, "none@x.example", "", svc.CodeNotFound},
	} {
		err := svc.CheckMemberChange(test.members, test.actor, test.email, test.next)
		if (err == nil) != (test.want == "") || err != nil && svc.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestRoleAtLeast(t *testing.T) {
	roles := svc.Roles()
	for i, role := range roles {
		for j, other := range roles {
			if role.AtLeast(other) != (i <= j) {
				t.Errorf("%s at least %s", role, other)
			}
		}
		if role.AtLeast("") || svc.Role("").AtLeast(role) || svc.Role("god").AtLeast(role) {
			t.Errorf("%s and no role", role)
		}
	}
}

func TestSpecsOfPeople(t *testing.T) {
	past, future := day().Add(-time.Second), day().Add(time.Second)
	for _, test := range []struct {
		got  []svc.FieldError
		want []string
	}{
		{svc.OrgSpec{Name: "Acme"}.Validate(), []string{}},
		{svc.OrgSpec{Slug: "A"}.Validate(), []string{"name required", "slug invalid_slug"}},
		{svc.MemberSpec{Email: "A@x.example", Role: svc.RoleViewer}.Validate(), []string{}},
		{svc.MemberSpec{Email: "A <a@x.example>", Role: "king"}.Validate(), []string{"email invalid_email", "role unknown_value"}},
		{svc.TokenSpec{Name: "ci", Scopes: []svc.Scope{svc.ScopeRead}, ExpiresAt: &future}.Validate(day()), []string{}},
		{svc.TokenSpec{ExpiresAt: &past}.Validate(day()), []string{"name required", "scopes required", "expiresAt in_the_past"}},
		{svc.TokenSpec{Name: "ci", Scopes: []svc.Scope{"fly", "run"}}.Validate(day()), []string{"scopes unknown_value", "scopes unknown_value"}},
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
		if got, ok := svc.NormaliseEmail(value); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
