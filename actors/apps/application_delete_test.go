package apps

import (
	"reflect"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/share"
)

// TestApplicationDeletion plays the end of an application: its actor retains only the record that it received, and
// publishes that the keys and the public page no longer exist.
func TestApplicationDeletion(t *testing.T) {
	created := newTestApp(1, "Shop", actorstest.At(0))
	deleted := created.Deleted(actorstest.At(time.Hour))
	key := testKey("key_1", "production", nil)
	noApp := domain.NotFound("application")
	var removed []domain.Application
	var pages []share.Share
	newCore := func() *application {
		return &application{
			publish:     func(domain.Version, domain.Application, []domain.IngestKey) {},
			publishPage: func(_ domain.Version, _ domain.Application, share share.Share) { pages = append(pages, share) },
			remove:      func(_ domain.Version, app domain.Application) { removed = append(removed, app) },
		}
	}
	actorstest.Play(t, applicationKind, newCore, true, []actorstest.Step{
		{Name: "create", Method: "create", Message: createApp{created}, Want: grain.Answer[any](created, grain.Put("application", "app_1", created))},
		{Name: "mint a key", Method: "key.mint", Message: mintKey{key}, Want: grain.Answer[any](key, grain.Put("key", "key_1", key))},
		{Name: "delete", Method: "delete", Message: deleteApp{deleted}, Want: grain.Answer[any](grain.None{}, grain.Put("application", "app_1", deleted), grain.Delete("key", "key_1"), grain.Delete("share", "app_1"))},
		{Name: "delete again", Method: "delete", Message: deleteApp{deleted}, Want: grain.Again[any](grain.None{})},
		{Name: "it is not found", Method: "get", Message: getApp{}, Err: noApp},
		{Name: "nor are keys minted", Method: "key.mint", Message: mintKey{key}, Err: noApp},
	})
	whole := identity.AppRecord.Whole(deleted)
	if want := []domain.Application{whole, whole}; !reflect.DeepEqual(removed, want) {
		t.Errorf("removed %+v, want it in both lives: %+v", removed, want)
	}
	if last := pages[len(pages)-1]; !reflect.DeepEqual(last, share.Share{}) {
		t.Errorf("the page is %+v", last)
	}
}
