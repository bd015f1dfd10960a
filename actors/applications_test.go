package actors

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/protos"
)

func TestApplications(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		acme := c.organization("Acme", c.user("ada@example.com", "Ada"))
		now := clock()
		shop := c.app("Shop")
		want := svc.Application{
			ID: "app_1", Slug: "shop", Name: "Shop", Platform: "web", Timezone: "UTC", Modules: svc.DefaultModules(),
			RetentionDays: 365, AllowedOrigins: []string{}, Organization: acme, CreatedAt: now, UpdatedAt: now, Revision: 1,
			Environments: []svc.Environment{
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
		wantEqual(t, "the application", shop, want)
		got, err := c.apps.Get(ctx, shop.Ref())
		noError(t, err)
		wantEqual(t, "what is read", got, want)
		if again := c.app("Shop"); again.Slug != "shop-2" {
			t.Errorf("the second slug is %q, want shop-2", again.Slug)
		}
		_, err = c.apps.Create(ctx, "acme", svc.AppSpec{Name: "Other", Slug: "shop"})
		wantError(t, "an explicit slug that is taken", err, svc.Errorf(svc.CodeConflict, `The slug "shop" is already used in this organization.`))
		_, err = c.apps.Create(ctx, "acme", svc.AppSpec{Name: "Other", Slug: "New App"})
		if svc.CodeOf(err) != svc.CodeInvalidRequest {
			t.Errorf("a bad slug fails with %v, want invalid_request", err)
		}
		_, err = c.apps.Create(ctx, "nothing", svc.AppSpec{Name: "Shop"})
		wantError(t, "no organization", err, svc.NotFound("organization"))
		for _, ref := range []svc.AppRef{{Org: "acme", App: "nothing"}} {
			_, err = c.apps.Get(ctx, ref)
			wantError(t, "get of nothing", err, svc.NotFound("application"))
			_, err = c.apps.Keys(ctx, ref)
			wantError(t, "keys of nothing", err, svc.NotFound("application"))
			_, err = c.apps.Update(ctx, ref, svc.AppPatch{}, nil)
			wantError(t, "update of nothing", err, svc.NotFound("application"))
			_, _, err = c.apps.MintKey(ctx, ref, svc.KeySpec{Kind: svc.KeyPublic, Environment: "production"})
			wantError(t, "a key of nothing", err, svc.NotFound("application"))
			wantError(t, "revoking a key of nothing", c.apps.RevokeKey(ctx, ref, "key_1"), svc.NotFound("application"))
		}
		c.app("Blog")
		slugs := func(after string, limit int) (slugs []string, more bool) {
			t.Helper()
			apps, more, err := c.apps.List(ctx, "acme", after, limit)
			noError(t, err)
			for _, app := range apps {
				slugs = append(slugs, app.Slug)
			}
			return slugs, more
		}
		first, more := slugs("", 2)
		wantEqual(t, "the first page", []any{first, more}, []any{[]string{"blog", "shop"}, true})
		last, more := slugs("shop", 2)
		wantEqual(t, "the last page", []any{last, more}, []any{[]string{"shop-2"}, false})

		time.Sleep(time.Minute)
		name, one, two := "Store", uint64(1), uint64(2)
		updated, err := c.apps.Update(ctx, shop.Ref(), svc.AppPatch{Name: &name}, &one)
		noError(t, err)
		want.Name, want.Revision, want.UpdatedAt = "Store", 2, now.Add(time.Minute)
		wantEqual(t, "the updated application", updated, want)
		_, err = c.apps.Update(ctx, shop.Ref(), svc.AppPatch{Name: &name}, &one)
		wantError(t, "a stale update", err, svc.Errorf(svc.CodePrecondition, "The application has changed since; read it again."))
		unchanged, err := c.apps.Update(ctx, shop.Ref(), svc.AppPatch{Name: &name}, &two)
		noError(t, err)
		wantEqual(t, "the unchanged application", unchanged, want)
		c.EvictAll()
		synctest.Wait()
		got, err = c.apps.Get(ctx, shop.Ref())
		noError(t, err)
		wantEqual(t, "what is read after a reload", got, want)
	})
}

