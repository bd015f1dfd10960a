package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/protos"
)

func unknownToken() *svc.Error {
	return svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
}

func TestAuthorizeRefusesWhatOpensNothing(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada := c.user("ada@example.com", "Ada")
		c.organization("Acme", ada)
		_, live := c.mint(svc.TokenOwner{User: ada}, svc.ScopeRead)
		revoked, revokedSecret := c.mint(svc.TokenOwner{User: ada}, svc.ScopeRead)
		noError(t, c.identity.RevokeToken(t.Context(), svc.TokenOwner{User: ada}, revoked.ID))
		ends := clock().Add(time.Hour)
		_, expiring, err := c.identity.MintToken(t.Context(), svc.TokenOwner{User: ada}, svc.TokenSpec{Name: "short", Scopes: svc.Scopes(), ExpiresAt: &ends})
		noError(t, err)
		if _, err := c.authorize(expiring.Reveal(), "acme"); err != nil {
			t.Errorf("a token before its end fails with %v", err)
		}
		time.Sleep(time.Hour)
		tests := map[string]string{
			"nothing":          "",
			"a malformed one":  "svc_pat_short",
			"a typo":           live[:len(live)-1] + "~",
			"one never minted": svc.MintSecret("svc_pat_", make([]byte, 32)).Reveal(),
			"a revoked one":    revokedSecret,
			"an expired one":   expiring.Reveal(),
		}
		for name, secret := range tests {
			grant, rate, err := c.identity.Authorize(t.Context(), secret, svc.RateDefault, "acme")
			wantError(t, name, err, unknownToken())
			wantEqual(t, "the grant of "+name, grant, svc.Grant{})
			wantEqual(t, "the rate of "+name, rate, svc.RateState{})
		}
		if _, err := c.authorize(live, "acme"); err != nil {
			t.Errorf("the live token fails with %v", err)
		}
	})
}

func TestAuthorizeGrantsRoleAndScopes(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada, bob := c.user("ada@example.com", "Ada"), c.user("bob@example.com", "Bob")
		c.organization("Acme", ada)
		c.organization("Beta", bob)
		c.organization("Zoo", bob)
		c.seat(bob, svc.RoleViewer)
		adaAll, adaAllSecret := c.mint(svc.TokenOwner{User: ada}, svc.Scopes()...)
		bobRead, bobReadSecret := c.mint(svc.TokenOwner{User: bob}, svc.ScopeRead)
		orgToken, orgSecret := c.mint(svc.TokenOwner{User: ada, Org: "acme"}, svc.ScopeRead, svc.ScopeWrite)
		used := clock()
		orgToken.LastUsedAt = &used
		noMember := svc.NotFound("organization")
		permissions := svc.EffectivePermissions
		tests := map[string]struct {
			secret, org string
			want        svc.Grant
			err         *svc.Error
		}{
			"owner with every scope":       {adaAllSecret, "acme", svc.Grant{Token: adaAll, Role: svc.RoleOwner, Permissions: permissions(svc.RoleOwner, svc.Scopes())}, nil},
			"viewer who reads":             {bobReadSecret, "acme", svc.Grant{Token: bobRead, Role: svc.RoleViewer, Permissions: permissions(svc.RoleViewer, []svc.Scope{svc.ScopeRead})}, nil},
			"owner who only reads":         {bobReadSecret, "beta", svc.Grant{Token: bobRead, Role: svc.RoleOwner, Permissions: permissions(svc.RoleOwner, []svc.Scope{svc.ScopeRead})}, nil},
			"a foreign organization":       {adaAllSecret, "beta", svc.Grant{Token: adaAll, Permissions: []svc.Permission{}}, noMember},
			"no such organization":         {adaAllSecret, "nothing", svc.Grant{Token: adaAll, Permissions: []svc.Permission{}}, noMember},
			"organization token":           {orgSecret, "acme", svc.Grant{Token: orgToken, Role: svc.RoleOwner, Permissions: permissions(svc.RoleOwner, []svc.Scope{svc.ScopeRead, svc.ScopeWrite})}, nil},
			"organization token elsewhere": {orgSecret, "beta", svc.Grant{Token: orgToken, Permissions: []svc.Permission{}}, noMember},
			"no organization addressed":    {bobReadSecret, "", svc.Grant{Token: bobRead, Permissions: permissions(svc.RoleViewer, []svc.Scope{svc.ScopeRead})}, nil},
		}
		for name, test := range tests {
			got, err := c.authorize(test.secret, test.org)
			if test.err != nil || err != nil {
				wantError(t, name, err, test.err)
			}
			wantEqual(t, "the grant of "+name, got, test.want)
		}
		memberships, err := c.identity.Memberships(t.Context(), svc.Grant{Token: bobRead})
		noError(t, err)
		wantEqual(t, "the list of memberships", memberships, []svc.Membership{
			{Organization: svc.Organization{ID: "org_1", Slug: "acme", Name: "Acme"}, Role: svc.RoleViewer},
			{Organization: svc.Organization{ID: "org_2", Slug: "beta", Name: "Beta"}, Role: svc.RoleOwner},
			{Organization: svc.Organization{ID: "org_3", Slug: "zoo", Name: "Zoo"}, Role: svc.RoleOwner},
		})
	})
}

