package domain_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
)

func TestEffectivePermissions(t *testing.T) {
	every := domain.Permissions()
	only := func(keep func(domain.Permission) bool) []domain.Permission {
		return slices.DeleteFunc(domain.Permissions(), func(p domain.Permission) bool { return !keep(p) })
	}
	isRead := func(p domain.Permission) bool { return strings.HasSuffix(string(p), ".read") }
	isKeys := func(p domain.Permission) bool { return strings.HasPrefix(string(p), "keys.") }
	for name, test := range map[string]struct {
		role   domain.Role
		scopes []domain.Scope
		want   []domain.Permission
	}{
		"owner, all":     {domain.RoleOwner, domain.Scopes(), every},
		"admin, all":     {domain.RoleAdmin, domain.Scopes(), every},
		"owner, read":    {domain.RoleOwner, []domain.Scope{domain.ScopeRead}, only(func(p domain.Permission) bool { return isRead(p) && !isKeys(p) || p == domain.PermAIUse })},
		"owner, write":   {domain.RoleOwner, []domain.Scope{domain.ScopeWrite}, only(func(p domain.Permission) bool { return !isRead(p) && !isKeys(p) })},
		"owner, admin":   {domain.RoleOwner, []domain.Scope{domain.ScopeAdmin}, only(isKeys)},
		"owner, nothing": {domain.RoleOwner, nil, []domain.Permission{}},
		"member, all": {domain.RoleMember, domain.Scopes(), only(func(p domain.Permission) bool {
			return !isKeys(p) && p != domain.PermAppsWrite && p != domain.PermPeoplePIIRead
		})},
		"viewer, all": {domain.RoleViewer, domain.Scopes(), only(func(p domain.Permission) bool { return isRead(p) && !isKeys(p) && p != domain.PermPeoplePIIRead })},
		"nobody":      {"", domain.Scopes(), []domain.Permission{}},
	} {
		if got := domain.EffectivePermissions(test.role, test.scopes); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestTokenLive(t *testing.T) {
	now := day()
	before, after := now.Add(-time.Second), now.Add(time.Second)
	for _, test := range []struct {
		token domain.Token
		want  bool
	}{
		{domain.Token{}, true}, {domain.Token{ExpiresAt: &after}, true}, {domain.Token{ExpiresAt: &now}, false}, {domain.Token{ExpiresAt: &before}, false}, {domain.Token{RevokedAt: &after}, false},
	} {
		if got := test.token.Live(now); got != test.want {
			t.Errorf("%+v: %v", test.token, got)
		}
	}
}

func TestGrant(t *testing.T) {
	grant := domain.Grant{Token: domain.Token{Scopes: []domain.Scope{domain.ScopeRead}}, Permissions: []domain.Permission{domain.PermAppsRead}}
	if !grant.May("") || !grant.May(domain.PermAppsRead) || grant.May(domain.PermAppsWrite) || !grant.HasScope("") || !grant.HasScope(domain.ScopeRead) || grant.HasScope(domain.ScopeWrite) {
		t.Errorf("%+v", grant)
	}
}

func TestMintSecret(t *testing.T) {
	pattern := regexp.MustCompile(`^` + domain.TokenPattern + `$`)
	random := make([]byte, 32)
	for i := range random {
		random[i] = byte(i * 9)
	}
	prefixes := []string{}
	for _, kind := range []domain.TokenKind{domain.TokenPersonal, domain.TokenOrganization, domain.TokenAssistant, domain.TokenConsole} {
		prefixes = append(prefixes, kind.Prefix())
	}
	for _, env := range append(domain.EnvironmentSlugs(), "qa-eu-central-1") {
		prefixes = append(prefixes, domain.KeyPrefix(domain.KeyPublic, env)+"_", domain.KeyPrefix(domain.KeySecret, env)+"_")
	}
	for _, prefix := range prefixes {
		secret := domain.MintSecret(prefix, random)
		text := secret.Reveal()
		if !strings.HasPrefix(text, prefix) || !pattern.MatchString(text) || !domain.WellFormedSecret(text) {
			t.Errorf("%s", text)
		}
		for i := len("svc_"); i < len(text); i++ {
			typo := []byte(text)
			typo[i] ^= 1
			if domain.WellFormedSecret(string(typo)) {
				t.Errorf("the typo %s passes", typo)
			}
		}
	}
	if got := domain.MintSecret("svc_pat_", make([]byte, 32)).Reveal(); got != "svc_pat_"+strings.Repeat("0", 32)+"1Uue4F" {
		t.Errorf("the vector reads %s", got)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	secret := domain.MintSecret("svc_pat_", make([]byte, 32))
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", secret)
	fmt.Fprintf(&out, "%s %v %+v", secret, secret, struct{ S domain.Secret }{secret})
	if strings.Contains(out.String(), "svc_pat") || strings.Count(out.String(), "•••") != 4 {
		t.Error(out.String())
	}
}

func FuzzWellFormedSecret(f *testing.F) {
	pattern := regexp.MustCompile(`^` + domain.TokenPattern + `$`)
	f.Add("svc_pat_" + strings.Repeat("0", 38))
	f.Add(domain.MintSecret("svc_pub_prod_", make([]byte, 32)).Reveal())
	f.Add("svc_")
	f.Fuzz(func(t *testing.T, s string) {
		if domain.WellFormedSecret(s) && !pattern.MatchString(s) {
			t.Errorf("%q is well-formed without the form", s)
		}
	})
}
