package apps_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/domain"
	"svc/protos"
)

func TestApplications(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		acme := c.Organization("Acme", c.User("ada@example.com", "Ada"))
		now := nodetest.Clock()
		shop := c.App("Shop")
		want := domain.Application{
			ID: "app_1", Slug: "shop", Name: "Shop", Platform: "web", Timezone: "UTC", Modules: domain.DefaultModules(),
			RetentionDays: 365, AllowedOrigins: []string{}, Organization: acme, CreatedAt: now, UpdatedAt: now, Revision: 1,
			Environments: []domain.Environment{
				{ID: "env_1", Slug: "production", Name: "Production"},
				{ID: "env_2", Slug: "staging", Name: "Staging"},
				{ID: "env_3", Slug: "development", Name: "Development"},
			},
		}
		for i, env := range shop.Environments {
			if env.Number == 0 || env.Number >= 1<<53 {
				t.Errorf("the number of %s is %d, want 53 bits", env.Slug, env.Number)
			}
			want.Environments[i].Number = env.Number
		}
		nodetest.WantEqual(t, "the application", shop, want)
		got, err := c.Apps.Get(ctx, shop.Ref())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "what is read", got, want)
		if again := c.App("Shop"); again.Slug != "shop-2" {
			t.Errorf("the second slug is %q, want shop-2", again.Slug)
		}
		_, err = c.Apps.Create(ctx, "acme", domain.AppSpec{Name: "Other", Slug: "shop"})
		nodetest.WantError(t, "an explicit slug that is taken", err, domain.Errorf(domain.CodeConflict, `The slug "shop" is already used in this organization.`))
		_, err = c.Apps.Create(ctx, "acme", domain.AppSpec{Name: "Other", Slug: "New App"})
		if domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("a bad slug fails with %v, want invalid_request", err)
		}
		_, err = c.Apps.Create(ctx, "nothing", domain.AppSpec{Name: "Shop"})
		nodetest.WantError(t, "no organization", err, domain.NotFound("organization"))
		for _, ref := range []domain.AppRef{{Org: "acme", App: "nothing"}} {
			_, err = c.Apps.Get(ctx, ref)
			nodetest.WantError(t, "get of nothing", err, domain.NotFound("application"))
			_, err = c.Apps.Keys(ctx, ref)
			nodetest.WantError(t, "keys of nothing", err, domain.NotFound("application"))
			_, err = c.Apps.Update(ctx, ref, domain.AppPatch{}, nil)
			nodetest.WantError(t, "update of nothing", err, domain.NotFound("application"))
			_, _, err = c.Apps.MintKey(ctx, ref, domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"})
			nodetest.WantError(t, "a key of nothing", err, domain.NotFound("application"))
			nodetest.WantError(t, "revoking a key of nothing", c.Apps.RevokeKey(ctx, ref, "key_1"), domain.NotFound("application"))
		}
		c.App("Blog")
		slugs := func(after string, limit int) (slugs []string, more bool) {
			t.Helper()
			apps, more, err := c.Apps.List(ctx, "acme", after, limit)
			nodetest.NoError(t, err)
			for _, app := range apps {
				slugs = append(slugs, app.Slug)
			}
			return slugs, more
		}
		first, more := slugs("", 2)
		nodetest.WantEqual(t, "the first page", []any{first, more}, []any{[]string{"blog", "shop"}, true})
		last, more := slugs("shop", 2)
		nodetest.WantEqual(t, "the last page", []any{last, more}, []any{[]string{"shop-2"}, false})

		time.Sleep(time.Minute)
		name, one, two := "Store", uint64(1), uint64(2)
		updated, err := c.Apps.Update(ctx, shop.Ref(), domain.AppPatch{Name: &name}, &one)
		nodetest.NoError(t, err)
		want.Name, want.Revision, want.UpdatedAt = "Store", 2, now.Add(time.Minute)
		nodetest.WantEqual(t, "the updated application", updated, want)
		_, err = c.Apps.Update(ctx, shop.Ref(), domain.AppPatch{Name: &name}, &one)
		nodetest.WantError(t, "a stale update", err, domain.Errorf(domain.CodePrecondition, "The application has changed since; read it again."))
		unchanged, err := c.Apps.Update(ctx, shop.Ref(), domain.AppPatch{Name: &name}, &two)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the unchanged application", unchanged, want)
		c.EvictAll()
		synctest.Wait()
		got, err = c.Apps.Get(ctx, shop.Ref())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "what is read after a reload", got, want)
	})
}