func TestAuthorizeLimitsRequests(t *testing.T) {
	withClients(t, Limits{Default: 3, Query: 1}, func(t *testing.T, c *clients) {
		ada := c.user("ada@example.com", "Ada")
		c.organization("Acme", ada)
		token, secret := c.mint(svc.TokenOwner{User: ada}, svc.ScopeRead)
		want := func(class svc.RateClass, org string, rate svc.RateState, wait time.Duration) {
			t.Helper()
			grant, got, err := c.identity.Authorize(t.Context(), secret, class, org)
			wantEqual(t, "the rate", got, rate)
			wantEqual(t, "the token", grant.Token, token)
			if wait == 0 {
				noError(t, err)
				return
			}
			wantError(t, "a request too many", err, &svc.Error{
				Code: svc.CodeRateLimited, RetryAfter: wait,
				Message: fmt.Sprintf("The token's limit of %d requests a minute is used up.", rate.Quota),
			})
		}
		state := func(class svc.RateClass, quota, remaining int, reset time.Duration) svc.RateState {
			return svc.RateState{Class: class, Quota: quota, Window: time.Minute, Remaining: remaining, Reset: reset}
		}
		want(svc.RateDefault, "acme", state(svc.RateDefault, 3, 2, 20*time.Second), 0)
		want(svc.RateDefault, "", state(svc.RateDefault, 3, 1, 40*time.Second), 0)
		want(svc.RateDefault, "acme", state(svc.RateDefault, 3, 0, 60*time.Second), 0)
		want(svc.RateDefault, "acme", state(svc.RateDefault, 3, 0, 60*time.Second), 20*time.Second)
		want(svc.RateQuery, "acme", state(svc.RateQuery, 1, 0, 60*time.Second), 0)
		want(svc.RateQuery, "acme", state(svc.RateQuery, 1, 0, 60*time.Second), 60*time.Second)
		time.Sleep(20 * time.Second)
		want(svc.RateDefault, "acme", state(svc.RateDefault, 3, 0, 60*time.Second), 0)
		want(svc.RateQuery, "acme", state(svc.RateQuery, 1, 0, 40*time.Second), 40*time.Second)
	})
}

