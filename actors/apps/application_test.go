package apps

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/annotation"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
)

// newTestApp returns the record of the application shop.
func newTestApp(n uint64, name string, created time.Time) identity.AppRecord {
	return identity.RecordApp(actorstest.App(n, "shop", name, created))
}

func testKey(id, environment string, revoked *time.Time) keyRecord {
	return keyRecord{IngestKey: domain.IngestKey{
		ID: id, Kind: domain.KeyPublic, Environment: environment, Label: "web", Prefix: "svc_pub_prod", Last4: "wxyz",
		CreatedAt: actorstest.Epoch(), RevokedAt: revoked,
	}, Hash: "hash-" + id}
}

func TestApplicationLife(t *testing.T) {
	created := newTestApp(1, "Shop", actorstest.Epoch())
	renamed := created
	renamed.Name, renamed.Revision, renamed.UpdatedAt = "Store", 2, actorstest.At(time.Minute)
	key1, key2 := testKey("key_1", "production", nil), testKey("key_2", "staging", nil)
	when := actorstest.At(time.Hour)
	key1Revoked := testKey("key_1", "production", &when)
	name, blank, one, two := "Store", " ", uint64(1), uint64(2)
	noApp, noKey := domain.NotFound("application"), domain.NotFound("key")
	var steps []actorstest.Step
	for _, method := range applicationKind.Methods() {
		if method != "create" && method != "delete" {
			steps = append(steps, actorstest.Step{Name: "before it exists", Method: method, Message: grain.None{}, Err: noApp})
		}
	}
	steps = append(steps, []actorstest.Step{
		{Name: "create", Method: "create", Message: createApp{created}, Want: grain.Answer[any](created, grain.Put("application", "app_1", created))},
		{Name: "create again", Method: "create", Message: createApp{newTestApp(9, "Other", actorstest.At(time.Hour))}, Want: grain.Answer[any](created)},
		{Name: "get", Method: "get", Message: getApp{}, Want: grain.Answer[any](readApp{AppRecord: created})},
		{Name: "get, with no goals", Method: "get", Message: getApp{Part: share.AppGoals}, Want: grain.Answer[any](readApp{AppRecord: created, AppParts: share.AppParts{Goals: []goal.Goal{}}})},
		{Name: "get, with no funnels", Method: "get", Message: getApp{Part: share.AppFunnels}, Want: grain.Answer[any](readApp{AppRecord: created, AppParts: share.AppParts{Funnels: []funnel.Funnel{}}})},
		{Name: "get, with no page", Method: "get", Message: getApp{Part: share.AppShare}, Want: grain.Answer[any](readApp{AppRecord: created, AppParts: share.AppParts{Share: &share.Share{}}})},
		{Name: "no keys", Method: "keys", Message: grain.None{}, Want: grain.Answer[any]([]keyRecord(nil))},
		{Name: "a patch of nothing", Method: "update", Message: updateApp{}, Err: domain.Invalid(domain.FieldError{Code: "empty_body", Message: "The body names nothing to change."})},
		{
			Name: "a bad name", Method: "update", Message: updateApp{Patch: domain.AppPatch{Name: &blank}},
			Err: domain.Invalid(domain.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."}),
		},
		{
			Name: "a stale version", Method: "update", Message: updateApp{domain.AppPatch{Name: &name}, &two},
			Err: domain.Errorf(domain.CodePrecondition, "The application has changed since; read it again."),
		},
		{
			Name: "rename", After: time.Minute, Method: "update", Message: updateApp{domain.AppPatch{Name: &name}, &one},
			Want: grain.Answer[any](renamed, grain.Put("application", "app_1", renamed)),
		},
		{
			Name: "the version that was read before", Method: "update", Message: updateApp{domain.AppPatch{Name: &name}, &one},
			Err: domain.Errorf(domain.CodePrecondition, "The application has changed since; read it again."),
		},
		{Name: "no change", After: time.Hour, Method: "update", Message: updateApp{domain.AppPatch{Name: &name}, &two}, Want: grain.Answer[any](renamed)},
		{Name: "mint", Method: "key.mint", Message: mintKey{key1}, Want: grain.Answer[any](key1, grain.Put("key", "key_1", key1))},
		{Name: "mint another", Method: "key.mint", Message: mintKey{key2}, Want: grain.Answer[any](key2, grain.Put("key", "key_2", key2))},
		{Name: "keys, the newest first", Method: "keys", Message: grain.None{}, Want: grain.Answer[any]([]keyRecord{key2, key1})},
		{Name: "revoke", After: time.Hour, Method: "key.revoke", Message: revokeKey{"key_1"}, Want: grain.Answer[any](grain.None{}, grain.Put("key", "key_1", key1Revoked))},
		{Name: "revoke twice", After: 2 * time.Hour, Method: "key.revoke", Message: revokeKey{"key_1"}, Err: noKey},
		{Name: "revoke nothing", Method: "key.revoke", Message: revokeKey{"key_9"}, Err: noKey},
		{Name: "the live keys", Method: "keys", Message: grain.None{}, Want: grain.Answer[any]([]keyRecord{key2})},
		{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	steps = append(steps, shareSteps()...)
	type publication struct {
		App  domain.Application
		Keys []domain.IngestKey
	}
	var published []publication
	var pages []share.Share
	newCore := func() *application {
		return &application{publish: func(_ domain.Version, app domain.Application, keys []domain.IngestKey) {
			published = append(published, publication{app, keys})
		}, publishPage: func(_ domain.Version, _ domain.Application, share share.Share) {
			pages = append(pages, share)
		}}
	}
	actorstest.Play(t, applicationKind, newCore, true, steps)
	for _, method := range applicationKind.Methods() {
		if method == "delete" || strings.HasPrefix(method, "goal") || strings.HasPrefix(method, "funnel") || strings.HasPrefix(method, "annotation") || strings.HasPrefix(method, "exclusions") { // they have tests of their own
			continue
		}
		if !slices.ContainsFunc(steps, func(s actorstest.Step) bool { return s.Method == method && s.Err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
	app1, app2 := created.Whole(), renamed.Whole()
	once := []publication{
		{app1, []domain.IngestKey{}},
		{app2, []domain.IngestKey{}},
		{app2, []domain.IngestKey{key1.key()}},
		{app2, []domain.IngestKey{key2.key(), key1.key()}},
		{app2, []domain.IngestKey{key2.key()}},
	}
	for range sharePages() {
		once = append(once, once[len(once)-1])
	}
	if want := slices.Concat(once, once); !reflect.DeepEqual(published, want) {
		t.Errorf("published\n%+v\nwant, in both lives,\n%+v", published, want)
	}
	pagesOnce := slices.Concat(make([]share.Share, 5), sharePages())
	if want := slices.Concat(pagesOnce, pagesOnce); !reflect.DeepEqual(pages, want) {
		t.Errorf("pages\n%+v\nwant, in both lives,\n%+v", pages, want)
	}
}

func TestAKeyKeepsItsHash(t *testing.T) {
	revoked := actorstest.At(time.Minute)
	key := testKey("key_1", "production", &revoked).key()
	if got := actorstest.Through(t, keyRecord{key, key.Hash}).key(); !reflect.DeepEqual(got, key) {
		t.Errorf("the key came back as %+v, want %+v", got, key)
	}
}

// TestUnreadableApplications breaks one entity of every kind: a broken entity must not count as absent.
func TestUnreadableApplications(t *testing.T) {
	for _, kind := range []string{"application", "key", "goal", "funnel", "share"} {
		err := (&application{}).Restore([]domain.Entity{{Kind: kind, ID: "x", Payload: []byte(`{`)}})
		if want := "decoding " + kind + " x: unexpected end of JSON input"; err == nil || err.Error() != want {
			t.Errorf("restore fails with %v, want %s", err, want)
		}
	}
}

// TestAnnotationLife plays the life of an application's annotations, and finally of its exclusions.
func TestAnnotationLife(t *testing.T) {
	app := newTestApp(1, "Shop", actorstest.Epoch())
	title, other, bad := "Sale", "Autumn sale", annotation.Kind("war")
	mark := annotation.Annotation{
		ID: "ann_1", Spec: annotation.Spec{Kind: annotation.Note, At: actorstest.Epoch(), Title: title}, CreatedAt: actorstest.Epoch(), UpdatedAt: actorstest.Epoch(),
	}
	changed := mark
	changed.Title, changed.UpdatedAt = other, actorstest.At(time.Hour)
	rules := domain.Exclusions{Items: []domain.Exclusion{{ID: "exc_1", Kind: domain.ExcludePath, Value: "/admin/*"}}, UpdatedAt: actorstest.At(time.Hour)}
	excluded := app
	excluded.Exclusions, excluded.UpdatedAt, excluded.Revision = rules, actorstest.At(time.Hour), app.Revision+1
	gone := domain.NotFound("annotation")
	steps := []actorstest.Step{
		{Name: "create", Method: "create", Message: createApp{app}, Want: grain.Answer[any](app, grain.Put("application", "app_1", app))},
		{Name: "annotate", Method: "annotation.put", Message: putAnnotation{ID: "ann_1", New: true, Patch: annotation.Patch{Title: &title}}, Want: grain.Answer[any](mark, grain.Put("annotation", "ann_1", mark))},
		{Name: "change nothing that is there", Method: "annotation.put", Message: putAnnotation{ID: "ann_2", Patch: annotation.Patch{Title: &title}}, Err: gone},
		{
			Name: "a bad kind", Method: "annotation.put", Message: putAnnotation{ID: "ann_1", Patch: annotation.Patch{Kind: &bad}},
			Err: domain.Invalid(domain.FieldError{Field: "kind", Code: "unknown_value", Message: `Unknown kind "war".`, Allowed: []string{"note", "campaign", "release"}}),
		},
		{Name: "change it", After: time.Hour, Method: "annotation.put", Message: putAnnotation{ID: "ann_1", Patch: annotation.Patch{Title: &other}}, Want: grain.Answer[any](changed, grain.Put("annotation", "ann_1", changed))},
		{Name: "the annotations", Method: "annotations", Message: grain.None{}, Want: grain.Answer[any]([]annotation.Annotation{changed})},
		{Name: "delete it", Method: "annotation.delete", Message: findAnnotation{"ann_1"}, Want: grain.Answer[any](grain.None{}, grain.Delete("annotation", "ann_1"))},
		{Name: "delete it again", Method: "annotation.delete", Message: findAnnotation{"ann_1"}, Err: gone},
		{Name: "exclude", After: time.Hour, Method: "exclusions.put", Message: putExclusions{Exclusions: rules}, Want: grain.Answer[any](rules, grain.Put("application", "app_1", excluded))},
		{
			Name: "exclude by what was read before", After: time.Hour, Method: "exclusions.put", Message: putExclusions{Exclusions: rules},
			Err: &domain.Error{Code: domain.CodeConflict, Reason: "changed", Message: "The exclusions have changed meanwhile; read them again."},
		},
	}
	var published []domain.Exclusions
	newCore := func() *application {
		return &application{
			publish: func(_ domain.Version, app domain.Application, _ []domain.IngestKey) {
				published = append(published, app.Exclusions)
			},
			publishPage: func(domain.Version, domain.Application, share.Share) {},
		}
	}
	actorstest.Play(t, applicationKind, newCore, true, steps)
	if len(published) != 4 || !reflect.DeepEqual(published[1], rules) {
		t.Errorf("published %+v", published)
	}
}
