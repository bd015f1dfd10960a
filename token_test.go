package svc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

func TestEffectivePermissions(t *testing.T) {
	every := svc.Permissions()
	only := func(keep func(svc.Permission) bool) []svc.Permission {
		return slices.DeleteFunc(svc.Permissions(), func(p svc.Permission) bool { return !keep(p) })
	}
	isRead := func(p svc.Permission) bool { return strings.HasSuffix(string(p), ".read") }
	isKeys := func(p svc.Permission) bool { return strings.HasPrefix(string(p), "keys.") }
	for name, test := range map[string]struct {
		role   svc.Role
		scopes []svc.Scope
		want   []svc.Permission
	}{
		"owner, all":     {svc.RoleOwner, svc.Scopes(), every},
		"admin, all":     {svc.RoleAdmin, svc.Scopes(), every},
		"owner, read":    {svc.RoleOwner, []svc.Scope{svc.ScopeRead}, only(func(p svc.Permission) bool { return isRead(p) && !isKeys(p) || p == svc.PermAIUse })},
		"owner, write":   {svc.RoleOwner, []svc.Scope{svc.ScopeWrite}, only(func(p svc.Permission) bool { return !isRead(p) && !isKeys(p) })},
		"owner, admin":   {svc.RoleOwner, []svc.Scope{svc.ScopeAdmin}, only(isKeys)},
		"owner, nothing": {svc.RoleOwner, nil, []svc.Permission{}},
		"member, all": {svc.RoleMember, svc.Scopes(), only(func(p svc.Permission) bool {
			return !isKeys(p) && p != svc.PermAppsWrite && p != svc.PermPeoplePIIRead
		})},
		"viewer, all": {svc.RoleViewer, svc.Scopes(), only(func(p svc.Permission) bool { return isRead(p) && !isKeys(p) && p != svc.PermPeoplePIIRead })},
		"nobody":      {"", svc.Scopes(), []svc.Permission{}},
	} {
		if got := svc.EffectivePermissions(test.role, test.scopes); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestTokenLive(t *testing.T) {
	now := day()
	before, after := now.Add(-time.Second), now.Add(time.Second)
	for _, test := range []struct {
		token svc.Token
		want  bool
	}{
		{svc.Token{}, true}, {svc.Token{ExpiresAt: &after}, true}, {svc.Token{ExpiresAt: &now}, false}, {svc.Token{ExpiresAt: &before}, false}, {svc.Token{RevokedAt: &after}, false},
	} {
		if got := test.token.Live(now); got != test.want {
			t.Errorf("%+v: %v", test.token, got)
		}
	}
}

func TestGrant(t *testing.T) {
	grant := svc.Grant{Token: svc.Token{Scopes: []svc.Scope{svc.ScopeRead}}, Permissions: []svc.Permission{svc.PermAppsRead}}
	if !grant.May("") || !grant.May(svc.PermAppsRead) || grant.May(svc.PermAppsWrite) || !grant.HasScope("") || !grant.HasScope(svc.ScopeRead) || grant.HasScope(svc.ScopeWrite) {
		t.Errorf("%+v", grant)
	}
}

func TestMintSecret(t *testing.T) {
	pattern := regexp.MustCompile(`^` + svc.TokenPattern + `$`)
	random := make([]byte, 32)
	for i := range random {
		random[i] = byte(i * 9)
	}
	prefixes := []string{}
	for _, kind := range []svc.TokenKind{svc.TokenPersonal, svc.TokenOrganization, svc.TokenAssistant, svc.TokenConsole} {
		prefixes = append(prefixes, kind.Prefix())
	}
	for _, env := range append(svc.EnvironmentSlugs(), "qa-eu-central-1") {
		prefixes = append(prefixes, svc.KeyPrefix(svc.KeyPublic, env)+"_", svc.KeyPrefix(svc.KeySecret, env)+"_")
	}
	for _, prefix := range prefixes {
		secret := svc.MintSecret(prefix, random)
		text := secret.Reveal()
		if !strings.HasPrefix(text, prefix) || !pattern.MatchString(text) || !svc.WellFormedSecret(text) {
			t.Errorf("%s", text)
		}
		for i := len("svc_"); i < len(text); i++ {
			typo := []byte(text)
			typo[i] ^= 1
			if svc.WellFormedSecret(string(typo)) {
				t.Errorf("the typo %s passes", typo)
			}
		}
	}
	if got := svc.MintSecret("svc_pat_", make([]byte, 32)).Reveal(); got != "svc_pat_"+strings.Repeat("0", 32)+"1Uue4F" {
		t.Errorf("the vector reads %s", got)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	secret := svc.MintSecret("svc_pat_", make([]byte, 32))
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", secret)
	fmt.Fprintf(&out, "%s %v %+v", secret, secret, struct{ S svc.Secret }{secret})
	if strings.Contains(out.String(), "svc_pat") || strings.Count(out.String(), "•••") != 4 {
		t.Error(out.String())
	}
}

func FuzzWellFormedSecret(f *testing.F) {
	pattern := regexp.MustCompile(`^` + svc.TokenPattern + `$`)
	f.Add("svc_pat_" + strings.Repeat("0", 38))
	f.Add(svc.MintSecret("svc_pub_prod_", make([]byte, 32)).Reveal())
	f.Add("svc_")
	f.Fuzz(func(t *testing.T, s string) {
		if svc.WellFormedSecret(s) && !pattern.MatchString(s) {
			t.Errorf("%q is well-formed without the form", s)
		}
	})
}
