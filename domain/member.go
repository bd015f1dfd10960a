package domain

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
)

// DefaultTokenLifetime is the lifetime of a token that is created without an end (contract 13).
const DefaultTokenLifetime = 90 * 24 * time.Hour

// Membership is a user's place in one organization, seen from the user.
type Membership struct {
	Organization
	Role Role `json:"role"`
}

// OrgSpec describes a new organization. An empty slug is derived from the name.
type OrgSpec struct {
	Name string
	Slug string
}

// Validate returns every problem of the specification, none if it is valid.
func (s OrgSpec) Validate() []FieldError {
	problems := ValidateName(s.Name)
	if s.Slug != "" && !ValidSlug(s.Slug) {
		problems = append(problems, FieldError{
			Field: "slug", Code: "invalid_slug",
			Message: "A slug is up to 48 lower-case letters, digits and single inner hyphens, and is not reserved.",
		})
	}
	return problems
}

// MemberSpec gives a person, identified by e-mail, a seat in an organization. The name applies to a new person only.
type MemberSpec struct {
	Email string
	Name  string
	Role  Role
}

// Validate returns every problem of the specification, none if it is valid.
func (s MemberSpec) Validate() []FieldError {
	var problems []FieldError
	if _, ok := NormaliseEmail(s.Email); !ok {
		problems = append(problems, FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."})
	}
	if !slices.Contains(Roles(), s.Role) {
		problems = append(problems, FieldError{
			Field: "role", Code: "unknown_value",
			Message: fmt.Sprintf("Unknown role %q.", s.Role), Allowed: Texts(Roles()),
		})
	}
	if strings.TrimSpace(s.Name) != "" {
		problems = append(problems, ValidateName(s.Name)...)
	}
	return problems
}

// maxEmail is the length of the longest e-mail address, in bytes (RFC 5321).
const maxEmail = 254

// NormaliseEmail returns the form under which a person is found: lower case, without a display name.
func NormaliseEmail(s string) (string, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s || len(s) > maxEmail {
		return "", false
	}
	return s, true
}

// AtLeast reports whether the role has every permission of another one.
func (r Role) AtLeast(other Role) bool {
	rank, least := slices.Index(Roles(), r), slices.Index(Roles(), other)
	return rank >= 0 && least >= 0 && rank <= least
}

// CheckMemberChange returns nil if a member with role actor may give the person of a normalised e-mail address the role
// next, or remove the person if next is empty. Only an owner may add or remove owners (forbidden), and the last owner
// must remain one (conflict).
func CheckMemberChange(members []Member, actor Role, email string, next Role) error {
	var present Role
	owners := 0
	for _, member := range members {
		if member.Role == RoleOwner {
			owners++
		}
		if address, _ := NormaliseEmail(member.User.Email); address == email {
			present = member.Role
		}
	}
	switch {
	case present == "" && next == "":
		return NotFound("member")
	case present == next:
		return nil
	case !actor.AtLeast(RoleAdmin):
		return &Error{Code: CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
	case actor != RoleOwner && (present == RoleOwner || next == RoleOwner):
		return &Error{Code: CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
	case present == RoleOwner && owners == 1:
		return &Error{Code: CodeConflict, Reason: "last_owner", Message: "The last owner can be neither removed nor demoted."}
	}
	return nil
}

// TokenSpec describes a new personal or organization token; with a nil ExpiresAt it never expires.
type TokenSpec struct {
	Name      string
	Scopes    []Scope
	ExpiresAt *time.Time
}

// Validate returns every problem of the specification at an instant, none if it is valid.
func (s TokenSpec) Validate(now time.Time) []FieldError {
	problems := ValidateName(s.Name)
	if len(s.Scopes) == 0 {
		problems = append(problems, FieldError{Field: "scopes", Code: "required", Message: "A token needs at least one scope.", Allowed: Texts(Scopes())})
	}
	for _, scope := range s.Scopes {
		if !slices.Contains(Scopes(), scope) {
			problems = append(problems, FieldError{
				Field: "scopes", Code: "unknown_value",
				Message: fmt.Sprintf("Unknown scope %q.", scope), Allowed: Texts(Scopes()),
			})
		}
	}
	if s.ExpiresAt != nil && !s.ExpiresAt.After(now) {
		problems = append(problems, FieldError{Field: "expiresAt", Code: "in_the_past", Message: "The token would have expired already."})
	}
	return problems
}

// TokenOwner is the owner of tokens: a user with personal tokens if Org is empty, else the organization, for which User
// mints them.
type TokenOwner struct {
	User User
	Org  string
	// Session is the console session that mints a personal token; the operator has none.
	Session string
}
