package identity_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/domain"
	"svc/domain/signin"
	"svc/protos"
)

func unknownToken() *domain.Error {
	return domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
}

func TestAuthorizeRefusesWhatOpensNothing(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada := c.User("ada@example.com", "Ada")
		c.Organization("Acme", ada)
		_, live := c.Mint(domain.TokenOwner{User: ada}, domain.ScopeRead)
		revoked, revokedSecret := c.Mint(domain.TokenOwner{User: ada}, domain.ScopeRead)
		nodetest.NoError(t, c.Identity.RevokeToken(t.Context(), domain.TokenOwner{User: ada}, revoked.ID))
		ends := nodetest.Clock().Add(time.Hour)
		_, expiring, err := c.Identity.MintToken(t.Context(), domain.TokenOwner{User: ada}, domain.TokenSpec{Name: "short", Scopes: domain.Scopes(), ExpiresAt: &ends})
		nodetest.NoError(t, err)
		if _, err := c.Authorize(expiring.Reveal(), "acme"); err != nil {
			t.Errorf("a token before its end fails with %v", err)
		}
		time.Sleep(time.Hour)
		tests := map[string]string{
			"nothing":          "",
			"a malformed one":  "svc_pat_short",
			"a typo":           live[:len(live)-1] + "~",
			"one never minted": domain.MintSecret("svc_pat_", make([]byte, 32)).Reveal(),
			"a revoked one":    revokedSecret,
			"an expired one":   expiring.Reveal(),
		}
		for name, secret := range tests {
			grant, rate, err := c.Identity.Authorize(t.Context(), secret, domain.RateDefault, "acme")
			nodetest.WantError(t, name, err, unknownToken())
			nodetest.WantEqual(t, "the grant of "+name, grant, domain.Grant{})
			nodetest.WantEqual(t, "the rate of "+name, rate, domain.RateState{})
		}
		if _, err := c.Authorize(live, "acme"); err != nil {
			t.Errorf("the live token fails with %v", err)
		}
	})
}

func TestAuthorizeGrantsRoleAndScopes(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada, bob := c.User("ada@example.com", "Ada"), c.User("bob@example.com", "Bob")
		c.Organization("Acme", ada)
		c.Organization("Beta", bob)
		c.Organization("Zoo", bob)
		c.Seat(bob, domain.RoleViewer)
		adaAll, adaAllSecret := c.Mint(domain.TokenOwner{User: ada}, domain.Scopes()...)
		bobRead, bobReadSecret := c.Mint(domain.TokenOwner{User: bob}, domain.ScopeRead)
		orgToken, orgSecret := c.Mint(domain.TokenOwner{User: ada, Org: "acme"}, domain.ScopeRead, domain.ScopeWrite)
		used := nodetest.Clock()
		orgToken.LastUsedAt = &used
		noMember := domain.NotFound("organization")
		permissions := domain.EffectivePermissions
		tests := map[string]struct {
			secret, org string
			want        domain.Grant
			err         *domain.Error
		}{
			"owner with every scope":       {adaAllSecret, "acme", domain.Grant{Token: adaAll, Role: domain.RoleOwner, Permissions: permissions(domain.RoleOwner, domain.Scopes())}, nil},
			"viewer who reads":             {bobReadSecret, "acme", domain.Grant{Token: bobRead, Role: domain.RoleViewer, Permissions: permissions(domain.RoleViewer, []domain.Scope{domain.ScopeRead})}, nil},
			"owner who only reads":         {bobReadSecret, "beta", domain.Grant{Token: bobRead, Role: domain.RoleOwner, Permissions: permissions(domain.RoleOwner, []domain.Scope{domain.ScopeRead})}, nil},
			"a foreign organization":       {adaAllSecret, "beta", domain.Grant{Token: adaAll, Permissions: []domain.Permission{}}, noMember},
			"no such organization":         {adaAllSecret, "nothing", domain.Grant{Token: adaAll, Permissions: []domain.Permission{}}, noMember},
			"organization token":           {orgSecret, "acme", domain.Grant{Token: orgToken, Role: domain.RoleOwner, Permissions: permissions(domain.RoleOwner, []domain.Scope{domain.ScopeRead, domain.ScopeWrite})}, nil},
			"organization token elsewhere": {orgSecret, "beta", domain.Grant{Token: orgToken, Permissions: []domain.Permission{}}, noMember},
			"no organization addressed":    {bobReadSecret, "", domain.Grant{Token: bobRead, Permissions: permissions(domain.RoleViewer, []domain.Scope{domain.ScopeRead})}, nil},
		}
		for name, test := range tests {
			got, err := c.Authorize(test.secret, test.org)
			if test.err != nil || err != nil {
				nodetest.WantError(t, name, err, test.err)
			}
			nodetest.WantEqual(t, "the grant of "+name, got, test.want)
		}
		memberships, err := c.Identity.Memberships(t.Context(), domain.Grant{Token: bobRead})
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the list of memberships", memberships, []domain.Membership{
			{Organization: domain.Organization{ID: "org_1", Slug: "acme", Name: "Acme"}, Role: domain.RoleViewer},
			{Organization: domain.Organization{ID: "org_2", Slug: "beta", Name: "Beta"}, Role: domain.RoleOwner},
			{Organization: domain.Organization{ID: "org_3", Slug: "zoo", Name: "Zoo"}, Role: domain.RoleOwner},
		})
	})
}