func TestARemovedMemberIsOutAtOnce(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada, bob := c.user("ada@example.com", "Ada"), c.user("bob@example.com", "Bob")
		c.organization("Acme", ada)
		c.seat(bob, svc.RoleAdmin)
		bobToken, bobSecret := c.mint(svc.TokenOwner{User: bob}, svc.Scopes()...)
		orgToken, orgSecret := c.mint(svc.TokenOwner{User: bob, Org: "acme"}, svc.Scopes()...)
		for _, secret := range []string{bobSecret, orgSecret} {
			grant, err := c.authorize(secret, "acme")
			noError(t, err)
			wantEqual(t, "the role", grant.Role, svc.RoleAdmin)
		}
		noError(t, c.identity.RemoveMember(t.Context(), "acme", svc.RoleOwner, " Bob@Example.com"))

		_, err := c.authorize(bobSecret, "acme")
		wantError(t, "the token of a removed member", err, svc.NotFound("organization"))
		grant, err := c.authorize(bobSecret, "")
		noError(t, err)
		wantEqual(t, "the grant that addresses nothing", grant, svc.Grant{Token: bobToken, Permissions: []svc.Permission{}})
		memberships, err := c.identity.Memberships(t.Context(), grant)
		noError(t, err)
		wantEqual(t, "the list of memberships", memberships, []svc.Membership{})

		ended := func(when string) {
			t.Helper()
			for _, org := range []string{"acme", "", "elsewhere"} {
				grant, err := c.authorize(orgSecret, org)
				wantError(t, "the organization token "+when+" in "+org, err, unknownToken())
				wantEqual(t, "the organization token's grant", grant, svc.Grant{})
			}
			memberships, err := c.identity.Memberships(t.Context(), svc.Grant{Token: orgToken})
			noError(t, err)
			wantEqual(t, "the organization token's memberships", memberships, []svc.Membership{})
			listed, err := c.identity.Tokens(t.Context(), svc.TokenOwner{User: ada, Org: "acme"})
			noError(t, err)
			if len(listed) != 1 || !listed[0].Orphaned || *listed[0].User != bob {
				t.Errorf("the list %s: %+v, want bob's, orphaned", when, listed)
			}
		}
		ended("after its minter left")

		c.seat(bob, svc.RoleMember)
		grant, err = c.authorize(bobSecret, "acme")
		noError(t, err)
		wantEqual(t, "the role after a return", grant.Role, svc.RoleMember)
		ended("after its minter's return")
	})
}

// TestAnOwnerAdoptsATokenWhosePersonHasLeft gives a token without a person to an owner, and
// to nobody else.
func TestAnOwnerAdoptsATokenWhosePersonHasLeft(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada, bob, cyd := c.user("ada@example.com", "Ada"), c.user("bob@example.com", "Bob"), c.user("cyd@example.com", "Cyd")
		acme := c.organization("Acme", ada)
		c.seat(bob, svc.RoleMember)
		c.seat(cyd, svc.RoleAdmin)
		token, secret := c.mint(svc.TokenOwner{User: bob, Org: "acme"}, svc.ScopeRead)
		adopt := func(who svc.User, id string) error {
			_, err := c.identity.AdoptToken(t.Context(), svc.TokenOwner{User: who, Org: "acme"}, id)
			return err
		}
		wantError(t, "adopting a member's token", adopt(ada, token.ID),
			&svc.Error{Code: svc.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted."})
		noError(t, c.identity.RemoveMember(t.Context(), "acme", svc.RoleOwner, bob.Email))
		ownerOnly := &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an owner of the organization adopts its tokens."}
		wantError(t, "an administrator's adoption", adopt(cyd, token.ID), ownerOnly)
		wantError(t, "a stranger's adoption", adopt(bob, token.ID), ownerOnly)
		wantError(t, "adopting none", adopt(ada, "tok_9"), svc.NotFound("token"))
		noError(t, adopt(ada, token.ID))
		noError(t, adopt(ada, token.ID)) // the answer was lost, and it is sent again
		grant, err := c.authorize(secret, "acme")
		noError(t, err)
		wantEqual(t, "who it acts as", grant.Token.User, &ada)
		wantEqual(t, "what it may do", grant.Permissions, svc.EffectivePermissions(svc.RoleOwner, []svc.Scope{svc.ScopeRead}))
		memberships, err := c.identity.Memberships(t.Context(), grant)
		noError(t, err)
		wantEqual(t, "where it may do it", memberships, []svc.Membership{{Organization: acme, Role: svc.RoleOwner}})
		noError(t, c.identity.RevokeToken(t.Context(), svc.TokenOwner{User: ada, Org: "acme"}, token.ID))
		_, err = c.authorize(secret, "acme")
		wantError(t, "the revoked token", err, unknownToken())
	})
}

