package identity

import (
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
)

// TestOrganizationDeletion deletes an application, with its slug still reserved, and then its organization with all
// seats and tokens.
func TestOrganizationDeletion(t *testing.T) {
	noOrg := domain.NotFound("organization")
	shop, blog := testApp(1, "shop", "Shop", actorstest.At(time.Second)), testApp(2, "blog", "Blog", actorstest.At(time.Second))
	noShop, noBlog := shop.Deleted(actorstest.At(time.Minute)), blog.Deleted(actorstest.At(time.Hour))
	passed := noShop
	passed.Passes = 1
	at := actorstest.At(time.Hour)
	gone := orgRecord{Organization: actorstest.Acme(), DeletedAt: &at}
	swept := gone
	swept.Passes = 2
	ada := domain.Member{User: actorstest.Ada(), Role: domain.RoleOwner, JoinedAt: actorstest.At(0)}
	token := testTokenRecord("tok_1", actorstest.Ada(), nil)
	reserve := func(slug string, n uint64) reserveApp {
		return reserveApp{Spec: domain.AppSpec{Name: map[string]string{"shop": "Shop", "blog": "Blog"}[slug], Slug: slug}, IDs: actorstest.AppIDs(n)}
	}
	about := func(outcome grain.Outcome[any], id string) grain.Outcome[any] {
		outcome.About = id
		return outcome
	}
	actorstest.Play(t, organizationKind, func() *organization { return &organization{} }, true, []actorstest.Step{
		{Name: "create", Method: "create", Message: createOrganization{actorstest.Acme(), actorstest.Ada()}, Want: grain.Answer[any](actorstest.Acme(), grain.Put("organization", "org_1", actorstest.Acme()), grain.Put("member", "usr_1", ada))},
		{Name: "a token", Method: "token.add", Message: addToken{Token: token}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", token))},
		{Name: "an application", After: time.Second, Method: "app.reserve", Message: reserve("shop", 1), Want: grain.Answer[any](shop, grain.Put("app", "shop", shop))},
		{Name: "another", After: time.Second, Method: "app.reserve", Message: reserve("blog", 2), Want: grain.Answer[any](blog, grain.Put("app", "blog", blog))},
		{Name: "delete nothing", Method: "app.delete", Message: deleteApp{"nothing"}, Err: domain.NotFound("application")},
		{Name: "delete one", After: time.Minute, Method: "app.delete", Message: deleteApp{"shop"}, Want: about(grain.Answer[any](noShop, grain.Put("app", "shop", noShop)), noShop.ID)},
		{Name: "again", After: time.Hour, Method: "app.delete", Message: deleteApp{"shop"}, Want: grain.Again[any](noShop)},
		{Name: "it is not found", Method: "app.find", Message: findApp{"shop"}, Err: domain.NotFound("application")},
		{Name: "nor listed", Method: "apps", Message: listApps{"", 5}, Want: grain.Answer[any](appList{Apps: []AppRecord{blog}})},
		{Name: "and its slug stays taken", Method: "app.reserve", Message: reserve("shop", 3), Err: domain.Errorf(domain.CodeConflict, `The slug "shop" is already used in this organization.`)},
		{Name: "a pass of its removal", Method: "deletion.note", Message: notePasses{"shop", 1}, Want: grain.Answer[any](grain.None{}, grain.Put("app", "shop", passed))},
		{Name: "is noted once", Method: "deletion.note", Message: notePasses{"shop", 1}, Want: grain.Answer[any](grain.None{})},
		{Name: "of what is not deleted, never", Method: "deletion.note", Message: notePasses{"blog", 1}, Want: grain.Answer[any](grain.None{})},
		{Name: "nor of the organization while it is there", Method: "deletion.note", Message: notePasses{"", 1}, Want: grain.Answer[any](grain.None{})},
		{
			Name: "delete the organization", After: time.Hour, Method: "delete", Message: grain.None{},
			Want: about(grain.Answer[any](
				deletedOrg{Members: []domain.Member{ada}, Apps: []AppRecord{noBlog, passed}},
				grain.Put("organization", "org_1", gone), grain.Put("app", "blog", noBlog), grain.Delete("member", "usr_1"), grain.Delete("token", "tok_1"),
			), "org_1"),
		},
		{Name: "again", After: 2 * time.Hour, Method: "delete", Message: grain.None{}, Want: grain.Again[any](deletedOrg{Apps: []AppRecord{noBlog, passed}})},
		{Name: "it is not found", Method: "get", Message: grain.None{}, Err: noOrg},
		{Name: "its tokens open nothing", Method: "token.use", Message: findToken{"tok_1"}, Err: tokenUnknown()},
		{Name: "a pass of its removal", Method: "deletion.note", Message: notePasses{"", 2}, Want: grain.Answer[any](grain.None{}, grain.Put("organization", "org_1", swept))},
		{Name: "is noted once", Method: "deletion.note", Message: notePasses{"", 2}, Want: grain.Answer[any](grain.None{})},
	})
}