func TestAuthorizeLimitsRequests(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{Default: 3, Query: 1}, func(t *testing.T, c *nodetest.Clients) {
		ada := c.User("ada@example.com", "Ada")
		c.Organization("Acme", ada)
		token, secret := c.Mint(domain.TokenOwner{User: ada}, domain.ScopeRead)
		want := func(class domain.RateClass, org string, rate domain.RateState, wait time.Duration) {
			t.Helper()
			grant, got, err := c.Identity.Authorize(t.Context(), secret, class, org)
			nodetest.WantEqual(t, "the rate", got, rate)
			nodetest.WantEqual(t, "the token", grant.Token, token)
			if wait == 0 {
				nodetest.NoError(t, err)
				return
			}
			nodetest.WantError(t, "a request too many", err, &domain.Error{
				Code: domain.CodeRateLimited, RetryAfter: wait,
				Message: fmt.Sprintf("The token's limit of %d requests a minute is used up.", rate.Quota),
			})
		}
		state := func(class domain.RateClass, quota, remaining int, reset time.Duration) domain.RateState {
			return domain.RateState{Class: class, Quota: quota, Window: time.Minute, Remaining: remaining, Reset: reset}
		}
		want(domain.RateDefault, "acme", state(domain.RateDefault, 3, 2, 20*time.Second), 0)
		want(domain.RateDefault, "", state(domain.RateDefault, 3, 1, 40*time.Second), 0)
		want(domain.RateDefault, "acme", state(domain.RateDefault, 3, 0, 60*time.Second), 0)
		want(domain.RateDefault, "acme", state(domain.RateDefault, 3, 0, 60*time.Second), 20*time.Second)
		want(domain.RateQuery, "acme", state(domain.RateQuery, 1, 0, 60*time.Second), 0)
		want(domain.RateQuery, "acme", state(domain.RateQuery, 1, 0, 60*time.Second), 60*time.Second)
		time.Sleep(20 * time.Second)
		want(domain.RateDefault, "acme", state(domain.RateDefault, 3, 0, 60*time.Second), 0)
		want(domain.RateQuery, "acme", state(domain.RateQuery, 1, 0, 40*time.Second), 40*time.Second)
	})
}