func TestMembers(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada := c.user("ada@example.com", "Ada")
		c.organization("Acme", ada)
		joined := clock()
		put := func(actor svc.Role, email, name string, role svc.Role) (svc.Member, error) {
			return c.identity.PutMember(t.Context(), "acme", actor, svc.MemberSpec{Email: email, Name: name, Role: role})
		}
		time.Sleep(time.Minute)
		bob, err := put(svc.RoleAdmin, "Bob@Example.com", "Bob", svc.RoleMember)
		noError(t, err)
		wantEqual(t, "the new member", bob, svc.Member{User: svc.User{ID: "usr_2", Email: "bob@example.com", Name: "Bob"}, Role: svc.RoleMember, JoinedAt: joined.Add(time.Minute)})
		members, err := c.identity.Members(t.Context(), "acme")
		noError(t, err)
		wantEqual(t, "the list of members", members, []svc.Member{{User: ada, Role: svc.RoleOwner, JoinedAt: joined}, bob})

		lastOwner := &svc.Error{Code: svc.CodeConflict, Reason: "last_owner", Message: "The last owner can be neither removed nor demoted."}
		adminOnly := &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
		ownerOnly := &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
		_, err = put(svc.RoleOwner, "ada@example.com", "", svc.RoleViewer)
		wantError(t, "demoting the last owner", err, lastOwner)
		wantError(t, "removing the last owner", c.identity.RemoveMember(t.Context(), "acme", svc.RoleOwner, "ada@example.com"), lastOwner)
		_, err = put(svc.RoleAdmin, "bob@example.com", "", svc.RoleOwner)
		wantError(t, "an admin making an owner", err, ownerOnly)
		wantError(t, "removing nobody", c.identity.RemoveMember(t.Context(), "acme", svc.RoleOwner, "not an address"), svc.NotFound("member"))
		_, err = put(svc.RoleOwner, "not an address", "", "king")
		wantError(t, "a bad seat", err, svc.Invalid(
			svc.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."},
			svc.FieldError{Field: "role", Code: "unknown_value", Message: `Unknown role "king".`, Allowed: []string{"owner", "admin", "member", "viewer"}},
		))

		// Who may not seat anybody makes and renames nobody.
		puts := len(c.store.Puts())
		for _, actor := range []svc.Role{svc.RoleMember, svc.RoleViewer} {
			_, err = put(actor, "bob@example.com", "Mallory", svc.RoleMember)
			wantError(t, "a rename by a "+string(actor), err, adminOnly)
			_, err = put(actor, "new@example.com", "New", svc.RoleViewer)
			wantError(t, "a seat by a "+string(actor), err, adminOnly)
		}
		_, err = put(svc.RoleAdmin, "ada@example.com", "Mallory", svc.RoleMember)
		wantError(t, "an admin demoting an owner", err, ownerOnly)
		if got := len(c.store.Puts()); got != puts {
			t.Errorf("%d writes for what was forbidden, want none", got-puts)
		}
		_, err = c.identity.KnownUser(t.Context(), "new@example.com")
		wantError(t, "a person who was not seated", err, svc.NotFound("user"))
	})
}

