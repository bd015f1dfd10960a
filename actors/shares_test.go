package actors

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
)

// sharePages is the public page after each of the good changes of shareSteps.
func sharePages() []svc.Share {
	minutes := func(n int) *time.Time { t := actorstest.At(time.Duration(n) * time.Minute); return &t }
	published := svc.Share{ID: "aa", Pages: true, LegacyLink: true, PublishedAt: minutes(1), UpdatedAt: minutes(1), Revision: 1}
	configured := published
	configured.Locations, configured.UpdatedAt, configured.Revision = true, minutes(2), 2
	rotated := configured
	rotated.ID, rotated.LegacyLink, rotated.UpdatedAt, rotated.Revision = "bb", false, minutes(3), 3
	disabled := rotated
	disabled.ID, disabled.PublishedAt, disabled.UpdatedAt, disabled.Revision = "", nil, minutes(4), 4
	return []svc.Share{published, configured, rotated, disabled}
}

// shareSteps is the life of the public page of app_1.
func shareSteps() []actorstest.Step {
	pages := sharePages()
	good := func(n int) grain.Outcome[any] {
		return grain.Answer[any](pages[n], grain.Put("share", "app_1", pages[n]))
	}
	yes, bad := true, []string{"admin"}
	conflict := svc.Errorf(svc.CodeConflict, "The page is not published.")
	return []actorstest.Step{
		{Name: "no page yet", Method: "share", Message: grain.None{}, Want: grain.Answer[any](svc.Share{})},
		{Name: "rotating nothing", Method: "share.rotate", Message: rotateShare{"zz"}, Err: conflict},
		{Name: "disabling nothing", Method: "share.disable", Message: grain.None{}, Err: svc.NotFound("published page")},
		{Name: "publish", After: time.Minute, Method: "share.publish", Message: publishShare{"aa", svc.SharePatch{Pages: &yes, LegacyLink: &yes}}, Want: good(0)},
		{
			Name: "publish again", Method: "share.publish", Message: publishShare{ID: "zz"},
			Err: svc.Errorf(svc.CodeConflict, "The page is published; change its settings or rotate its link."),
		},
		{Name: "configure", After: 2 * time.Minute, Method: "share.configure", Message: configureShare{svc.SharePatch{Locations: &yes}}, Want: good(1)},
		{
			Name: "a bad path", Method: "share.configure", Message: configureShare{svc.SharePatch{PrivatePaths: &bad}},
			Err: svc.Invalid(svc.FieldError{Field: "privatePaths[0]", Code: "invalid_path", Message: "A path begins with a slash, has at most 200 bytes, and a * only at its end."}),
		},
		{Name: "read", Method: "share", Message: grain.None{}, Want: grain.Answer[any](pages[1])},
		{Name: "rotate", After: 3 * time.Minute, Method: "share.rotate", Message: rotateShare{"bb"}, Want: good(2)},
		{Name: "disable", After: 4 * time.Minute, Method: "share.disable", Message: grain.None{}, Want: good(3)},
		{Name: "disable again", Method: "share.disable", Message: grain.None{}, Err: svc.NotFound("published page")},
	}
}

// links returns everything that shares hold.
func links(s *Shares) []string {
	var found []string
	s.byLink.Range(func(link, _ any) bool {
		found = append(found, link.(string))
		return true
	})
	slices.Sort(found)
	return found
}

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
		wantEqual(t, "the links", links(c.shares), sorted(page.ID, other.ID, "acme/shop"))

		page, err = c.apps.ConfigureShare(ctx, shop.Ref(), svc.SharePatch{Locations: &yes})
		noError(t, err)
		wantEqual(t, "after a change of settings", c.shares.Share(page.ID), &svc.PublicShare{App: shop, Share: page})
		name := "Store"
		shop, err = c.apps.Update(ctx, shop.Ref(), svc.AppPatch{Name: &name}, nil)
		noError(t, err)
		wantEqual(t, "after a change of the application", c.shares.Share(page.ID), &svc.PublicShare{App: shop, Share: page})
		loaded := NewShares()
		noError(t, loaded.Load(ctx, c.store, nil))
		wantEqual(t, "the loaded links", links(loaded), links(c.shares))
		wantEqual(t, "the loaded page", loaded.Share(page.ID), c.shares.Share(page.ID))

		old := page.ID
		page, err = c.apps.RotateShare(ctx, shop.Ref())
		noError(t, err)
		if page.ID == old || len(page.ID) != 24 {
			t.Errorf("the new id is %q, the old one %q", page.ID, old)
		}
		wantEqual(t, "the links after rotating", links(c.shares), sorted(page.ID, other.ID))
		c.EvictAll()
		synctest.Wait()
		read, err := c.apps.Share(ctx, shop.Ref())
		noError(t, err)
		wantEqual(t, "what is read after a reload", read, page)
		noError(t, c.apps.DisableShare(ctx, shop.Ref()))
		wantEqual(t, "the links after disabling", links(c.shares), []string{other.ID})
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
		wantEqual(t, "the links before the store answered", links(c.shares), []string(nil))
		release()
		publishing.Wait()
		c.store.FailPuts(1, actorstest.ErrAway)
		wantError(t, "disabling without a store", c.apps.DisableShare(t.Context(), shop.Ref()), svc.Unavailable("The store", 1e9))
		if got := links(c.shares); len(got) != 1 {
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
