package actors

import (
	"sync"
	"testing"
	"testing/synctest"

	"svc"
)

// snapshot returns everything that collectors hold.
func snapshot(c *Collectors) map[[32]byte]svc.Collector {
	keys := map[[32]byte]svc.Collector{}
	c.byKey.Range(func(hash, collector any) bool {
		keys[hash.([32]byte)] = *collector.(*svc.Collector)
		return true
	})
	return keys
}

func TestCollectorsFollowAtOnce(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop, blog := c.app("Shop"), c.app("Blog")
		mint := func(ref svc.AppRef, kind svc.KeyKind, env string) (svc.IngestKey, [32]byte) {
			t.Helper()
			key, secret, err := c.apps.MintKey(ctx, ref, svc.KeySpec{Kind: kind, Environment: env})
			noError(t, err)
			return key, svc.HashSecret(secret.Reveal())
		}
		want := func(what string, hash [32]byte, collector *svc.Collector) {
			t.Helper()
			wantEqual(t, what, c.collectors.Collector(hash), collector)
		}
		of := func(app svc.Application, key svc.IngestKey, env int) *svc.Collector {
			return &svc.Collector{
				App: app.Ref(), AppID: app.ID, Environment: app.Environments[env], KeyID: key.ID, Kind: key.Kind,
				Modules: app.Modules, Origins: app.AllowedOrigins, RetentionDays: app.RetentionDays, Metrics: svc.DefaultMetricsPolicy(),
			}
		}
		want("what is unknown", [32]byte{1}, nil)
		key1, hash1 := mint(shop.Ref(), svc.KeyPublic, "production")
		want("a new key", hash1, of(shop, key1, 0))
		key2, hash2 := mint(shop.Ref(), svc.KeySecret, "staging")
		key3, hash3 := mint(blog.Ref(), svc.KeyPublic, "development")
		want("a key of another environment", hash2, of(shop, key2, 1))
		want("a key of another application", hash3, of(blog, key3, 2))

		origins, days, modules := []string{"https://shop.example.com"}, 30, []svc.Module{svc.ModuleErrors}
		shop, err := c.apps.Update(ctx, shop.Ref(), svc.AppPatch{AllowedOrigins: &origins, RetentionDays: &days, Modules: &modules}, nil)
		noError(t, err)
		want("after a change of settings", hash1, of(shop, key1, 0))

		noError(t, c.apps.RevokeKey(ctx, shop.Ref(), key1.ID))
		want("a revoked key", hash1, nil)
		want("the other key", hash2, of(shop, key2, 1))
		want("the other application's key", hash3, of(blog, key3, 2))
		loaded := NewCollectors()
		noError(t, loaded.Load(ctx, c.store))
		keys := snapshot(loaded)
		liveKeys := snapshot(c.collectors)
		wantEqual(t, "the loaded keys", keys, liveKeys)
		noError(t, loaded.Load(ctx, c.store))
		keys = snapshot(loaded)
		wantEqual(t, "the keys loaded twice", keys, liveKeys)
	})
}

// TestAKeyIsNotPublishedBeforeItIsStored mints while the store waits or fails.
func TestAKeyIsNotPublishedBeforeItIsStored(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop := c.app("Shop")
		ref := shop.Ref()
		published := func() int { return len(snapshot(c.collectors)) }
		mint := func() error {
			_, _, err := c.apps.MintKey(t.Context(), ref, svc.KeySpec{Kind: svc.KeyPublic, Environment: "production"})
			return err
		}
		release := c.store.HoldPuts()
		var minting sync.WaitGroup
		minting.Go(func() { noError(t, mint()) })
		synctest.Wait()
		if got := published(); got != 0 {
			t.Errorf("%d keys are published before they are stored", got)
		}
		release()
		minting.Wait()
		c.store.FailPuts(1, errAway)
		wantError(t, "minting without a store", mint(), svc.Unavailable("The store", 1e9))
		if got := published(); got != 1 {
			t.Errorf("%d keys are published, want 1", got)
		}
	})
}

func TestCollectorsSkipWhatCannotWork(t *testing.T) {
	app := testApp(1, "shop", "Shop", coreEpoch()).application()
	good := svc.HashSecretHex("key")
	revoked := coreEpoch()
	c := NewCollectors()
	c.Publish(svc.Version{}, app, []svc.IngestKey{
		{ID: "good", Environment: "production", Hash: good},
		{ID: "no such environment", Environment: "moon", Hash: svc.HashSecretHex("a")},
		{ID: "no hex", Environment: "production", Hash: "zz"},
		{ID: "short", Environment: "production", Hash: "abcd"},
		{ID: "revoked", Environment: "production", Hash: svc.HashSecretHex("b"), RevokedAt: &revoked},
	})
	keys := snapshot(c)
	if len(keys) != 1 || keys[svc.HashSecret("key")].KeyID != "good" {
		t.Errorf("the keys are %v, want the good one", keys)
	}
}

func TestCollectorsReportAStoreThatFails(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		c.store.FailLoads(1, errAway)
		err := c.collectors.Load(t.Context(), c.store)
		if want := "loading the applications: the store is away"; err == nil || err.Error() != want {
			t.Errorf("Load fails with %v, want %s", err, want)
		}
		for _, kind := range []string{"application", "key"} {
			broken := svc.Entity{Owner: "application/a/b", Kind: kind, ID: "x", Version: svc.Version{Sequence: 1}, Payload: []byte(`{`)}
			noError(t, c.store.Put(t.Context(), []svc.Entity{broken}, nil))
			err := c.collectors.Load(t.Context(), c.store)
			if want := "decoding " + kind + " x: unexpected end of JSON input"; err == nil || err.Error() != want {
				t.Errorf("Load fails with %v, want %s", err, want)
			}
			broken.Version.Sequence, broken.Deleted = 2, true
			noError(t, c.store.Put(t.Context(), []svc.Entity{broken}, nil))
		}
	})
}