func TestARemovedMemberIsOutAtOnce(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada, bob := c.User("ada@example.com", "Ada"), c.User("bob@example.com", "Bob")
		c.Organization("Acme", ada)
		c.Seat(bob, domain.RoleAdmin)
		bobToken, bobSecret := c.Mint(domain.TokenOwner{User: bob}, domain.Scopes()...)
		orgToken, orgSecret := c.Mint(domain.TokenOwner{User: bob, Org: "acme"}, domain.Scopes()...)
		for _, secret := range []string{bobSecret, orgSecret} {
			grant, err := c.Authorize(secret, "acme")
			nodetest.NoError(t, err)
			nodetest.WantEqual(t, "the role", grant.Role, domain.RoleAdmin)
		}
		nodetest.NoError(t, c.Identity.RemoveMember(t.Context(), "acme", domain.RoleOwner, " Bob@Example.com"))

		_, err := c.Authorize(bobSecret, "acme")
		nodetest.WantError(t, "the token of a removed member", err, domain.NotFound("organization"))
		grant, err := c.Authorize(bobSecret, "")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the grant that addresses nothing", grant, domain.Grant{Token: bobToken, Permissions: []domain.Permission{}})
		memberships, err := c.Identity.Memberships(t.Context(), grant)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the list of memberships", memberships, []domain.Membership{})

		ended := func(when string) {
			t.Helper()
			for _, org := range []string{"acme", "", "elsewhere"} {
				grant, err := c.Authorize(orgSecret, org)
				nodetest.WantError(t, "the organization token "+when+" in "+org, err, unknownToken())
				nodetest.WantEqual(t, "the organization token's grant", grant, domain.Grant{})
			}
			memberships, err := c.Identity.Memberships(t.Context(), domain.Grant{Token: orgToken})
			nodetest.NoError(t, err)
			nodetest.WantEqual(t, "the organization token's memberships", memberships, []domain.Membership{})
			listed, err := c.Identity.Tokens(t.Context(), domain.TokenOwner{User: ada, Org: "acme"})
			nodetest.NoError(t, err)
			if len(listed) != 1 || !listed[0].Orphaned || *listed[0].User != bob {
				t.Errorf("the list %s: %+v, want bob's, orphaned", when, listed)
			}
		}
		ended("after its minter left")

		c.Seat(bob, domain.RoleMember)
		grant, err = c.Authorize(bobSecret, "acme")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the role after a return", grant.Role, domain.RoleMember)
		ended("after its minter's return")
	})
}

// TestAnOwnerAdoptsATokenWhosePersonHasLeft gives a token without a user to an owner, and to no other member.
func TestAnOwnerAdoptsATokenWhosePersonHasLeft(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada, bob, cyd := c.User("ada@example.com", "Ada"), c.User("bob@example.com", "Bob"), c.User("cyd@example.com", "Cyd")
		acme := c.Organization("Acme", ada)
		c.Seat(bob, domain.RoleMember)
		c.Seat(cyd, domain.RoleAdmin)
		token, secret := c.Mint(domain.TokenOwner{User: bob, Org: "acme"}, domain.ScopeRead)
		adopt := func(who domain.User, id string) error {
			_, err := c.Identity.AdoptToken(t.Context(), domain.TokenOwner{User: who, Org: "acme"}, id)
			return err
		}
		nodetest.WantError(t, "adopting a member's token", adopt(ada, token.ID),
			&domain.Error{Code: domain.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted."})
		nodetest.NoError(t, c.Identity.RemoveMember(t.Context(), "acme", domain.RoleOwner, bob.Email))
		ownerOnly := &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an owner of the organization adopts its tokens."}
		nodetest.WantError(t, "an administrator's adoption", adopt(cyd, token.ID), ownerOnly)
		nodetest.WantError(t, "a stranger's adoption", adopt(bob, token.ID), ownerOnly)
		nodetest.WantError(t, "adopting none", adopt(ada, "tok_9"), domain.NotFound("token"))
		nodetest.NoError(t, adopt(ada, token.ID))
		nodetest.NoError(t, adopt(ada, token.ID)) // the answer was lost, and it is sent again
		grant, err := c.Authorize(secret, "acme")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "who it acts as", grant.Token.User, &ada)
		nodetest.WantEqual(t, "what it may do", grant.Permissions, domain.EffectivePermissions(domain.RoleOwner, []domain.Scope{domain.ScopeRead}))
		memberships, err := c.Identity.Memberships(t.Context(), grant)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "where it may do it", memberships, []domain.Membership{{Organization: acme, Role: domain.RoleOwner}})
		nodetest.NoError(t, c.Identity.RevokeToken(t.Context(), domain.TokenOwner{User: ada, Org: "acme"}, token.ID))
		_, err = c.Authorize(secret, "acme")
		nodetest.WantError(t, "the revoked token", err, unknownToken())
	})
}