func TestUsersAndOrganizations(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		nameless := c.user("Ada@Example.com", "")
		wantEqual(t, "a new user", nameless, svc.User{ID: "usr_1", Email: "ada@example.com", Name: "ada@example.com"})
		ada := c.user("ada@example.com", "Ada")
		wantEqual(t, "a known user keeps the name", ada, nameless)
		known, err := c.identity.KnownUser(ctx, " ADA@example.com")
		noError(t, err)
		wantEqual(t, "the known user", known, ada)
		_, err = c.identity.User(ctx, "Ada <ada@example.com>", "")
		wantError(t, "a bad address", err, svc.Invalid(svc.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."}))

		acme := c.organization("Ácme & Co", ada)
		wantEqual(t, "the organization", acme, svc.Organization{ID: "org_1", Slug: "acme-co", Name: "Ácme & Co"})
		_, err = c.identity.CreateOrganization(ctx, ada, svc.OrgSpec{Name: "Other", Slug: "acme-co"})
		wantError(t, "a slug that is taken", err, svc.Errorf(svc.CodeConflict, `The slug "acme-co" is already used.`))
		_, err = c.identity.CreateOrganization(ctx, ada, svc.OrgSpec{Name: "日本"})
		wantError(t, "a name without a slug", err, svc.Invalid(svc.FieldError{Field: "slug", Code: "invalid_slug", Message: "The name yields no slug; give one."}))
		_, err = c.identity.CreateOrganization(ctx, ada, svc.OrgSpec{})
		wantError(t, "no name", err, svc.Invalid(svc.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."}))
		renamed, err := c.identity.RenameOrganization(ctx, "acme-co", "Acme")
		noError(t, err)
		got, err := c.identity.Organization(ctx, "acme-co")
		noError(t, err)
		wantEqual(t, "the renamed organization", []svc.Organization{renamed, got}, []svc.Organization{{ID: "org_1", Slug: "acme-co", Name: "Acme"}, {ID: "org_1", Slug: "acme-co", Name: "Acme"}})
		_, err = c.identity.Organization(ctx, "nothing")
		wantError(t, "no organization", err, svc.NotFound("organization"))
	})
}

func TestTokens(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		ada := c.user("ada@example.com", "Ada")
		c.organization("Acme", ada)
		mine, ours := svc.TokenOwner{User: ada}, svc.TokenOwner{User: ada, Org: "acme"}
		now, ends := clock(), clock().Add(time.Hour)
		personal, secret, err := c.identity.MintToken(ctx, mine, svc.TokenSpec{Name: "ci", Scopes: []svc.Scope{svc.ScopeRead}, ExpiresAt: &ends})
		noError(t, err)
		clear := secret.Reveal()
		wantEqual(t, "the personal token", actorstest.Through(t, personal), svc.Token{
			ID: "tok_1", Kind: svc.TokenPersonal, Name: "ci", Scopes: []svc.Scope{svc.ScopeRead}, User: &ada,
			Last4: clear[len(clear)-4:], CreatedAt: now, ExpiresAt: &ends,
		})
		organizational, orgSecret := c.mint(ours, svc.Scopes()...)
		wantEqual(t, "the organization token's kind and place", []any{organizational.Kind, organizational.Org}, []any{svc.TokenOrganization, "acme"})
		session, sessionSecret, err := c.identity.OpenSession(ctx, ada, 12*time.Hour)
		noError(t, err)
		wantEqual(t, "the session's kind", session.Kind, svc.TokenConsole)
		for prefix, secret := range map[string]string{"svc_pat_": clear, "svc_org_": orgSecret, "svc_con_": sessionSecret.Reveal()} {
			if !svc.WellFormedSecret(secret) || secret[:len(prefix)] != prefix {
				t.Errorf("a token is %q, want a well-formed %s", secret, prefix)
			}
			if _, err := c.authorize(secret, "acme"); err != nil {
				t.Errorf("%s does not open the organization: %v", prefix, err)
			}
		}
		ids := func(owner svc.TokenOwner) (ids []string) {
			t.Helper()
			tokens, err := c.identity.Tokens(ctx, owner)
			noError(t, err)
			for _, token := range tokens {
				ids = append(ids, token.ID)
			}
			return ids
		}
		wantEqual(t, "the personal list", ids(mine), []string{"tok_1"})
		wantEqual(t, "the organization's list", ids(ours), []string{"tok_2"})
		wantError(t, "revoking another's", c.identity.RevokeToken(ctx, mine, "tok_2"), svc.NotFound("token"))
		noError(t, c.identity.RevokeToken(ctx, ours, "tok_2"))
		_, err = c.authorize(orgSecret, "acme")
		wantError(t, "the revoked token", err, unknownToken())
		wantError(t, "revoking it twice", c.identity.RevokeToken(ctx, ours, "tok_2"), svc.NotFound("token"))
		wantEqual(t, "the organization's list", ids(ours), []string(nil))
		time.Sleep(time.Hour)
		wantEqual(t, "the personal list without the expired", ids(mine), []string(nil))
		noError(t, c.identity.RevokeToken(ctx, mine, "tok_1"))

		past := clock()
		_, _, err = c.identity.MintToken(ctx, mine, svc.TokenSpec{Scopes: []svc.Scope{"all"}, ExpiresAt: &past})
		wantError(t, "a bad token", err, svc.Invalid(
			svc.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."},
			svc.FieldError{Field: "scopes", Code: "unknown_value", Message: `Unknown scope "all".`, Allowed: []string{"read", "write", "admin"}},
			svc.FieldError{Field: "expiresAt", Code: "in_the_past", Message: "The token would have expired already."},
		))
		_, _, err = c.identity.MintToken(ctx, svc.TokenOwner{User: ada, Org: "nothing"}, svc.TokenSpec{Name: "ci", Scopes: svc.Scopes()})
		wantError(t, "a token of no organization", err, svc.NotFound("organization"))
	})
}

