package identity

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

func testTokenRecord(id string, owner domain.User, expires *time.Time) tokenRecord {
	return tokenRecord{Token: domain.Token{
		ID: id, Kind: domain.TokenPersonal, Name: "ci", Scopes: []domain.Scope{domain.ScopeRead}, User: &owner,
		Last4: "abcd", CreatedAt: actorstest.Epoch(), ExpiresAt: expires,
	}, Hash: "hash-" + id}
}

// testApp returns the record of an application.
func testApp(n uint64, slug, name string, created time.Time) AppRecord {
	return RecordApp(actorstest.App(n, slug, name, created))
}

func TestOrganizationLife(t *testing.T) {
	noOrg := domain.NotFound("organization")
	renamed := domain.Organization{ID: "org_1", Slug: "acme", Name: "Acme & Co"}
	seat := func(user domain.User, role domain.Role, joined time.Duration) domain.Member {
		return domain.Member{User: user, Role: role, JoinedAt: actorstest.At(joined)}
	}
	owner := func(m domain.User, role domain.Role) putMember {
		return putMember{Actor: domain.RoleOwner, User: m, Role: role}
	}
	forbidden := func(message string) error {
		return &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: message}
	}
	lastOwner := &domain.Error{Code: domain.CodeConflict, Reason: "last_owner", Message: "The last owner can be neither removed nor demoted."}
	robert := domain.User{ID: "usr_2", Email: "bob@example.com", Name: "Robert"}
	tok1, tok2 := testTokenRecord("tok_1", robert, nil), testTokenRecord("tok_2", actorstest.Cyd(), nil)
	danUser := domain.User{ID: "usr_4", Email: "dan@example.com", Name: "Dan"}
	dan := signin.Invitation{ID: "inv_1", Email: danUser.Email, Role: domain.RoleViewer, InvitedBy: domain.LedgerActor{ID: "usr_2", Name: "Robert"}, CreatedAt: actorstest.At(0), ExpiresAt: actorstest.At(time.Hour)}
	danOwner, danKey := dan, userIdentity(dan.Email)
	danOwner.Role = domain.RoleOwner
	orphan, adopted := tok1, testTokenRecord("tok_1", actorstest.Cyd(), nil)
	orphan.Orphaned = true
	shop := testApp(1, "shop", "Shop", actorstest.At(20*time.Second))
	shop2 := testApp(2, "shop-2", "Shop", actorstest.At(21*time.Second))
	blog := testApp(3, "a-blog", "Blog", actorstest.At(22*time.Second))
	for _, record := range []*AppRecord{&shop, &shop2, &blog} {
		record.Organization = renamed
	}
	reserve := func(slug, name string, n uint64) reserveApp {
		return reserveApp{Spec: domain.AppSpec{Name: name, Slug: slug}, IDs: actorstest.AppIDs(n)}
	}
	var steps []actorstest.Step
	for _, method := range organizationKind.Methods() {
		refusal := error(noOrg)
		switch method {
		case "create":
			continue
		case "token.use":
			refusal = tokenUnknown()
		}
		steps = append(steps, actorstest.Step{Name: "before it exists", Method: method, Message: grain.None{}, Err: refusal})
	}
	steps = append(steps, []actorstest.Step{
		{Name: "create", Method: "create", Message: createOrganization{actorstest.Acme(), actorstest.Ada()}, Want: grain.Answer[any](actorstest.Acme(), grain.Put("organization", "org_1", actorstest.Acme()), grain.Put("member", "usr_1", seat(actorstest.Ada(), domain.RoleOwner, 0)))},
		{Name: "create again with the same id", After: 1, Method: "create", Message: createOrganization{actorstest.Acme(), actorstest.Ada()}, Want: grain.Answer[any](actorstest.Acme())},
		{
			Name: "create by somebody else", After: 1, Method: "create", Message: createOrganization{domain.Organization{ID: "org_2", Slug: "acme", Name: "Other"}, actorstest.Bob()},
			Err: domain.Errorf(domain.CodeConflict, `The slug "acme" is already used.`),
		},
		{Name: "get", Method: "get", Message: grain.None{}, Want: grain.Answer[any](actorstest.Acme())},
		{
			Name: "rename", Method: "rename", Message: renameOrganization{"Acme & Co"},
			Want: grain.Answer[any](renamed, grain.Put("organization", "org_1", renamed)),
		},

		{Name: "role of the owner", Method: "role", Message: findRole{"usr_1"}, Want: grain.Answer[any](domain.Membership{Organization: renamed, Role: domain.RoleOwner})},
		{Name: "role of a stranger", Method: "role", Message: findRole{"usr_2"}, Err: noOrg},
		{
			Name: "seat", After: 10 * time.Second, Method: "member.put", Message: owner(actorstest.Bob(), domain.RoleAdmin),
			Want: grain.Answer[any](seat(actorstest.Bob(), domain.RoleAdmin, 10*time.Second), grain.Put("member", "usr_2", seat(actorstest.Bob(), domain.RoleAdmin, 10*time.Second))),
		},
		{
			Name: "an admin seats a viewer", After: 11 * time.Second, Method: "member.put", Message: putMember{domain.RoleAdmin, actorstest.Cyd(), domain.RoleViewer},
			Want: grain.Answer[any](seat(actorstest.Cyd(), domain.RoleViewer, 11*time.Second), grain.Put("member", "usr_3", seat(actorstest.Cyd(), domain.RoleViewer, 11*time.Second))),
		},
		{
			Name: "a new name keeps the seat", After: 12 * time.Second, Method: "member.put", Message: owner(robert, domain.RoleAdmin),
			Want: grain.Answer[any](seat(robert, domain.RoleAdmin, 10*time.Second), grain.Put("member", "usr_2", seat(robert, domain.RoleAdmin, 10*time.Second))),
		},
		{
			Name: "a member seats nobody", Method: "member.put", Message: putMember{domain.RoleMember, actorstest.Cyd(), domain.RoleMember},
			Err: forbidden("Only an administrator changes members."),
		},
		{
			Name: "an admin makes no owner", Method: "member.put", Message: putMember{domain.RoleAdmin, actorstest.Cyd(), domain.RoleOwner},
			Err: forbidden("Only an owner makes or unmakes owners."),
		},
		{
			Name: "an admin unmakes no owner", Method: "member.remove", Message: removeMember{domain.RoleAdmin, actorstest.Ada().Email},
			Err: forbidden("Only an owner makes or unmakes owners."),
		},
		{Name: "the last owner is not demoted", Method: "member.put", Message: owner(actorstest.Ada(), domain.RoleAdmin), Err: lastOwner},
		{Name: "the last owner is not removed", Method: "member.remove", Message: removeMember{domain.RoleOwner, actorstest.Ada().Email}, Err: lastOwner},
		{Name: "nobody is removed twice", Method: "member.remove", Message: removeMember{domain.RoleOwner, "dan@example.com"}, Err: domain.NotFound("member")},
		{
			Name: "a second owner", After: 13 * time.Second, Method: "member.put", Message: owner(actorstest.Cyd(), domain.RoleOwner),
			Want: grain.Answer[any](seat(actorstest.Cyd(), domain.RoleOwner, 11*time.Second), grain.Put("member", "usr_3", seat(actorstest.Cyd(), domain.RoleOwner, 11*time.Second))),
		},
		{
			Name: "then the first may go", Method: "member.remove", Message: removeMember{domain.RoleOwner, actorstest.Ada().Email},
			Want: grain.Answer[any](seat(actorstest.Ada(), domain.RoleOwner, 0), grain.Delete("member", "usr_1")),
		},
		{Name: "and has no role", Method: "role", Message: findRole{"usr_1"}, Err: noOrg},
		{
			Name: "members by age of their seats", Method: "members", Message: grain.None{},
			Want: grain.Answer[any]([]domain.Member{seat(robert, domain.RoleAdmin, 10*time.Second), seat(actorstest.Cyd(), domain.RoleOwner, 11*time.Second)}),
		},

		{Name: "offer a seat", Method: "offer", Message: offerSeat{domain.RoleAdmin, dan}, Want: grain.Answer[any](signin.Seat{Invitation: &dan}, grain.Put("invitation", danKey, dan))},
		{Name: "seats, the offered last", Method: "seats", Message: grain.None{}, Want: grain.Answer[any]([]signin.Seat{{Member: seat(robert, domain.RoleAdmin, 10*time.Second)}, {Member: seat(actorstest.Cyd(), domain.RoleOwner, 11*time.Second)}, {Invitation: &dan}})},
		{Name: "the offer", Method: "offer.get", Message: answerOffer{Person: danKey}, Want: grain.Answer[any](signin.Offer{Organization: renamed, Invitation: dan})},
		{Name: "is refused", Method: "offer.decline", Message: answerOffer{Person: danKey}, Want: grain.Answer[any](grain.None{}, grain.Delete("invitation", danKey))},
		{Name: "and is gone", Method: "offer.get", Message: answerOffer{Person: danKey}, Err: domain.NotFound("invitation")},
		{Name: "an admin offers no owner's seat", Method: "offer", Message: offerSeat{domain.RoleAdmin, danOwner}, Err: forbidden("Only an owner makes or unmakes owners.")},
		{Name: "an owner does", Method: "offer", Message: offerSeat{domain.RoleOwner, danOwner}, Want: grain.Answer[any](signin.Seat{Invitation: &danOwner}, grain.Put("invitation", danKey, danOwner))},
		{Name: "an admin does not lower it", Method: "offer", Message: offerSeat{domain.RoleAdmin, dan}, Err: forbidden("Only an owner makes or unmakes owners.")},
		{Name: "nor withdraw it", Method: "offer.withdraw", Message: removeMember{domain.RoleAdmin, dan.Email}, Err: forbidden("Only an owner makes or unmakes owners.")},
		{Name: "an owner does", Method: "offer.withdraw", Message: removeMember{domain.RoleOwner, dan.Email}, Want: grain.Answer[any](danOwner, grain.Delete("invitation", danKey))},
		{Name: "once", Method: "offer.withdraw", Message: removeMember{domain.RoleOwner, dan.Email}, Err: domain.NotFound("member")},
		{Name: "a member's seat is changed", Method: "offer", Message: offerSeat{domain.RoleOwner, signin.Invitation{Email: actorstest.Bob().Email, Role: domain.RoleAdmin}}, Want: grain.Answer[any](signin.Seat{Member: seat(robert, domain.RoleAdmin, 10*time.Second)}, grain.Put("member", "usr_2", seat(robert, domain.RoleAdmin, 10*time.Second)))},
		{Name: "offer again", Method: "offer", Message: offerSeat{domain.RoleOwner, dan}, Want: grain.Answer[any](signin.Seat{Invitation: &dan}, grain.Put("invitation", danKey, dan))},
		{Name: "accepted", After: 15 * time.Second, Method: "offer.accept", Message: answerOffer{danKey, danUser}, Want: grain.Answer[any](domain.Membership{Organization: renamed, Role: domain.RoleViewer}, grain.Put("member", "usr_4", seat(danUser, domain.RoleViewer, 15*time.Second)), grain.Delete("invitation", danKey))},
		{Name: "once, and again where the answer was lost", Method: "offer.accept", Message: answerOffer{danKey, danUser}, Want: grain.Answer[any](domain.Membership{Organization: renamed, Role: domain.RoleViewer})},
		{Name: "and leaves", Method: "member.remove", Message: removeMember{domain.RoleOwner, dan.Email}, Want: grain.Answer[any](seat(danUser, domain.RoleViewer, 15*time.Second), grain.Delete("member", "usr_4"))},
		{Name: "which ends the offer for good", Method: "offer.accept", Message: answerOffer{danKey, danUser}, Err: domain.NotFound("invitation")},

		{Name: "no applications", Method: "apps", Message: listApps{"", 5}, Want: grain.Answer[any](appList{})},
		{
			Name: "derived slug", After: 20 * time.Second, Method: "app.reserve", Message: reserve("", "Shop", 1),
			Want: grain.Answer[any](shop, grain.Put("app", "shop", shop)),
		},
		{
			Name: "derived slug that is taken", After: 21 * time.Second, Method: "app.reserve", Message: reserve("", "Shop", 2),
			Want: grain.Answer[any](shop2, grain.Put("app", "shop-2", shop2)),
		},
		{
			Name: "explicit slug", After: 22 * time.Second, Method: "app.reserve", Message: reserve("a-blog", "Blog", 3),
			Want: grain.Answer[any](blog, grain.Put("app", "a-blog", blog)),
		},
		{
			Name: "explicit slug that is taken", Method: "app.reserve", Message: reserve("shop", "Other", 4),
			Err: domain.Errorf(domain.CodeConflict, `The slug "shop" is already used in this organization.`),
		},
		{Name: "find", Method: "app.find", Message: findApp{"shop"}, Want: grain.Answer[any](shop)},
		{Name: "find nothing", Method: "app.find", Message: findApp{"nothing"}, Err: domain.NotFound("application")},
		{Name: "first page", Method: "apps", Message: listApps{"", 2}, Want: grain.Answer[any](appList{Apps: []AppRecord{blog, shop}, More: true})},
		{Name: "last page", Method: "apps", Message: listApps{"shop", 2}, Want: grain.Answer[any](appList{Apps: []AppRecord{shop2}})},
		{Name: "exact page", Method: "apps", Message: listApps{"", 3}, Want: grain.Answer[any](appList{Apps: []AppRecord{blog, shop, shop2}})},

		{Name: "no tokens", Method: "tokens", Message: grain.None{}, Want: grain.Answer[any]([]tokenRecord(nil))},
		{Name: "add a token", Method: "token.add", Message: addToken{Token: tok1}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", tok1))},
		{Name: "add another", Method: "token.add", Message: addToken{Token: tok2}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", tok2))},
		{Name: "tokens, the newest first", Method: "tokens", Message: grain.None{}, Want: grain.Answer[any]([]tokenRecord{tok2, tok1})},
		{Name: "find a token", Method: "token.find", Message: findToken{"tok_1"}, Want: grain.Answer[any](tok1)},
		{Name: "use a token", Method: "token.use", Message: findToken{"tok_1"}, Want: grain.Answer[any](tokenSeat{tok1, domain.Membership{Organization: renamed, Role: domain.RoleAdmin}})},
		{Name: "use one that is on no list", Method: "token.use", Message: findToken{"tok_9"}, Err: tokenUnknown()},
		{Name: "a member's token is not adopted", Method: "token.adopt", Message: adoptToken{"tok_1", "usr_3"}, Err: &domain.Error{
			Code: domain.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted.",
		}},
		{
			Name: "who leaves, leaves tokens", Method: "member.remove", Message: removeMember{domain.RoleOwner, actorstest.Bob().Email},
			Want: grain.Answer[any](seat(robert, domain.RoleAdmin, 10*time.Second), grain.Delete("member", "usr_2"), grain.Put("token", "tok_1", orphan)),
		},
		{Name: "which open nothing", Method: "token.use", Message: findToken{"tok_1"}, Err: tokenUnknown()},
		{Name: "an owner adopts one", Method: "token.adopt", Message: adoptToken{"tok_1", "usr_3"}, Want: grain.Answer[any](adopted, grain.Put("token", "tok_1", adopted))},
		{Name: "which opens again", Method: "token.use", Message: findToken{"tok_1"}, Want: grain.Answer[any](tokenSeat{adopted, domain.Membership{Organization: renamed, Role: domain.RoleOwner}})},
		{Name: "its use is noted", After: time.Minute, Method: "token.used", Message: findToken{"tok_1"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", usedAt(adopted, time.Minute)))},
		{Name: "remove a token", Method: "token.remove", Message: findToken{"tok_1"}, Want: grain.Answer[any](grain.None{}, grain.Delete("token", "tok_1"))},
		{Name: "remove it twice", Method: "token.remove", Message: findToken{"tok_1"}, Err: domain.NotFound("token")},
		{Name: "find it no more", Method: "token.find", Message: findToken{"tok_1"}, Err: domain.NotFound("token")},
		{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	actorstest.Play(t, organizationKind, func() *organization { return &organization{} }, true, steps)
	actorstest.WantEveryMethod(t, organizationKind, steps, afterDeletion()...)
}

// TestUnreadableEntities breaks one entity of every kind of every core: a broken entity must not count as absent.
func TestUnreadableEntities(t *testing.T) {
	cores := map[string]struct {
		newCore func() grain.Core
		kinds   []string
	}{
		kindOrganization: {func() grain.Core { return &organization{} }, []string{"organization", "member", "invitation", "app", "token"}},
		kindUser:         {func() grain.Core { return &user{} }, []string{"user", "offer", "token"}},
		kindToken:        {func() grain.Core { return &token{} }, []string{"token"}},
		KindReplay:       {func() grain.Core { return &replay{} }, []string{"answer"}},
	}
	for name, test := range cores {
		for _, kind := range test.kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				err := test.newCore().Restore([]domain.Entity{{Kind: kind, ID: "x", Payload: []byte(`{`)}})
				if want := "decoding " + kind + " x: unexpected end of JSON input"; err == nil || err.Error() != want {
					t.Errorf("restore fails with %v, want %s", err, want)
				}
			})
		}
	}
}

func tokenUnknown() error {
	return domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
}

func TestRecordsKeepWhatIsHidden(t *testing.T) {
	app := domain.NewApplication(domain.AppSpec{Name: "Shop"}, "shop", actorstest.Acme(), actorstest.AppIDs(1), actorstest.Epoch())
	app.Revision = 7
	owner := actorstest.Ada()
	token := domain.Token{ID: "tok_1", User: &owner, Hash: "hash", CreatedAt: actorstest.Epoch()}
	if got := actorstest.Through(t, RecordApp(app)).Whole(); !reflect.DeepEqual(got, app) {
		t.Errorf("the application came back as %+v, want %+v", got, app)
	}
	if got := actorstest.Through(t, recordToken(token)).token(); !reflect.DeepEqual(got, token) {
		t.Errorf("the token came back as %+v, want %+v", got, token)
	}
}