func TestMembers(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada := c.User("ada@example.com", "Ada")
		c.Organization("Acme", ada)
		joined := nodetest.Clock()
		put := func(actor domain.Role, email, name string, role domain.Role) (domain.Member, error) {
			return c.Identity.PutMember(t.Context(), "acme", actor, domain.MemberSpec{Email: email, Name: name, Role: role})
		}
		time.Sleep(time.Minute)
		bob, err := put(domain.RoleAdmin, "Bob@Example.com", "Bob", domain.RoleMember)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the new member", bob, domain.Member{User: domain.User{ID: "usr_2", Email: "bob@example.com", Name: "Bob"}, Role: domain.RoleMember, JoinedAt: joined.Add(time.Minute)})
		members, err := c.Identity.Members(t.Context(), "acme")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the list of members", members, []domain.Member{{User: ada, Role: domain.RoleOwner, JoinedAt: joined}, bob})

		lastOwner := &domain.Error{Code: domain.CodeConflict, Reason: "last_owner", Message: "The last owner can be neither removed nor demoted."}
		adminOnly := &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
		ownerOnly := &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
		_, err = put(domain.RoleOwner, "ada@example.com", "", domain.RoleViewer)
		nodetest.WantError(t, "demoting the last owner", err, lastOwner)
		nodetest.WantError(t, "removing the last owner", c.Identity.RemoveMember(t.Context(), "acme", domain.RoleOwner, "ada@example.com"), lastOwner)
		_, err = put(domain.RoleAdmin, "bob@example.com", "", domain.RoleOwner)
		nodetest.WantError(t, "an admin making an owner", err, ownerOnly)
		nodetest.WantError(t, "removing nobody", c.Identity.RemoveMember(t.Context(), "acme", domain.RoleOwner, "not an address"), domain.NotFound("member"))
		_, err = put(domain.RoleOwner, "not an address", "", "king")
		nodetest.WantError(t, "a bad seat", err, domain.Invalid(
			domain.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."},
			domain.FieldError{Field: "role", Code: "unknown_value", Message: `Unknown role "king".`, Allowed: []string{"owner", "admin", "member", "viewer"}},
		))

		// A caller without the right to seat users makes and renames none.
		puts := len(c.Store.Puts())
		for _, actor := range []domain.Role{domain.RoleMember, domain.RoleViewer} {
			_, err = put(actor, "bob@example.com", "Mallory", domain.RoleMember)
			nodetest.WantError(t, "a rename by a "+string(actor), err, adminOnly)
			_, err = put(actor, "new@example.com", "New", domain.RoleViewer)
			nodetest.WantError(t, "a seat by a "+string(actor), err, adminOnly)
		}
		_, err = put(domain.RoleAdmin, "ada@example.com", "Mallory", domain.RoleMember)
		nodetest.WantError(t, "an admin demoting an owner", err, ownerOnly)
		if got := len(c.Store.Puts()); got != puts {
			t.Errorf("%d writes for what was forbidden, want none", got-puts)
		}
		_, err = c.Identity.KnownUser(t.Context(), "new@example.com")
		nodetest.WantError(t, "a person who was not seated", err, domain.NotFound("user"))
	})
}