// TestAnInterruptedRevocation stops a revocation after its first step: the token
// opens nothing, and the next attempt completes it.
func TestAnInterruptedRevocation(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada := c.user("ada@example.com", "Ada")
		owner := svc.TokenOwner{User: ada}
		c.organization("Acme", ada)
		token, secret := c.mint(owner, svc.ScopeRead)
		c.refuse = func(call *protos.Call) error {
			if call.GetMethod() == "token.remove" {
				return actorstest.ErrAway
			}
			return nil
		}
		if err := c.identity.RevokeToken(t.Context(), owner, token.ID); err == nil {
			t.Error("an interrupted revocation succeeds")
		}
		c.refuse = nil
		_, err := c.authorize(secret, "acme")
		wantError(t, "the token", err, unknownToken())
		noError(t, c.identity.RevokeToken(t.Context(), owner, token.ID))
		tokens, err := c.identity.Tokens(t.Context(), owner)
		noError(t, err)
		wantEqual(t, "the list", tokens, []svc.Token{})
	})
}

// TestATokenThatWasListedOnlyCanBeRevoked stops a minting between its two steps.
func TestATokenThatWasListedOnlyCanBeRevoked(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		owner := svc.TokenOwner{User: c.user("ada@example.com", "Ada")}
		c.refuse = func(call *protos.Call) error {
			if call.GetKind() == "token" {
				return actorstest.ErrAway
			}
			return nil
		}
		_, _, err := c.identity.MintToken(t.Context(), owner, svc.TokenSpec{Name: "ci", Scopes: svc.Scopes()})
		if err == nil {
			t.Error("an interrupted minting succeeds")
		}
		c.refuse = nil
		tokens, err := c.identity.Tokens(t.Context(), owner)
		noError(t, err)
		if len(tokens) != 1 {
			t.Fatalf("%d tokens are listed, want 1", len(tokens))
		}
		noError(t, c.identity.RevokeToken(t.Context(), owner, tokens[0].ID))
	})
}

// TestEverythingSurvivesTheProcess reads all through a second node over the same store.
func TestEverythingSurvivesTheProcess(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada, bob := c.user("ada@example.com", "Ada"), c.user("bob@example.com", "Bob")
		c.organization("Acme", ada)
		c.seat(bob, svc.RoleAdmin)
		noError(t, c.identity.RemoveMember(t.Context(), "acme", svc.RoleOwner, bob.Email))
		token, secret := c.mint(svc.TokenOwner{User: ada}, svc.ScopeRead)
		before, err := c.authorize(secret, "acme")
		noError(t, err)
		c.EvictAll()
		synctest.Wait()
		for _, kind := range []string{"organization", "user", "token"} {
			if n := c.Resident(kind); n != 0 {
				t.Errorf("%d activations of %s, want 0", n, kind)
			}
		}
		after, err := c.authorize(secret, "acme")
		noError(t, err)
		wantEqual(t, "the grant", after, before)
		wantEqual(t, "its token", after.Token, token)
		// The first write of the new activation follows a deletion.
		c.seat(bob, svc.RoleViewer)
		c.EvictAll()
		synctest.Wait()
		members, err := c.identity.Members(t.Context(), "acme")
		noError(t, err)
		if len(members) != 2 {
			t.Errorf("the members are %+v, want two", members)
		}
	})
}

func TestReplays(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		body, other := [32]byte{1}, [32]byte{2}
		underWay := svc.Errorf(svc.CodeConflict, "A request with this Idempotency-Key is still under way.")
		begin := func(token, key string, body [32]byte, sealed []byte, want *svc.Error) {
			t.Helper()
			got, err := c.replays.Begin(t.Context(), token, key, body)
			if want != nil || err != nil {
				wantError(t, "begin", err, want)
			}
			wantEqual(t, "the answer", got, sealed)
		}
		begin("tok_1", "key", body, nil, nil)
		begin("tok_1", "key", body, nil, underWay)
		begin("tok_2", "key", body, nil, nil)
		begin("tok_1", "another", body, nil, nil)
		noError(t, c.replays.Finish(t.Context(), "tok_1", "key", body, []byte("sealed")))
		noError(t, c.replays.Finish(t.Context(), "tok_2", "key", body, nil))
		c.EvictAll()
		synctest.Wait()
		begin("tok_1", "key", body, []byte("sealed"), nil)
		begin("tok_1", "key", other, nil, svc.Errorf(svc.CodeConflict, "The Idempotency-Key was used with another body."))
		begin("tok_2", "key", other, nil, nil)
		due, err := c.store.Due(t.Context(), clock().Add(24*time.Hour), 10)
		noError(t, err)
		if len(due) != 1 || due[0].Kind != "replay" || due[0].Name != "forget" {
			t.Errorf("the wake-ups are %v, want one for the answer", due)
		}
		time.Sleep(24 * time.Hour)
		begin("tok_1", "key", other, nil, nil)
	})
}

