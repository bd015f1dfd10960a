package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

// step is one message to a core and its whole expected outcome.
type step struct {
	name    string
	after   time.Duration // since coreEpoch
	method  string
	message any
	want    outcome
	err     error
}

// coreEpoch is when the lives of cores in tests begin.
func coreEpoch() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// at returns an instant of such a life.
func at(after time.Duration) time.Time { return coreEpoch().Add(after) }

// play sends a life's messages to one core in order. Where the core keeps
// nothing but what it stores, the same life is lived again by cores that are
// restored from the writes before every message.
func play(t *testing.T, newCore func() core, storesAll bool, steps []step) {
	t.Helper()
	lives := map[string]bool{"kept in memory": false}
	if storesAll {
		lives["restored before every message"] = true
	}
	for life, restored := range lives {
		t.Run(life, func(t *testing.T) {
			stored := map[string]svc.Entity{}
			present := mustRestore(t, newCore(), stored)
			for n, s := range steps {
				if restored {
					present = mustRestore(t, newCore(), stored)
				}
				payload, err := json.Marshal(s.message)
				if err != nil {
					t.Fatal(err)
				}
				got, err := present.apply(at(s.after), s.method, payload)
				if a, b := render(got), render(s.want); a != b {
					t.Errorf("step %d, %s: the outcome of %s is\n%swant\n%s", n, s.name, s.method, a, b)
				}
				if !sameError(err, s.err) {
					t.Errorf("step %d, %s: %s fails with %#v, want %#v", n, s.name, s.method, err, s.err)
				}
				if got.after != nil {
					got.after(svc.Version{})
				}
				store(t, stored, got.writes)
			}
		})
	}
}

func mustRestore(t *testing.T, c core, stored map[string]svc.Entity) core {
	t.Helper()
	var entities []svc.Entity
	for _, entity := range stored {
		entities = append(entities, entity)
	}
	if err := c.restore(entities); err != nil {
		t.Fatal(err)
	}
	return c
}

func store(t *testing.T, stored map[string]svc.Entity, writes []write) {
	t.Helper()
	for _, w := range writes {
		key := w.kind + "/" + w.id
		if w.value == nil {
			delete(stored, key)
			continue
		}
		payload, err := json.Marshal(w.value)
		if err != nil {
			t.Fatal(err)
		}
		stored[key] = svc.Entity{Kind: w.kind, ID: w.id, Payload: payload}
	}
}

// render writes an outcome out, one line a part.
func render(o outcome) string {
	var b strings.Builder
	encode := func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		return string(encoded)
	}
	fmt.Fprintf(&b, "\tanswer %s\n", encode(o.answer))
	for _, w := range o.writes {
		fmt.Fprintf(&b, "\twrite %s/%s %s\n", w.kind, w.id, encode(w.value))
	}
	for _, w := range o.wakeups {
		fmt.Fprintf(&b, "\twake-up %s\n", encode(w))
	}
	return b.String()
}