func TestUsersAndOrganizations(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		nameless := c.User("Ada@Example.com", "")
		nodetest.WantEqual(t, "a new user", nameless, domain.User{ID: "usr_1", Email: "ada@example.com", Name: "ada@example.com"})
		ada := c.User("ada@example.com", "Ada")
		nodetest.WantEqual(t, "a known user keeps the name", ada, nameless)
		known, err := c.Identity.KnownUser(ctx, " ADA@example.com")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the known user", known, ada)
		_, err = c.Identity.User(ctx, "Ada <ada@example.com>", "")
		nodetest.WantError(t, "a bad address", err, domain.Invalid(domain.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."}))

		acme := c.Organization("Ácme & Co", ada)
		nodetest.WantEqual(t, "the organization", acme, domain.Organization{ID: "org_1", Slug: "acme-co", Name: "Ácme & Co"})
		_, err = c.Identity.CreateOrganization(ctx, ada, domain.OrgSpec{Name: "Other", Slug: "acme-co"})
		nodetest.WantError(t, "a slug that is taken", err, domain.Errorf(domain.CodeConflict, `The slug "acme-co" is already used.`))
		_, err = c.Identity.CreateOrganization(ctx, ada, domain.OrgSpec{Name: "日本"})
		nodetest.WantError(t, "a name without a slug", err, domain.Invalid(domain.FieldError{Field: "slug", Code: "invalid_slug", Message: "The name yields no slug; give one."}))
		_, err = c.Identity.CreateOrganization(ctx, ada, domain.OrgSpec{})
		nodetest.WantError(t, "no name", err, domain.Invalid(domain.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."}))
		renamed, err := c.Identity.RenameOrganization(ctx, "acme-co", "Acme")
		nodetest.NoError(t, err)
		got, err := c.Identity.Organization(ctx, "acme-co")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the renamed organization", []domain.Organization{renamed, got}, []domain.Organization{{ID: "org_1", Slug: "acme-co", Name: "Acme"}, {ID: "org_1", Slug: "acme-co", Name: "Acme"}})
		_, err = c.Identity.Organization(ctx, "nothing")
		nodetest.WantError(t, "no organization", err, domain.NotFound("organization"))
	})
}

func TestTokens(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		ada := c.User("ada@example.com", "Ada")
		c.Organization("Acme", ada)
		mine, ours := domain.TokenOwner{User: ada}, domain.TokenOwner{User: ada, Org: "acme"}
		now, ends := nodetest.Clock(), nodetest.Clock().Add(time.Hour)
		personal, secret, err := c.Identity.MintToken(ctx, mine, domain.TokenSpec{Name: "ci", Scopes: []domain.Scope{domain.ScopeRead}, ExpiresAt: &ends})
		nodetest.NoError(t, err)
		clear := secret.Reveal()
		nodetest.WantEqual(t, "the personal token", actorstest.Through(t, personal), domain.Token{
			ID: "tok_1", Kind: domain.TokenPersonal, Name: "ci", Scopes: []domain.Scope{domain.ScopeRead}, User: &ada,
			Last4: clear[len(clear)-4:], CreatedAt: now, ExpiresAt: &ends,
		})
		organizational, orgSecret := c.Mint(ours, domain.Scopes()...)
		nodetest.WantEqual(t, "the organization token's kind and place", []any{organizational.Kind, organizational.Org}, []any{domain.TokenOrganization, "acme"})
		session, sessionSecret, err := c.Identity.OpenSession(ctx, signin.SessionSpec{Person: ada, By: signin.SessionOfOperator})
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the session's kind", session.Kind, domain.TokenConsole)
		for prefix, secret := range map[string]string{"svc_pat_": clear, "svc_org_": orgSecret, "svc_con_": sessionSecret.Reveal()} {
			if !domain.WellFormedSecret(secret) || secret[:len(prefix)] != prefix {
				t.Errorf("a token is %q, want a well-formed %s", secret, prefix)
			}
			if _, err := c.Authorize(secret, "acme"); err != nil {
				t.Errorf("%s does not open the organization: %v", prefix, err)
			}
		}
		ids := func(owner domain.TokenOwner) (ids []string) {
			t.Helper()
			tokens, err := c.Identity.Tokens(ctx, owner)
			nodetest.NoError(t, err)
			for _, token := range tokens {
				ids = append(ids, token.ID)
			}
			return ids
		}
		nodetest.WantEqual(t, "the personal list", ids(mine), []string{"tok_1"})
		nodetest.WantEqual(t, "the organization's list", ids(ours), []string{"tok_2"})
		nodetest.WantError(t, "revoking another's", c.Identity.RevokeToken(ctx, mine, "tok_2"), domain.NotFound("token"))
		nodetest.NoError(t, c.Identity.RevokeToken(ctx, ours, "tok_2"))
		_, err = c.Authorize(orgSecret, "acme")
		nodetest.WantError(t, "the revoked token", err, unknownToken())
		nodetest.WantError(t, "revoking it twice", c.Identity.RevokeToken(ctx, ours, "tok_2"), domain.NotFound("token"))
		nodetest.WantEqual(t, "the organization's list", ids(ours), []string(nil))
		time.Sleep(time.Hour)
		nodetest.WantEqual(t, "the personal list without the expired", ids(mine), []string(nil))
		nodetest.NoError(t, c.Identity.RevokeToken(ctx, mine, "tok_1"))

		past := nodetest.Clock()
		_, _, err = c.Identity.MintToken(ctx, mine, domain.TokenSpec{Scopes: []domain.Scope{"all"}, ExpiresAt: &past})
		nodetest.WantError(t, "a bad token", err, domain.Invalid(
			domain.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."},
			domain.FieldError{Field: "scopes", Code: "unknown_value", Message: `Unknown scope "all".`, Allowed: []string{"read", "write", "admin"}},
			domain.FieldError{Field: "expiresAt", Code: "in_the_past", Message: "The token would have expired already."},
		))
		_, _, err = c.Identity.MintToken(ctx, domain.TokenOwner{User: ada, Org: "nothing"}, domain.TokenSpec{Name: "ci", Scopes: domain.Scopes()})
		nodetest.WantError(t, "a token of no organization", err, domain.NotFound("organization"))
	})
}