// TestAnInterruptedCreation stops a creation after the slug was taken. Whatever
// touches the application next completes it with what it was created from.
func TestAnInterruptedCreation(t *testing.T) {
	name := "Store"
	touches := map[string]func(c *clients, ref svc.AppRef) error{
		"get": func(c *clients, ref svc.AppRef) error { _, err := c.apps.Get(c.t.Context(), ref); return err },
		"list": func(c *clients, ref svc.AppRef) error {
			_, _, err := c.apps.List(c.t.Context(), ref.Org, "", 10)
			return err
		},
		"keys": func(c *clients, ref svc.AppRef) error { _, err := c.apps.Keys(c.t.Context(), ref); return err },
		"mint": func(c *clients, ref svc.AppRef) error {
			_, _, err := c.apps.MintKey(c.t.Context(), ref, svc.KeySpec{Kind: svc.KeyPublic, Environment: "production"})
			return err
		},
		"update": func(c *clients, ref svc.AppRef) error {
			_, err := c.apps.Update(c.t.Context(), ref, svc.AppPatch{Name: &name}, nil)
			return err
		},
	}
	for what, touch := range touches {
		t.Run(what, func(t *testing.T) {
			withClients(t, Limits{}, func(t *testing.T, c *clients) {
				c.organization("Acme", c.user("ada@example.com", "Ada"))
				c.refuse = func(call *protos.Call) error {
					if call.GetKind() == "application" && call.GetMethod() == "create" {
						return actorstest.ErrAway
					}
					return nil
				}
				if _, err := c.apps.Create(t.Context(), "acme", svc.AppSpec{Name: "Shop"}); !errors.Is(err, actorstest.ErrAway) {
					t.Errorf("the creation ends with %v, want %v", err, actorstest.ErrAway)
				}
				created := clock()
				c.refuse = nil
				time.Sleep(time.Minute)
				ref := svc.AppRef{Org: "acme", App: "shop"}
				noError(t, touch(c, ref))
				app, err := c.apps.Get(t.Context(), ref)
				noError(t, err)
				wantEqual(t, "its id and creation", []any{app.ID, app.CreatedAt, len(app.Environments)}, []any{"app_1", created, 3})
				if next := c.app("Shop"); next.Slug != "shop-2" {
					t.Errorf("the next slug is %q, want shop-2", next.Slug)
				}
			})
		})
	}
}

func TestKeys(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop := c.app("Shop")
		ref := shop.Ref()
		now := clock()
		key, secret, err := c.apps.MintKey(ctx, ref, svc.KeySpec{Kind: svc.KeyPublic, Environment: "production", Label: "web"})
		noError(t, err)
		clear := secret.Reveal()
		wantEqual(t, "the key", key, svc.IngestKey{
			ID: "key_1", Kind: svc.KeyPublic, Environment: "production", Label: "web", Prefix: "svc_pub_prod",
			Last4: clear[len(clear)-4:], CreatedAt: now, Hash: svc.HashSecretHex(clear),
		})
		if !svc.WellFormedSecret(clear) {
			t.Errorf("the key %q is not well-formed", clear)
		}
		second, _, err := c.apps.MintKey(ctx, ref, svc.KeySpec{Kind: svc.KeySecret, Environment: "staging"})
		noError(t, err)
		keys, err := c.apps.Keys(ctx, ref)
		noError(t, err)
		wantEqual(t, "the keys", keys, []svc.IngestKey{second, key})
		noError(t, c.apps.RevokeKey(ctx, ref, "key_1"))
		wantError(t, "revoking it twice", c.apps.RevokeKey(ctx, ref, "key_1"), svc.NotFound("key"))
		keys, err = c.apps.Keys(ctx, ref)
		noError(t, err)
		wantEqual(t, "the live keys", keys, []svc.IngestKey{second})
		_, _, err = c.apps.MintKey(ctx, ref, svc.KeySpec{Kind: "open", Environment: "moon"})
		wantError(t, "a bad key", err, svc.Invalid(
			svc.FieldError{Field: "kind", Code: "unknown_value", Message: `Unknown kind "open".`, Allowed: []string{"public", "secret"}},
			svc.FieldError{Field: "environment", Code: "unknown_value", Message: `Unknown environment "moon".`, Allowed: []string{"production", "staging", "development"}},
		))
	})
}
