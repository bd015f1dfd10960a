package actors

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"svc"
	"svc/actors/actorstest"
)

func TestSharesFollowAtOnce(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		ctx := t.Context()
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop, blog := c.app("Shop"), c.app("Blog")
		yes := true
		page, err := c.apps.PublishShare(ctx, shop.Ref(), svc.SharePatch{LegacyLink: &yes, Pages: &yes})
		noError(t, err)
		if len(page.ID) != 24 {
			t.Errorf("the id %q has not 24 digits", page.ID)
		}
		other, err := c.apps.PublishShare(ctx, blog.Ref(), svc.SharePatch{})
		noError(t, err)
		for _, link := range []string{page.ID, "acme/shop"} {
			wantEqual(t, "the page of "+link, c.shares.Share(link), &svc.PublicShare{App: shop, Share: page})
		}
		wantEqual(t, "the links", linksOf(c.shares), sorted(page.ID, other.ID, "acme/shop"))

		page, err = c.apps.ConfigureShare(ctx, shop.Ref(), svc.SharePatch{Locations: &yes})
		noError(t, err)
		wantEqual(t, "after a change of settings", c.shares.Share(page.ID), &svc.PublicShare{App: shop, Share: page})
		name := "Store"
		shop, err = c.apps.Update(ctx, shop.Ref(), svc.AppPatch{Name: &name}, nil)
		noError(t, err)
		wantEqual(t, "after a change of the application", c.shares.Share(page.ID), &svc.PublicShare{App: shop, Share: page})
		loaded := NewShares()
		noError(t, loaded.Load(ctx, c.store, nil))
		wantEqual(t, "the loaded links", linksOf(loaded), linksOf(c.shares))
		wantEqual(t, "the loaded page", loaded.Share(page.ID), c.shares.Share(page.ID))

		old := page.ID
		page, err = c.apps.RotateShare(ctx, shop.Ref())
		noError(t, err)
		if page.ID == old || len(page.ID) != 24 {
			t.Errorf("the new id is %q, the old one %q", page.ID, old)
		}
		wantEqual(t, "the links after rotating", linksOf(c.shares), sorted(page.ID, other.ID))
		c.EvictAll()
		synctest.Wait()
		read, err := c.apps.Share(ctx, shop.Ref())
		noError(t, err)
		wantEqual(t, "what is read after a reload", read, page)
		noError(t, c.apps.DisableShare(ctx, shop.Ref()))
		wantEqual(t, "the links after disabling", linksOf(c.shares), []string{other.ID})
		wantError(t, "no application", c.apps.DisableShare(ctx, svc.AppRef{Org: "acme", App: "nothing"}), svc.NotFound("application"))
	})
}

func sorted(words ...string) []string { return slices.Sorted(slices.Values(words)) }

// TestAPageIsNotPublishedBeforeItIsStored publishes and disables while the store
// waits or fails: what is not durable is not seen.
func TestAPageIsNotPublishedBeforeItIsStored(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		c.organization("Acme", c.user("ada@example.com", "Ada"))
		shop := c.app("Shop")
		release := c.store.HoldPuts()
		var publishing sync.WaitGroup
		publishing.Go(func() { _, err := c.apps.PublishShare(t.Context(), shop.Ref(), svc.SharePatch{}); noError(t, err) })
		synctest.Wait()
		wantEqual(t, "the links before the store answered", linksOf(c.shares), []string(nil))
		release()
		publishing.Wait()
		c.store.FailPuts(1, actorstest.ErrAway)
		wantError(t, "disabling without a store", c.apps.DisableShare(t.Context(), shop.Ref()), svc.Unavailable("The store", 1e9))
		if got := linksOf(c.shares); len(got) != 1 {
			t.Errorf("the links are %v, want one", got)
		}
	})
}

func TestSharesReportAStoreThatFails(t *testing.T) {
	withClients(t, Limits{}, func(t *testing.T, c *clients) {
		c.store.FailLoads(1, actorstest.ErrAway)
		if err := c.shares.Load(t.Context(), c.store, nil); !errors.Is(err, actorstest.ErrAway) {
			t.Errorf("Load fails with %v, want %v", err, actorstest.ErrAway)
		}
	})
}