// TestAnInterruptedRevocation stops a revocation after its first step: the token
// opens nothing, and the next attempt completes it.
func TestAnInterruptedRevocation(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada := c.User("ada@example.com", "Ada")
		owner := domain.TokenOwner{User: ada}
		c.Organization("Acme", ada)
		token, secret := c.Mint(owner, domain.ScopeRead)
		c.Refuse = func(call *protos.Call) error {
			if call.GetMethod() == "token.remove" {
				return actorstest.ErrAway
			}
			return nil
		}
		if err := c.Identity.RevokeToken(t.Context(), owner, token.ID); err == nil {
			t.Error("an interrupted revocation succeeds")
		}
		c.Refuse = nil
		_, err := c.Authorize(secret, "acme")
		nodetest.WantError(t, "the token", err, unknownToken())
		nodetest.NoError(t, c.Identity.RevokeToken(t.Context(), owner, token.ID))
		tokens, err := c.Identity.Tokens(t.Context(), owner)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the list", tokens, []domain.Token{})
	})
}

// TestATokenThatWasListedOnlyCanBeRevoked stops a minting between its two steps.
func TestATokenThatWasListedOnlyCanBeRevoked(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		owner := domain.TokenOwner{User: c.User("ada@example.com", "Ada")}
		c.Refuse = func(call *protos.Call) error {
			if call.GetKind() == "token" {
				return actorstest.ErrAway
			}
			return nil
		}
		_, _, err := c.Identity.MintToken(t.Context(), owner, domain.TokenSpec{Name: "ci", Scopes: domain.Scopes()})
		if err == nil {
			t.Error("an interrupted minting succeeds")
		}
		c.Refuse = nil
		tokens, err := c.Identity.Tokens(t.Context(), owner)
		nodetest.NoError(t, err)
		if len(tokens) != 1 {
			t.Fatalf("%d tokens are listed, want 1", len(tokens))
		}
		nodetest.NoError(t, c.Identity.RevokeToken(t.Context(), owner, tokens[0].ID))
	})
}

// TestEverythingSurvivesTheProcess reads everything through a second node with the same store.
func TestEverythingSurvivesTheProcess(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada, bob := c.User("ada@example.com", "Ada"), c.User("bob@example.com", "Bob")
		c.Organization("Acme", ada)
		c.Seat(bob, domain.RoleAdmin)
		nodetest.NoError(t, c.Identity.RemoveMember(t.Context(), "acme", domain.RoleOwner, bob.Email))
		token, secret := c.Mint(domain.TokenOwner{User: ada}, domain.ScopeRead)
		before, err := c.Authorize(secret, "acme")
		nodetest.NoError(t, err)
		c.EvictAll()
		synctest.Wait()
		for _, kind := range []string{"organization", "user", "token"} {
			if n := c.Resident(kind); n != 0 {
				t.Errorf("%d activations of %s, want 0", n, kind)
			}
		}
		after, err := c.Authorize(secret, "acme")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the grant", after, before)
		nodetest.WantEqual(t, "its token", after.Token, token)
		// The first write of the new activation follows a deletion.
		c.Seat(bob, domain.RoleViewer)
		c.EvictAll()
		synctest.Wait()
		members, err := c.Identity.Members(t.Context(), "acme")
		nodetest.NoError(t, err)
		if len(members) != 2 {
			t.Errorf("the members are %+v, want two", members)
		}
	})
}

func TestReplays(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		body, other := [32]byte{1}, [32]byte{2}
		underWay := domain.Errorf(domain.CodeConflict, "A request with this Idempotency-Key is still under way.")
		begin := func(token, key string, body [32]byte, sealed []byte, want *domain.Error) {
			t.Helper()
			got, err := c.Replays.Begin(t.Context(), token, key, body)
			if want != nil || err != nil {
				nodetest.WantError(t, "begin", err, want)
			}
			nodetest.WantEqual(t, "the answer", got.Sealed, sealed)
		}
		begin("tok_1", "key", body, nil, nil)
		begin("tok_1", "key", body, nil, underWay)
		begin("tok_2", "key", body, nil, nil)
		begin("tok_1", "another", body, nil, nil)
		nodetest.NoError(t, c.Replays.Finish(t.Context(), "tok_1", "key", body, []byte("sealed")))
		nodetest.NoError(t, c.Replays.Finish(t.Context(), "tok_2", "key", body, nil))
		c.EvictAll()
		synctest.Wait()
		begin("tok_1", "key", body, []byte("sealed"), nil)
		begin("tok_1", "key", other, nil, domain.Errorf(domain.CodeConflict, "The Idempotency-Key was used with another body."))
		begin("tok_2", "key", other, nil, domain.Errorf(domain.CodeConflict, "The Idempotency-Key was used with another body."))
		begin("tok_2", "key", body, nil, nil)
		due, err := c.Store.Due(t.Context(), nodetest.Clock().Add(24*time.Hour), 10)
		nodetest.NoError(t, err)
		if len(due) != 3 || due[0].Kind != "replay" || due[0].Name != "forget" {
			t.Errorf("the wake-ups are %v, want one for each key", due)
		}
		time.Sleep(24 * time.Hour)
		begin("tok_1", "key", other, nil, nil)
	})
}

