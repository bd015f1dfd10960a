package issues

import (
	"errors"
	"testing"

	"svc"
	"svc/http/route"
)

// TestIssuesAreChangedByPeople checks that a token without a person is refused (contract 82) before any lookup.
func TestIssuesAreChangedByPeople(t *testing.T) {
	call := &route.Call{Grant: svc.Grant{Token: svc.Token{Kind: svc.TokenOrganization}, Permissions: svc.Permissions()}}
	_, err := tracking{}.update(t.Context(), call, updateIssue{})
	var refused *svc.Error
	if !errors.As(err, &refused) || refused.Code != svc.CodeForbidden || refused.Reason != "user_bound_token_required" {
		t.Errorf("got %v", err)
	}
}