func ada() svc.User { return svc.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"} }
func bob() svc.User { return svc.User{ID: "usr_2", Email: "bob@example.com", Name: "Bob"} }
func cyd() svc.User { return svc.User{ID: "usr_3", Email: "cyd@example.com", Name: "Cyd"} }

func acme() svc.Organization { return svc.Organization{ID: "org_1", Slug: "acme", Name: "Acme"} }

func testTokenRecord(id string, owner svc.User, expires *time.Time) tokenRecord {
	return tokenRecord{Token: svc.Token{
		ID: id, Kind: svc.TokenPersonal, Name: "ci", Scopes: []svc.Scope{svc.ScopeRead}, User: &owner,
		Last4: "abcd", CreatedAt: coreEpoch(), ExpiresAt: expires,
	}, Hash: "hash-" + id}
}

func testAppIDs(n uint64) svc.AppIDs {
	return svc.AppIDs{
		App:          fmt.Sprintf("app_%d", n),
		Environments: [3]string{fmt.Sprintf("env_%da", n), fmt.Sprintf("env_%db", n), fmt.Sprintf("env_%dc", n)},
		Numbers:      [3]uint64{n*10 + 1, n*10 + 2, n*10 + 3},
	}
}

// testApp returns the record of a web application of acme.
func testApp(n uint64, slug, name string, created time.Time) appRecord {
	return appRecord{Application: svc.Application{
		ID: fmt.Sprintf("app_%d", n), Slug: slug, Name: name, Platform: "web", Timezone: "UTC",
		Modules:       []svc.Module{svc.ModuleAnalytics, svc.ModulePeople, svc.ModuleErrors, svc.ModuleMetrics, svc.ModuleFlags},
		RetentionDays: 365, AllowedOrigins: []string{}, Organization: acme(),
		Environments: []svc.Environment{
			{ID: fmt.Sprintf("env_%da", n), Slug: "production", Name: "Production"},
			{ID: fmt.Sprintf("env_%db", n), Slug: "staging", Name: "Staging"},
			{ID: fmt.Sprintf("env_%dc", n), Slug: "development", Name: "Development"},
		},
		CreatedAt: created, UpdatedAt: created,
	}, Numbers: []uint64{n*10 + 1, n*10 + 2, n*10 + 3}, Revision: 1}
}

func TestOrganizationLife(t *testing.T) {
	noOrg := svc.NotFound("organization")
	renamed := svc.Organization{ID: "org_1", Slug: "acme", Name: "Acme & Co"}
	seat := func(user svc.User, role svc.Role, joined time.Duration) svc.Member {
		return svc.Member{User: user, Role: role, JoinedAt: at(joined)}
	}
	owner := func(m svc.User, role svc.Role) putMember { return putMember{Actor: svc.RoleOwner, User: m, Role: role} }
	forbidden := func(message string) error {
		return &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: message}
	}
	lastOwner := &svc.Error{Code: svc.CodeConflict, Reason: "last_owner", Message: "The last owner can be neither removed nor demoted."}
	robert := svc.User{ID: "usr_2", Email: "bob@example.com", Name: "Robert"}
	tok1, tok2 := testTokenRecord("tok_1", robert, nil), testTokenRecord("tok_2", cyd(), nil)
	danUser := svc.User{ID: "usr_4", Email: "dan@example.com", Name: "Dan"}
	dan := svc.Invitation{ID: "inv_1", Email: danUser.Email, Role: svc.RoleViewer, InvitedBy: svc.LedgerActor{ID: "usr_2", Name: "Robert"}, CreatedAt: at(0), ExpiresAt: at(time.Hour)}
	danOwner, danKey := dan, userIdentity(dan.Email)
	danOwner.Role = svc.RoleOwner
	orphan, adopted := tok1, testTokenRecord("tok_1", cyd(), nil)
	orphan.Orphaned = true
	shop := testApp(1, "shop", "Shop", at(20*time.Second))
	shop2 := testApp(2, "shop-2", "Shop", at(21*time.Second))
	blog := testApp(3, "a-blog", "Blog", at(22*time.Second))
	for _, record := range []*appRecord{&shop, &shop2, &blog} {
		record.Organization = renamed
	}
	reserve := func(slug, name string, n uint64) reserveApp {
		return reserveApp{Spec: svc.AppSpec{Name: name, Slug: slug}, IDs: testAppIDs(n)}
	}
	var steps []step
	for method := range organizationHandlers() {
		if method != "create" {
			steps = append(steps, step{name: "before it exists", method: method, message: none{}, err: noOrg})
		}
	}
	steps = append(steps, []step{
		{name: "create", method: "create", message: createOrganization{acme(), ada()}, want: outcome{answer: acme(), writes: []write{
			{"organization", "org_1", acme()}, {"member", "usr_1", seat(ada(), svc.RoleOwner, 0)},
		}}},
		{name: "create again with the same id", after: 1, method: "create", message: createOrganization{acme(), ada()}, want: outcome{answer: acme()}},
		{
			name: "create by somebody else", after: 1, method: "create", message: createOrganization{svc.Organization{ID: "org_2", Slug: "acme", Name: "Other"}, bob()},
			err: svc.Errorf(svc.CodeConflict, `The slug "acme" is already used.`),
		},
		{name: "get", method: "get", message: none{}, want: outcome{answer: acme()}},
		{
			name: "rename", method: "rename", message: renameOrganization{"Acme & Co"},
			want: outcome{answer: renamed, writes: []write{{"organization", "org_1", renamed}}},
		},

		{name: "role of the owner", method: "role", message: findRole{"usr_1"}, want: outcome{answer: svc.Membership{Organization: renamed, Role: svc.RoleOwner}}},
		{name: "role of a stranger", method: "role", message: findRole{"usr_2"}, err: noOrg},
		{
			name: "seat", after: 10 * time.Second, method: "member.put", message: owner(bob(), svc.RoleAdmin),
			want: outcome{answer: seat(bob(), svc.RoleAdmin, 10*time.Second), writes: []write{{"member", "usr_2", seat(bob(), svc.RoleAdmin, 10*time.Second)}}},
		},
		{
			name: "an admin seats a viewer", after: 11 * time.Second, method: "member.put", message: putMember{svc.RoleAdmin, cyd(), svc.RoleViewer},
			want: outcome{answer: seat(cyd(), svc.RoleViewer, 11*time.Second), writes: []write{{"member", "usr_3", seat(cyd(), svc.RoleViewer, 11*time.Second)}}},
		},
		{
			name: "a new name keeps the seat", after: 12 * time.Second, method: "member.put", message: owner(robert, svc.RoleAdmin),
			want: outcome{answer: seat(robert, svc.RoleAdmin, 10*time.Second), writes: []write{{"member", "usr_2", seat(robert, svc.RoleAdmin, 10*time.Second)}}},
		},
		{
			name: "a member seats nobody", method: "member.put", message: putMember{svc.RoleMember, cyd(), svc.RoleMember},
			err: forbidden("Only an administrator changes members."),
		},
		{
			name: "an admin makes no owner", method: "member.put", message: putMember{svc.RoleAdmin, cyd(), svc.RoleOwner},
			err: forbidden("Only an owner makes or unmakes owners."),
		},
		{
			name: "an admin unmakes no owner", method: "member.remove", message: removeMember{svc.RoleAdmin, ada().Email},
			err: forbidden("Only an owner makes or unmakes owners."),
		},
		{name: "the last owner is not demoted", method: "member.put", message: owner(ada(), svc.RoleAdmin), err: lastOwner},
		{name: "the last owner is not removed", method: "member.remove", message: removeMember{svc.RoleOwner, ada().Email}, err: lastOwner},
		{name: "nobody is removed twice", method: "member.remove", message: removeMember{svc.RoleOwner, "dan@example.com"}, err: svc.NotFound("member")},
		{
			name: "a second owner", after: 13 * time.Second, method: "member.put", message: owner(cyd(), svc.RoleOwner),
			want: outcome{answer: seat(cyd(), svc.RoleOwner, 11*time.Second), writes: []write{{"member", "usr_3", seat(cyd(), svc.RoleOwner, 11*time.Second)}}},
		},
		{
			name: "then the first may go", method: "member.remove", message: removeMember{svc.RoleOwner, ada().Email},
			want: outcome{answer: seat(ada(), svc.RoleOwner, 0), writes: []write{{"member", "usr_1", nil}}},
		},
		{name: "and has no role", method: "role", message: findRole{"usr_1"}, err: noOrg},
		{
			name: "members by age of their seats", method: "members", message: none{},
			want: outcome{answer: []svc.Member{seat(robert, svc.RoleAdmin, 10*time.Second), seat(cyd(), svc.RoleOwner, 11*time.Second)}},
		},

		{name: "offer a seat", method: "offer", message: offerSeat{svc.RoleAdmin, dan}, want: outcome{answer: svc.Seat{Invitation: &dan}, writes: []write{{"invitation", danKey, dan}}}},
		{name: "seats, the offered last", method: "seats", message: none{}, want: outcome{answer: []svc.Seat{{Member: seat(robert, svc.RoleAdmin, 10*time.Second)}, {Member: seat(cyd(), svc.RoleOwner, 11*time.Second)}, {Invitation: &dan}}}},
		{name: "the offer", method: "offer.get", message: answerOffer{Person: danKey}, want: outcome{answer: svc.Offer{Organization: renamed, Invitation: dan}}},
		{name: "is refused", method: "offer.decline", message: answerOffer{Person: danKey}, want: outcome{answer: none{}, writes: []write{{"invitation", danKey, nil}}}},
		{name: "and is gone", method: "offer.get", message: answerOffer{Person: danKey}, err: svc.NotFound("invitation")},
		{name: "an admin offers no owner's seat", method: "offer", message: offerSeat{svc.RoleAdmin, danOwner}, err: forbidden("Only an owner makes or unmakes owners.")},
		{name: "an owner does", method: "offer", message: offerSeat{svc.RoleOwner, danOwner}, want: outcome{answer: svc.Seat{Invitation: &danOwner}, writes: []write{{"invitation", danKey, danOwner}}}},
		{name: "an admin does not lower it", method: "offer", message: offerSeat{svc.RoleAdmin, dan}, err: forbidden("Only an owner makes or unmakes owners.")},
		{name: "nor withdraw it", method: "offer.withdraw", message: removeMember{svc.RoleAdmin, dan.Email}, err: forbidden("Only an owner makes or unmakes owners.")},
		{name: "an owner does", method: "offer.withdraw", message: removeMember{svc.RoleOwner, dan.Email}, want: outcome{answer: danOwner, writes: []write{{"invitation", danKey, nil}}}},
		{name: "once", method: "offer.withdraw", message: removeMember{svc.RoleOwner, dan.Email}, err: svc.NotFound("member")},
		{name: "a member's seat is changed", method: "offer", message: offerSeat{svc.RoleOwner, svc.Invitation{Email: bob().Email, Role: svc.RoleAdmin}}, want: outcome{
			answer: svc.Seat{Member: seat(robert, svc.RoleAdmin, 10*time.Second)}, writes: []write{{"member", "usr_2", seat(robert, svc.RoleAdmin, 10*time.Second)}},
		}},
		{name: "offer again", method: "offer", message: offerSeat{svc.RoleOwner, dan}, want: outcome{answer: svc.Seat{Invitation: &dan}, writes: []write{{"invitation", danKey, dan}}}},
		{name: "accepted", after: 15 * time.Second, method: "offer.accept", message: answerOffer{danKey, danUser}, want: outcome{
			answer: svc.Membership{Organization: renamed, Role: svc.RoleViewer},
			writes: []write{{"member", "usr_4", seat(danUser, svc.RoleViewer, 15*time.Second)}, {"invitation", danKey, nil}},
		}},
		{name: "once, and again where the answer was lost", method: "offer.accept", message: answerOffer{danKey, danUser}, want: outcome{answer: svc.Membership{Organization: renamed, Role: svc.RoleViewer}}},
		{name: "and leaves", method: "member.remove", message: removeMember{svc.RoleOwner, dan.Email}, want: outcome{answer: seat(danUser, svc.RoleViewer, 15*time.Second), writes: []write{{"member", "usr_4", nil}}}},
		{name: "which ends the offer for good", method: "offer.accept", message: answerOffer{danKey, danUser}, err: svc.NotFound("invitation")},

		{name: "no applications", method: "apps", message: listApps{"", 5}, want: outcome{answer: appList{}}},
		{
			name: "derived slug", after: 20 * time.Second, method: "app.reserve", message: reserve("", "Shop", 1),
			want: outcome{answer: shop, writes: []write{{"app", "shop", shop}}},
		},
		{
			name: "derived slug that is taken", after: 21 * time.Second, method: "app.reserve", message: reserve("", "Shop", 2),
			want: outcome{answer: shop2, writes: []write{{"app", "shop-2", shop2}}},
		},
		{
			name: "explicit slug", after: 22 * time.Second, method: "app.reserve", message: reserve("a-blog", "Blog", 3),
			want: outcome{answer: blog, writes: []write{{"app", "a-blog", blog}}},
		},
		{
			name: "explicit slug that is taken", method: "app.reserve", message: reserve("shop", "Other", 4),
			err: svc.Errorf(svc.CodeConflict, `The slug "shop" is already used in this organization.`),
		},
		{name: "find", method: "app.find", message: findApp{"shop"}, want: outcome{answer: shop}},
		{name: "find nothing", method: "app.find", message: findApp{"nothing"}, err: svc.NotFound("application")},
		{name: "first page", method: "apps", message: listApps{"", 2}, want: outcome{answer: appList{Apps: []appRecord{blog, shop}, More: true}}},
		{name: "last page", method: "apps", message: listApps{"shop", 2}, want: outcome{answer: appList{Apps: []appRecord{shop2}}}},
		{name: "exact page", method: "apps", message: listApps{"", 3}, want: outcome{answer: appList{Apps: []appRecord{blog, shop, shop2}}}},

		{name: "no tokens", method: "tokens", message: none{}, want: outcome{answer: []tokenRecord(nil)}},
		{name: "add a token", method: "token.add", message: addToken{tok1}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", tok1}}}},
		{name: "add another", method: "token.add", message: addToken{tok2}, want: outcome{answer: none{}, writes: []write{{"token", "tok_2", tok2}}}},
		{name: "tokens, the newest first", method: "tokens", message: none{}, want: outcome{answer: []tokenRecord{tok2, tok1}}},
		{name: "find a token", method: "token.find", message: findToken{"tok_1"}, want: outcome{answer: tok1}},
		{name: "use a token", method: "token.use", message: findToken{"tok_1"}, want: outcome{answer: tokenSeat{tok1, svc.Membership{Organization: renamed, Role: svc.RoleAdmin}}}},
		{name: "use one that is on no list", method: "token.use", message: findToken{"tok_9"}, err: unknownToken()},
		{name: "a member's token is not adopted", method: "token.adopt", message: adoptToken{"tok_1", "usr_3"}, err: &svc.Error{
			Code: svc.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted.",
		}},
		{
			name: "who leaves, leaves tokens", method: "member.remove", message: removeMember{svc.RoleOwner, bob().Email},
			want: outcome{answer: seat(robert, svc.RoleAdmin, 10*time.Second), writes: []write{{"member", "usr_2", nil}, {"token", "tok_1", orphan}}},
		},
		{name: "which open nothing", method: "token.use", message: findToken{"tok_1"}, err: unknownToken()},
		{name: "an owner adopts one", method: "token.adopt", message: adoptToken{"tok_1", "usr_3"}, want: outcome{answer: adopted, writes: []write{{"token", "tok_1", adopted}}}},
		{name: "which opens again", method: "token.use", message: findToken{"tok_1"}, want: outcome{answer: tokenSeat{adopted, svc.Membership{Organization: renamed, Role: svc.RoleOwner}}}},
		{name: "its use is noted", after: time.Minute, method: "token.used", message: findToken{"tok_1"}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", usedAt(adopted, time.Minute)}}}},
		{name: "remove a token", method: "token.remove", message: findToken{"tok_1"}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", nil}}}},
		{name: "remove it twice", method: "token.remove", message: findToken{"tok_1"}, err: svc.NotFound("token")},
		{name: "find it no more", method: "token.find", message: findToken{"tok_1"}, err: svc.NotFound("token")},
		{name: "unknown method", method: "nonsense", message: none{}, err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	play(t, func() core { return &organization{} }, true, steps)
	for method := range organizationHandlers() {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.method == method && s.err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
}

// TestUnreadableEntities breaks one entity of every kind of every core: it must
// not be taken for absent.
func TestUnreadableEntities(t *testing.T) {
	cores := map[string]struct {
		newCore func() core
		kinds   []string
	}{
		kindOrganization: {func() core { return &organization{} }, []string{"organization", "member", "invitation", "app", "token"}},
		kindUser:         {func() core { return &user{} }, []string{"user", "offer", "token"}},
		kindToken:        {func() core { return &token{} }, []string{"token"}},
		kindApplication:  {func() core { return &application{} }, []string{"application", "key", "share"}},
		kindReplay:       {func() core { return &replay{} }, []string{"answer"}},
	}
	for name, test := range cores {
		for _, kind := range test.kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				err := test.newCore().restore([]svc.Entity{{Kind: kind, ID: "x", Payload: []byte(`{`)}})
				if want := "decoding " + kind + " x: unexpected end of JSON input"; err == nil || err.Error() != want {
					t.Errorf("restore fails with %v, want %s", err, want)
				}
			})
		}
	}
}