// TestASeatIsTakenByWhoIsInvited makes, accepts, declines and withdraws invitations. A user becomes a member only by
// accepting, and the inviter does not learn whether the address already has an account.
func TestASeatIsTakenByWhoIsInvited(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		ada, bob := c.User("ada@example.com", "Ada"), c.User("bob@example.com", "Bob")
		acme := c.Organization("Acme", ada)
		c.Organization("Beta", bob)
		invite := func(email, name string, role domain.Role) signin.Seat {
			t.Helper()
			seat, err := c.Identity.OfferSeat(ctx, "acme", domain.RoleOwner, ada, domain.MemberSpec{Email: email, Name: name, Role: role})
			nodetest.NoError(t, err)
			return seat
		}
		known, unknown := invite("Bob@example.com", "", domain.RoleAdmin), invite("new@example.com", "", domain.RoleAdmin)
		want := signin.Invitation{ID: "inv_1", Email: "bob@example.com", Role: domain.RoleAdmin, InvitedBy: domain.LedgerActor{ID: ada.ID, Name: "Ada"}, CreatedAt: nodetest.Clock(), ExpiresAt: nodetest.Clock().Add(72 * time.Hour)}
		nodetest.WantEqual(t, "the invitation of a known person", known, signin.Seat{Invitation: &want})
		other := want
		other.ID, other.Email = "inv_2", "new@example.com"
		nodetest.WantEqual(t, "that of a stranger", unknown, signin.Seat{Invitation: &other})
		_, err := c.Identity.KnownUser(ctx, "new@example.com")
		nodetest.WantError(t, "a stranger who is invited", err, domain.NotFound("user"))
		members, err := c.Identity.Members(ctx, "acme")
		nodetest.NoError(t, err)
		if len(members) != 1 {
			t.Errorf("%d members before anybody has accepted", len(members))
		}
		_, secret := c.Mint(domain.TokenOwner{User: bob}, domain.Scopes()...)
		_, err = c.Authorize(secret, "acme")
		nodetest.WantError(t, "a token of the invited", err, domain.NotFound("organization"))

		offers, err := c.Identity.Offers(ctx, bob)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "what bob is offered", offers, []signin.Offer{{Organization: acme, Invitation: want}})
		membership, err := c.Identity.AcceptOffer(ctx, bob, "acme")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the seat", membership, domain.Membership{Organization: acme, Role: domain.RoleAdmin})
		_, err = c.Authorize(secret, "acme")
		nodetest.NoError(t, err)
		none, err := c.Identity.Offers(ctx, bob)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "what bob is offered afterwards", none, []signin.Offer{})
		_, err = c.Identity.AcceptOffer(ctx, ada, "beta")
		nodetest.WantError(t, "accepting what was not offered", err, domain.NotFound("invitation"))
		_, err = c.Identity.AcceptOffer(ctx, ada, "nothing")
		nodetest.WantError(t, "accepting of nobody", err, domain.NotFound("invitation"))

		// Invited users become known when they sign in, and may refuse.
		_, err = c.Identity.Enter(ctx, "nobody@example.com")
		nodetest.WantError(t, "signing in uninvited", err, domain.NotFound("user"))
		invite("new@example.com", "Newt", domain.RoleViewer)
		newt, err := c.Identity.Enter(ctx, "NEW@example.com")
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the name of the invited", newt.Name, "Newt")
		nodetest.NoError(t, c.Identity.DeclineOffer(ctx, newt, "acme"))
		nodetest.WantError(t, "refusing twice", c.Identity.DeclineOffer(ctx, newt, "acme"), domain.NotFound("invitation"))

		// An invitation that is withdrawn or too old seats no user.
		invite("new@example.com", "", domain.RoleViewer)
		_, err = c.Identity.WithdrawSeat(ctx, "acme", domain.RoleMember, "new@example.com")
		nodetest.WantError(t, "withdrawing as a member", err, &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."})
		_, err = c.Identity.WithdrawSeat(ctx, "acme", domain.RoleAdmin, "New@example.com")
		nodetest.NoError(t, err)
		_, err = c.Identity.AcceptOffer(ctx, newt, "acme")
		nodetest.WantError(t, "accepting what was withdrawn", err, domain.NotFound("invitation"))
		invite("new@example.com", "", domain.RoleViewer)
		time.Sleep(72 * time.Hour)
		_, err = c.Identity.AcceptOffer(ctx, newt, "acme")
		nodetest.WantError(t, "accepting too late", err, domain.NotFound("invitation"))
		seats, err := c.Identity.Seats(ctx, "acme")
		nodetest.NoError(t, err)
		if len(seats) != 2 || seats[0].Member.User != ada || seats[1].Member.User != bob {
			t.Errorf("the seats at the end: %+v", seats)
		}
	})
}