// TestASeatIsTakenByWhoIsInvited leads invitations through their lives: nobody is seated
// without a word of their own, and nothing is told of people who are known elsewhere.
func TestASeatIsTakenByWhoIsInvited(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		ada, bob := c.user("ada@example.com", "Ada"), c.user("bob@example.com", "Bob")
		acme := c.organization("Acme", ada)
		c.organization("Beta", bob)
		invite := func(email, name string, role svc.Role) svc.Seat {
			t.Helper()
			seat, err := c.identity.OfferSeat(ctx, "acme", svc.RoleOwner, ada, svc.MemberSpec{Email: email, Name: name, Role: role})
			noError(t, err)
			return seat
		}
		known, unknown := invite("Bob@example.com", "", svc.RoleAdmin), invite("new@example.com", "", svc.RoleAdmin)
		want := svc.Invitation{ID: "inv_1", Email: "bob@example.com", Role: svc.RoleAdmin, InvitedBy: svc.LedgerActor{ID: ada.ID, Name: "Ada"}, CreatedAt: clock(), ExpiresAt: clock().Add(72 * time.Hour)}
		wantEqual(t, "the invitation of a known person", known, svc.Seat{Invitation: &want})
		other := want
		other.ID, other.Email = "inv_2", "new@example.com"
		wantEqual(t, "that of a stranger", unknown, svc.Seat{Invitation: &other})
		_, err := c.identity.KnownUser(ctx, "new@example.com")
		wantError(t, "a stranger who is invited", err, svc.NotFound("user"))
		members, err := c.identity.Members(ctx, "acme")
		noError(t, err)
		if len(members) != 1 {
			t.Errorf("%d members before anybody has accepted", len(members))
		}
		_, secret := c.mint(svc.TokenOwner{User: bob}, svc.Scopes()...)
		_, err = c.authorize(secret, "acme")
		wantError(t, "a token of the invited", err, svc.NotFound("organization"))

		offers, err := c.identity.Offers(ctx, bob)
		noError(t, err)
		wantEqual(t, "what bob is offered", offers, []svc.Offer{{Organization: acme, Invitation: want}})
		membership, err := c.identity.AcceptOffer(ctx, bob, "acme")
		noError(t, err)
		wantEqual(t, "the seat", membership, svc.Membership{Organization: acme, Role: svc.RoleAdmin})
		_, err = c.authorize(secret, "acme")
		noError(t, err)
		none, err := c.identity.Offers(ctx, bob)
		noError(t, err)
		wantEqual(t, "what bob is offered afterwards", none, []svc.Offer{})
		_, err = c.identity.AcceptOffer(ctx, ada, "beta")
		wantError(t, "accepting what was not offered", err, svc.NotFound("invitation"))
		_, err = c.identity.AcceptOffer(ctx, ada, "nothing")
		wantError(t, "accepting of nobody", err, svc.NotFound("invitation"))

		// The invited become known when they sign in, and may refuse.
		_, err = c.identity.Enter(ctx, "nobody@example.com")
		wantError(t, "signing in uninvited", err, svc.NotFound("user"))
		invite("new@example.com", "Newt", svc.RoleViewer)
		newt, err := c.identity.Enter(ctx, "NEW@example.com")
		noError(t, err)
		wantEqual(t, "the name of the invited", newt.Name, "Newt")
		noError(t, c.identity.DeclineOffer(ctx, newt, "acme"))
		wantError(t, "refusing twice", c.identity.DeclineOffer(ctx, newt, "acme"), svc.NotFound("invitation"))

		// What is withdrawn or too old seats nobody.
		invite("new@example.com", "", svc.RoleViewer)
		_, err = c.identity.WithdrawSeat(ctx, "acme", svc.RoleMember, "new@example.com")
		wantError(t, "withdrawing as a member", err, &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."})
		_, err = c.identity.WithdrawSeat(ctx, "acme", svc.RoleAdmin, "New@example.com")
		noError(t, err)
		_, err = c.identity.AcceptOffer(ctx, newt, "acme")
		wantError(t, "accepting what was withdrawn", err, svc.NotFound("invitation"))
		invite("new@example.com", "", svc.RoleViewer)
		time.Sleep(72 * time.Hour)
		_, err = c.identity.AcceptOffer(ctx, newt, "acme")
		wantError(t, "accepting too late", err, svc.NotFound("invitation"))
		seats, err := c.identity.Seats(ctx, "acme")
		noError(t, err)
		if len(seats) != 2 || seats[0].Member.User != ada || seats[1].Member.User != bob {
			t.Errorf("the seats at the end: %+v", seats)
		}
	})
}

