package apps_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"svc/actors/actorstest"
	"svc/actors/apps"
	"svc/actors/identity"
	"svc/actors/nodetest"
	"svc/domain"
	"svc/domain/share"
)

func TestSharesFollowAtOnce(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		ctx := t.Context()
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop, blog := c.App("Shop"), c.App("Blog")
		yes := true
		page, err := c.Apps.PublishShare(ctx, shop.Ref(), share.Patch{LegacyLink: &yes, Pages: &yes})
		nodetest.NoError(t, err)
		if len(page.ID) != 24 {
			t.Errorf("the id %q has not 24 digits", page.ID)
		}
		other, err := c.Apps.PublishShare(ctx, blog.Ref(), share.Patch{})
		nodetest.NoError(t, err)
		for _, link := range []string{page.ID, "acme/shop"} {
			nodetest.WantEqual(t, "the page of "+link, c.Shares.Share(link), &share.PublicShare{App: shop, Share: page})
		}
		nodetest.WantEqual(t, "the links", apps.LinksOf(c.Shares), sorted(page.ID, other.ID, "acme/shop"))

		page, err = c.Apps.ConfigureShare(ctx, shop.Ref(), share.Patch{Locations: &yes})
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "after a change of settings", c.Shares.Share(page.ID), &share.PublicShare{App: shop, Share: page})
		name := "Store"
		shop, err = c.Apps.Update(ctx, shop.Ref(), domain.AppPatch{Name: &name}, nil)
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "after a change of the application", c.Shares.Share(page.ID), &share.PublicShare{App: shop, Share: page})
		loaded := apps.NewShares()
		nodetest.NoError(t, (&apps.SnapshotSync{Collectors: apps.NewCollectors(), Others: []apps.Snapshot{loaded}}).LoadAll(ctx, c.Store))
		nodetest.WantEqual(t, "the loaded links", apps.LinksOf(loaded), apps.LinksOf(c.Shares))
		nodetest.WantEqual(t, "the loaded page", loaded.Share(page.ID), c.Shares.Share(page.ID))

		old := page.ID
		page, err = c.Apps.RotateShare(ctx, shop.Ref())
		nodetest.NoError(t, err)
		if page.ID == old || len(page.ID) != 24 {
			t.Errorf("the new id is %q, the old one %q", page.ID, old)
		}
		nodetest.WantEqual(t, "the links after rotating", apps.LinksOf(c.Shares), sorted(page.ID, other.ID))
		c.EvictAll()
		synctest.Wait()
		read, err := c.Apps.Share(ctx, shop.Ref())
		nodetest.NoError(t, err)
		nodetest.WantEqual(t, "what is read after a reload", read, page)
		nodetest.NoError(t, c.Apps.DisableShare(ctx, shop.Ref()))
		nodetest.WantEqual(t, "the links after disabling", apps.LinksOf(c.Shares), []string{other.ID})
		nodetest.WantError(t, "no application", c.Apps.DisableShare(ctx, domain.AppRef{Org: "acme", App: "nothing"}), domain.NotFound("application"))
	})
}

func sorted(words ...string) []string { return slices.Sorted(slices.Values(words)) }

// TestAPageIsNotPublishedBeforeItIsStored publishes and disables while the store waits or fails: a change that is not
// durable is not visible.
func TestAPageIsNotPublishedBeforeItIsStored(t *testing.T) {
	nodetest.WithClients(t, identity.Limits{}, func(t *testing.T, c *nodetest.Clients) {
		c.Organization("Acme", c.User("ada@example.com", "Ada"))
		shop := c.App("Shop")
		release := c.Store.HoldPuts()
		var publishing sync.WaitGroup
		publishing.Go(func() {
			_, err := c.Apps.PublishShare(t.Context(), shop.Ref(), share.Patch{})
			nodetest.NoError(t, err)
		})
		synctest.Wait()
		nodetest.WantEqual(t, "the links before the store answered", apps.LinksOf(c.Shares), []string(nil))
		release()
		publishing.Wait()
		c.Store.FailPuts(1, actorstest.ErrAway)
		nodetest.WantError(t, "disabling without a store", c.Apps.DisableShare(t.Context(), shop.Ref()), domain.Unavailable("The store", 1e9))
		if got := apps.LinksOf(c.Shares); len(got) != 1 {
			t.Errorf("the links are %v, want one", got)
		}
	})
}
