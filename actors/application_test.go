package actors

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc"
)

func testKey(id, environment string, revoked *time.Time) keyRecord {
	return keyRecord{IngestKey: svc.IngestKey{
		ID: id, Kind: svc.KeyPublic, Environment: environment, Label: "web", Prefix: "svc_pub_prod", Last4: "wxyz",
		CreatedAt: coreEpoch(), RevokedAt: revoked,
	}, Hash: "hash-" + id}
}

func TestApplicationLife(t *testing.T) {
	created := testApp(1, "shop", "Shop", coreEpoch())
	renamed := created
	renamed.Name, renamed.Revision, renamed.UpdatedAt = "Store", 2, at(time.Minute)
	key1, key2 := testKey("key_1", "production", nil), testKey("key_2", "staging", nil)
	when := at(time.Hour)
	key1Revoked := testKey("key_1", "production", &when)
	name, blank, one, two := "Store", " ", uint64(1), uint64(2)
	noApp, noKey := svc.NotFound("application"), svc.NotFound("key")
	var steps []step
	for method := range applicationHandlers() {
		if method != "create" {
			steps = append(steps, step{name: "before it exists", method: method, message: none{}, err: noApp})
		}
	}
	steps = append(steps, []step{
		{name: "create", method: "create", message: createApp{created}, want: outcome{answer: created, writes: []write{{"application", "app_1", created}}}},
		{name: "create again", method: "create", message: createApp{testApp(9, "shop", "Other", at(time.Hour))}, want: outcome{answer: created}},
		{name: "get", method: "get", message: none{}, want: outcome{answer: created}},
		{name: "no keys", method: "keys", message: none{}, want: outcome{answer: []keyRecord(nil)}},
		{name: "a patch of nothing", method: "update", message: updateApp{}, err: svc.Invalid(svc.FieldError{Code: "empty_body", Message: "The body names nothing to change."})},
		{
			name: "a bad name", method: "update", message: updateApp{Patch: svc.AppPatch{Name: &blank}},
			err: svc.Invalid(svc.FieldError{Field: "name", Code: "required", Message: "The name must not be empty."}),
		},
		{
			name: "a stale version", method: "update", message: updateApp{svc.AppPatch{Name: &name}, &two},
			err: svc.Errorf(svc.CodePrecondition, "The application has changed since; read it again."),
		},
		{
			name: "rename", after: time.Minute, method: "update", message: updateApp{svc.AppPatch{Name: &name}, &one},
			want: outcome{answer: renamed, writes: []write{{"application", "app_1", renamed}}},
		},
		{
			name: "the version that was read before", method: "update", message: updateApp{svc.AppPatch{Name: &name}, &one},
			err: svc.Errorf(svc.CodePrecondition, "The application has changed since; read it again."),
		},
		{name: "no change", after: time.Hour, method: "update", message: updateApp{svc.AppPatch{Name: &name}, &two}, want: outcome{answer: renamed}},
		{name: "mint", method: "key.mint", message: mintKey{key1}, want: outcome{answer: key1, writes: []write{{"key", "key_1", key1}}}},
		{name: "mint another", method: "key.mint", message: mintKey{key2}, want: outcome{answer: key2, writes: []write{{"key", "key_2", key2}}}},
		{name: "keys, the newest first", method: "keys", message: none{}, want: outcome{answer: []keyRecord{key2, key1}}},
		{name: "revoke", after: time.Hour, method: "key.revoke", message: revokeKey{"key_1"}, want: outcome{answer: none{}, writes: []write{{"key", "key_1", key1Revoked}}}},
		{name: "revoke twice", after: 2 * time.Hour, method: "key.revoke", message: revokeKey{"key_1"}, err: noKey},
		{name: "revoke nothing", method: "key.revoke", message: revokeKey{"key_9"}, err: noKey},
		{name: "the live keys", method: "keys", message: none{}, want: outcome{answer: []keyRecord{key2}}},
		{name: "unknown method", method: "nonsense", message: none{}, err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	steps = append(steps, shareSteps()...)
	type publication struct {
		App  svc.Application
		Keys []svc.IngestKey
	}
	var published []publication
	var pages []svc.Share
	newCore := func() core {
		return &application{publish: func(_ svc.Version, app svc.Application, keys []svc.IngestKey) {
			published = append(published, publication{app, keys})
		}, publishPage: func(_ svc.Version, _ svc.Application, share svc.Share) {
			pages = append(pages, share)
		}}
	}
	play(t, newCore, true, steps)
	for method := range applicationHandlers() {
		if goalHandlers()[method] != nil { // they have a life of their own
			continue
		}
		if !slices.ContainsFunc(steps, func(s step) bool { return s.method == method && s.err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
	app1, app2 := created.application(), renamed.application()
	once := []publication{
		{app1, []svc.IngestKey{}},
		{app2, []svc.IngestKey{}},
		{app2, []svc.IngestKey{key1.key()}},
		{app2, []svc.IngestKey{key2.key(), key1.key()}},
		{app2, []svc.IngestKey{key2.key()}},
	}
	for range sharePages() {
		once = append(once, once[len(once)-1])
	}
	if want := slices.Concat(once, once); !reflect.DeepEqual(published, want) {
		t.Errorf("published\n%+v\nwant, in both lives,\n%+v", published, want)
	}
	pagesOnce := slices.Concat(make([]svc.Share, 5), sharePages())
	if want := slices.Concat(pagesOnce, pagesOnce); !reflect.DeepEqual(pages, want) {
		t.Errorf("pages\n%+v\nwant, in both lives,\n%+v", pages, want)
	}
}

func TestRecordsKeepWhatIsHidden(t *testing.T) {
	app := svc.NewApplication(svc.AppSpec{Name: "Shop"}, "shop", acme(), testAppIDs(1), coreEpoch())
	app.Revision = 7
	revoked := at(time.Minute)
	key := testKey("key_1", "production", &revoked).key()
	owner := ada()
	token := svc.Token{ID: "tok_1", User: &owner, Hash: "hash", CreatedAt: coreEpoch()}
	if got := through[appRecord](t, recordApp(app)).application(); !reflect.DeepEqual(got, app) {
		t.Errorf("the application came back as %+v, want %+v", got, app)
	}
	if got := through[keyRecord](t, keyRecord{key, key.Hash}).key(); !reflect.DeepEqual(got, key) {
		t.Errorf("the key came back as %+v, want %+v", got, key)
	}
	if got := through[tokenRecord](t, recordToken(token)).token(); !reflect.DeepEqual(got, token) {
		t.Errorf("the token came back as %+v, want %+v", got, token)
	}
}

// through takes a value to JSON and back.
func through[T any](t *testing.T, value T) T {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