// TestAnInterruptedCreation stops a creation after the slug was reserved. The next call for the application completes
// it with its original specification.
func TestAnInterruptedCreation(t *testing.T) {
	name := "Store"
	touches := map[string]func(c *nodetest.Clients, ref domain.AppRef) error{
		"get": func(c *nodetest.Clients, ref domain.AppRef) error {
			_, err := c.Apps.Get(c.T.Context(), ref)
			return err
		},
		"list": func(c *nodetest.Clients, ref domain.AppRef) error {
			_, _, err := c.Apps.List(c.T.Context(), ref.Org, "", 10)
			return err
		},
		"keys": func(c *nodetest.Clients, ref domain.AppRef) error {
			_, err := c.Apps.Keys(c.T.Context(), ref)
			return err
		},
		"mint": func(c *nodetest.Clients, ref domain.AppRef) error {
			_, _, err := c.Apps.MintKey(c.T.Context(), ref, domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"})
			return err
		},
		"update": func(c *nodetest.Clients, ref domain.AppRef) error {
			_, err := c.Apps.Update(c.T.Context(), ref, domain.AppPatch{Name: &name}, nil)
			return err
		},
	}
	for what, touch := range touches {
		t.Run(what, func(t *testing.T) {
			nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
				c.Organization("Acme", c.User("ada@example.com", "Ada"))
				c.Refuse = func(call *protos.Call) error {
					if call.GetKind() == "application" && call.GetMethod() == "create" {
						return actorstest.ErrAway
					}
					return nil
				}
				if _, err := c.Apps.Create(t.Context(), "acme", domain.AppSpec{Name: "Shop"}); !errors.Is(err, actorstest.ErrAway) {
					t.Errorf("the creation ends with %v, want %v", err, actorstest.ErrAway)
				}
				created := nodetest.Clock()
				c.Refuse = nil
				time.Sleep(time.Minute)
				ref := domain.AppRef{Org: "acme", App: "shop"}
				nodetest.NoError(t, touch(c, ref))
				app, err := c.Apps.Get(t.Context(), ref)
				nodetest.NoError(t, err)
				nodetest.WantEqual(t, "its id and creation", []any{app.ID, app.CreatedAt, len(app.Environments)}, []any{"app_1", created, 3})
				if next := c.App("Shop"); next.Slug != "shop-2" {
					t.Errorf("the next slug is %q, want shop-2", next.Slug)
				}
			})
		})
	}
}

func TestKeys(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop := c.App("Shop")
		ref := shop.Ref()
		now := nodetest.Clock()
		key, secret, err := c.Apps.MintKey(ctx, ref, domain.KeySpec{Kind: domain.KeyPublic, Environment: "production", Label: "web"})
		nodetest.NoError(t, err)
		clear := secret.Reveal()
		nodetest.WantEqual(t, "the key", key, domain.IngestKey{
			ID: "key_1", Kind: domain.KeyPublic, Environment: "production", Label: "web", Prefix: "svc_pub_prod",
			Last4: clear[len(clear)-4:], CreatedAt: now, Hash: domain.HashSecretHex(clear),
		})
		if !domain.WellFormedSecret(clear) {
			t.Errorf("the key %q is not well-formed", clear)
		}
		second, _, err := c.Apps.MintKey(ctx, ref, domain.KeySpec{Kind: domain.KeySecret, Environment: "staging"})
		nodetest.NoError(t, err)
		keys, err := c.Apps.Keys(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the keys", keys, []domain.IngestKey{second, key})
		nodetest.NoError(t, c.Apps.RevokeKey(ctx, ref, "key_1"))
		nodetest.WantError(t, "revoking it twice", c.Apps.RevokeKey(ctx, ref, "key_1"), domain.NotFound("key"))
		keys, err = c.Apps.Keys(ctx, ref)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "the live keys", keys, []domain.IngestKey{second})
		_, _, err = c.Apps.MintKey(ctx, ref, domain.KeySpec{Kind: "open", Environment: "moon"})
		nodetest.WantError(t, "a bad key", err, domain.Invalid(
			domain.FieldError{Field: "kind", Code: "unknown_value", Message: `Unknown kind "open".`, Allowed: []string{"public", "secret"}},
			domain.FieldError{Field: "environment", Code: "unknown_value", Message: `Unknown environment "moon".`, Allowed: []string{"production", "staging", "development"}},
		))
	})
}