// TestInvitationsAreBounded fills an organization and a person with invitations.
func TestInvitationsAreBounded(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		ada, victim := c.user("ada@example.com", "Ada"), c.user("victim@example.com", "Victim")
		c.organization("Acme", ada)
		invite := func(org, email string) error {
			_, err := c.identity.OfferSeat(ctx, org, svc.RoleOwner, ada, svc.MemberSpec{Email: email, Role: svc.RoleViewer})
			return err
		}
		for n := range svc.MaxInvitations {
			noError(t, invite("acme", fmt.Sprintf("p%d@example.com", n)))
		}
		full := invite("acme", "one.more@example.com")
		if svc.CodeOf(full) != svc.CodeConflict {
			t.Errorf("one more: %v", full)
		}
		noError(t, invite("acme", "p0@example.com")) // again
		time.Sleep(svc.InvitationTime)
		noError(t, invite("acme", "one.more@example.com"))
		for n := range svc.MaxOffers + 5 {
			time.Sleep(time.Second)
			org := c.organization(fmt.Sprintf("Org %d", n), ada)
			noError(t, invite(org.Slug, victim.Email))
		}
		offers, err := c.identity.Offers(ctx, victim)
		noError(t, err)
		if len(offers) != svc.MaxOffers {
			t.Errorf("%d offers, want the newest %d", len(offers), svc.MaxOffers)
		}
	})
}

// TestLastUseIsListed uses tokens of both lists: the lists tell of it, a request whose note
// is lost succeeds, and a busy token costs few writes.
func TestLastUseIsListed(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ada := c.user("ada@example.com", "Ada")
		c.organization("Acme", ada)
		for _, owner := range []svc.TokenOwner{{User: ada}, {User: ada, Org: "acme"}} {
			_, secret := c.mint(owner, svc.ScopeRead)
			last := func() *time.Time {
				t.Helper()
				tokens, err := c.identity.Tokens(t.Context(), owner)
				noError(t, err)
				return tokens[0].LastUsedAt
			}
			use := func() {
				t.Helper()
				_, err := c.authorize(secret, "acme")
				noError(t, err)
			}
			if got := last(); got != nil {
				t.Errorf("a fresh token was used at %s", got)
			}
			c.refuse = func(call *protos.Call) error {
				if call.GetMethod() == "token.used" {
					return actorstest.ErrAway
				}
				return nil
			}
			use()
			c.refuse = nil
			if got := last(); got != nil {
				t.Errorf("a note that was lost tells %s", got)
			}
			time.Sleep(svc.UseGrain)
			first := clock().Truncate(time.Minute)
			puts := len(c.store.Puts())
			for range 100 {
				use()
				time.Sleep(time.Second)
			}
			if wrote := len(c.store.Puts()) - puts; wrote != 1 {
				t.Errorf("100 requests cost %d writes, want 1", wrote)
			}
			wantEqual(t, "the first use", last(), &first)
			time.Sleep(svc.UseGrain)
			next := clock().Truncate(time.Minute)
			use()
			wantEqual(t, "the next use", last(), &next)
		}
	})
}