// TestInvitationsAreBounded fills an organization and a user with invitations.
func TestInvitationsAreBounded(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		ada, victim := c.User("ada@example.com", "Ada"), c.User("victim@example.com", "Victim")
		c.Organization("Acme", ada)
		invite := func(org, email string) error {
			_, err := c.Identity.OfferSeat(ctx, org, domain.RoleOwner, ada, domain.MemberSpec{Email: email, Role: domain.RoleViewer})
			return err
		}
		for n := range signin.MaxInvitations {
			nodetest.NoError(t, invite("acme", fmt.Sprintf("p%d@example.com", n)))
		}
		full := invite("acme", "one.more@example.com")
		if domain.CodeOf(full) != domain.CodeConflict {
			t.Errorf("one more: %v", full)
		}
		nodetest.NoError(t, invite("acme", "p0@example.com")) // again
		time.Sleep(signin.InvitationTime)
		nodetest.NoError(t, invite("acme", "one.more@example.com"))
		for n := range signin.MaxOffers + 5 {
			time.Sleep(time.Second)
			org := c.Organization(fmt.Sprintf("Org %d", n), ada)
			nodetest.NoError(t, invite(org.Slug, victim.Email))
		}
		offers, err := c.Identity.Offers(ctx, victim)
		nodetest.NoError(t, err)
		if len(offers) != signin.MaxOffers {
			t.Errorf("%d offers, want the newest %d", len(offers), signin.MaxOffers)
		}
	})
}

// TestLastUseIsListed uses tokens of both lists. The lists show the last use, a request succeeds if its note is lost,
// and a busy token costs few writes.
func TestLastUseIsListed(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ada := c.User("ada@example.com", "Ada")
		c.Organization("Acme", ada)
		for _, owner := range []domain.TokenOwner{{User: ada}, {User: ada, Org: "acme"}} {
			_, secret := c.Mint(owner, domain.ScopeRead)
			last := func() *time.Time {
				t.Helper()
				tokens, err := c.Identity.Tokens(t.Context(), owner)
				nodetest.NoError(t, err)
				return tokens[0].LastUsedAt
			}
			use := func() {
				t.Helper()
				_, err := c.Authorize(secret, "acme")
				nodetest.NoError(t, err)
			}
			if got := last(); got != nil {
				t.Errorf("a fresh token was used at %s", got)
			}
			c.Refuse = func(call *protos.Call) error {
				if call.GetMethod() == "token.used" {
					return actorstest.ErrAway
				}
				return nil
			}
			use()
			c.Refuse = nil
			if got := last(); got != nil {
				t.Errorf("a note that was lost tells %s", got)
			}
			time.Sleep(domain.UseGrain)
			first := nodetest.Clock().Truncate(time.Minute)
			puts := len(c.Store.Puts())
			for range 100 {
				use()
				time.Sleep(time.Second)
			}
			if wrote := len(c.Store.Puts()) - puts; wrote != 1 {
				t.Errorf("100 requests cost %d writes, want 1", wrote)
			}
			nodetest.WantEqual(t, "the first use", last(), &first)
			time.Sleep(domain.UseGrain)
			next := nodetest.Clock().Truncate(time.Minute)
			use()
			nodetest.WantEqual(t, "the next use", last(), &next)
		}
	})
}
