package issues

import (
	"errors"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// TestIssuesAreChangedByPeople checks that a token without a person is refused (contract 82) before any lookup.
func TestIssuesAreChangedByPeople(t *testing.T) {
	call := &route.Call{Grant: domain.Grant{Token: domain.Token{Kind: domain.TokenOrganization}, Permissions: domain.Permissions()}}
	_, err := tracking{}.update(t.Context(), call, updateIssue{})
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Code != domain.CodeForbidden || refused.Reason != "user_bound_token_required" {
		t.Errorf("got %v", err)
	}
}
