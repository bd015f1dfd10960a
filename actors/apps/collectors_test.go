package apps_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"svc/actors/actorstest"
	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/domain"
)

func TestCollectorsFollowAtOnce(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop, blog := c.App("Shop"), c.App("Blog")
		mint := func(ref domain.AppRef, kind domain.KeyKind, env string) (domain.IngestKey, [32]byte) {
			t.Helper()
			key, secret, err := c.Apps.MintKey(ctx, ref, domain.KeySpec{Kind: kind, Environment: env})
			nodetest.NoError(t, err)
			return key, domain.HashSecret(secret.Reveal())
		}
		want := func(what string, hash [32]byte, collector *domain.Collector) {
			t.Helper()
			nodetest.WantEqual(t, what, c.Collectors.Collector(hash), collector)
		}
		of := func(app domain.Application, key domain.IngestKey, env int) *domain.Collector {
			return &domain.Collector{
				App: app.Ref(), AppID: app.ID, Environment: app.Environments[env], KeyID: key.ID, Kind: key.Kind,
				Modules: app.Modules, Origins: app.AllowedOrigins, RetentionDays: app.RetentionDays,
			}
		}
		want("what is unknown", [32]byte{1}, nil)
		key1, hash1 := mint(shop.Ref(), domain.KeyPublic, "production")
		want("a new key", hash1, of(shop, key1, 0))
		key2, hash2 := mint(shop.Ref(), domain.KeySecret, "staging")
		key3, hash3 := mint(blog.Ref(), domain.KeyPublic, "development")
		want("a key of another environment", hash2, of(shop, key2, 1))
		want("a key of another application", hash3, of(blog, key3, 2))

		origins, days, modules := []string{"https://shop.example.com"}, 30, []domain.Module{domain.ModuleErrors}
		shop, err := c.Apps.Update(ctx, shop.Ref(), domain.AppPatch{AllowedOrigins: &origins, RetentionDays: &days, Modules: &modules}, nil)
		nodetest.NoError(t, err)
		want("after a change of settings", hash1, of(shop, key1, 0))

		nodetest.NoError(t, c.Apps.RevokeKey(ctx, shop.Ref(), key1.ID))
		want("a revoked key", hash1, nil)
		want("the other key", hash2, of(shop, key2, 1))
		want("the other application's key", hash3, of(blog, key3, 2))
		loaded := apps.NewCollectors()
		nodetest.NoError(t, (&apps.SnapshotSync{Collectors: loaded}).LoadAll(ctx, c.Store))
		keys := apps.KeysOf(loaded)
		liveKeys := apps.KeysOf(c.Collectors)
		nodetest.WantEqual(t, "the loaded keys", keys, liveKeys)
		nodetest.NoError(t, (&apps.SnapshotSync{Collectors: loaded}).LoadAll(ctx, c.Store))
		keys = apps.KeysOf(loaded)
		nodetest.WantEqual(t, "the keys loaded twice", keys, liveKeys)
	})
}

// TestAKeyIsNotPublishedBeforeItIsStored mints while the store waits or fails.
func TestAKeyIsNotPublishedBeforeItIsStored(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop := c.App("Shop")
		ref := shop.Ref()
		published := func() int { return len(apps.KeysOf(c.Collectors)) }
		mint := func() error {
			_, _, err := c.Apps.MintKey(t.Context(), ref, domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"})
			return err
		}
		release := c.Store.HoldPuts()
		var minting sync.WaitGroup
		minting.Go(func() { nodetest.NoError(t, mint()) })
		synctest.Wait()
		if got := published(); got != 0 {
			t.Errorf("%d keys are published before they are stored", got)
		}
		release()
		minting.Wait()
		c.Store.FailPuts(1, actorstest.ErrAway)
		nodetest.WantError(t, "minting without a store", mint(), domain.Unavailable("The store", 1e9))
		if got := published(); got != 1 {
			t.Errorf("%d keys are published, want 1", got)
		}
	})
}

