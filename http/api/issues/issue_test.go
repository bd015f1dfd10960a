package issues

import (
	"errors"
	"testing"

	"svc"
	"svc/http/route"
)

// TestIssuesAreChangedByPeople refuses a token that is bound to nobody
// (contract 82) before anything is looked up.
func TestIssuesAreChangedByPeople(t *testing.T) {
	call := &route.Call{Grant: svc.Grant{Token: svc.Token{Kind: svc.TokenOrganization}, Permissions: svc.Permissions()}}
	_, err := tracking{}.update(t.Context(), call, updateIssue{})
	var refused *svc.Error
	if !errors.As(err, &refused) || refused.Code != svc.CodeForbidden || refused.Reason != "user_bound_token_required" {
		t.Errorf("got %v", err)
	}
}