func TestCollectorsSkipWhatCannotWork(t *testing.T) {
	app := actorstest.App(1, "shop", "Shop", actorstest.Epoch())
	good := domain.HashSecretHex("key")
	revoked := actorstest.Epoch()
	c := apps.NewCollectors()
	c.Publish(domain.Version{}, app, []domain.IngestKey{
		{ID: "good", Environment: "production", Hash: good},
		{ID: "no such environment", Environment: "moon", Hash: domain.HashSecretHex("a")},
		{ID: "no hex", Environment: "production", Hash: "zz"},
		{ID: "short", Environment: "production", Hash: "abcd"},
		{ID: "revoked", Environment: "production", Hash: domain.HashSecretHex("b"), RevokedAt: &revoked},
	})
	keys := apps.KeysOf(c)
	if len(keys) != 1 || keys[domain.HashSecret("key")].KeyID != "good" {
		t.Errorf("the keys are %v, want the good one", keys)
	}
}

func TestCollectorsReportAStoreThatFails(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		c.Store.FailLoads(1, actorstest.ErrAway)
		err := (&apps.SnapshotSync{Collectors: c.Collectors}).LoadAll(t.Context(), c.Store)
		if want := "loading the entities of the snapshots: the store is away"; err == nil || err.Error() != want {
			t.Errorf("LoadAll fails with %v, want %s", err, want)
		}
	})
}

// TestSnapshotsLeaveOutWhatIsUnreadable has one application that is completely unreadable, and one with an unreadable
// key, page and rule. All others are loaded, at a start and later.
func TestSnapshotsLeaveOutWhatIsUnreadable(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop, blog := c.App("Shop"), c.App("Blog")
		_, bad, err := c.Apps.MintKey(ctx, shop.Ref(), domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"})
		nodetest.NoError(t, err)
		key, good, err := c.Apps.MintKey(ctx, blog.Ref(), domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"})
		nodetest.NoError(t, err)
		owner := c.Store.Present("key")[0].Owner
		for _, entity := range c.Store.Present("key") {
			if strings.Contains(string(entity.Payload), key.ID) {
				owner = entity.Owner
			}
		}
		broken := domain.Version{Generation: 1 << 20, Sequence: 1}
		entities := []domain.Entity{
			{Owner: owner, Kind: "key", ID: "key_broken", Version: broken, Payload: []byte("{")},
			{Owner: owner, Kind: "share", ID: "share", Version: broken, Payload: []byte("[]")},
			{Owner: alerting.KindAlerting + "/acme/blog", Kind: alerting.KindRule, ID: "rule_broken", Version: broken, Payload: []byte("7")},
		}
		for _, entity := range c.Store.Present("application") {
			if entity.Owner != owner {
				entity.Version, entity.Payload = broken, []byte("{")
				entities = append(entities, entity)
			}
		}
		nodetest.NoError(t, c.Store.Put(ctx, entities, nil, domain.Trail{}))
		skipped := map[string]bool{}
		changes := &apps.SnapshotSync{Collectors: apps.NewCollectors(), Others: []apps.Snapshot{apps.NewShares(), alerting.NewRuleIndex()}, Skipped: func(entity domain.Entity, err error) {
			if err == nil {
				t.Error("skipped without a reason")
			}
			skipped[entity.Owner+" "+entity.Kind] = true
		}}
		check := func(what string) {
			t.Helper()
			if got := changes.Collectors.Collector(domain.HashSecret(good.Reveal())); got == nil || got.KeyID != key.ID {
				t.Errorf("%s: the key of an application beside unreadable ones is %+v", what, got)
			}
			if got := changes.Collectors.Collector(domain.HashSecret(bad.Reveal())); got != nil {
				t.Errorf("%s: an unreadable application has a key", what)
			}
		}
		nodetest.NoError(t, changes.LoadAll(ctx, c.Store))
		check("at a start")
		if len(skipped) != 4 {
			t.Errorf("skipped %v", skipped)
		}
		stored, err := c.Store.Load(ctx, owner)
		nodetest.NoError(t, err)
		changes.Apply(stored)
		check("after a change")
	})
}
