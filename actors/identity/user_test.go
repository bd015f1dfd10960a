package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

func TestUserLife(t *testing.T) {
	noUser := domain.NotFound("user")
	nameless := domain.User{ID: "usr_1", Email: "ada@example.com"}
	named := domain.User{ID: "usr_1", Email: "ada@example.com", Name: "ada@example.com"}
	tok1, tok2 := testTokenRecord("tok_1", actorstest.Ada(), nil), testTokenRecord("tok_2", actorstest.Ada(), nil)
	phone := conversation.Passkey{ID: "key_1", Name: "Phone", Party: "svc.example", Credential: []byte(`{"count":1}`)}
	used := phone
	used.Credential = []byte(`{"count":2}`)
	first, second := testSession("tok_s1", "", 0), testSession("tok_s2", "key_1", time.Second)
	var steps []actorstest.Step
	for _, method := range userKind.Methods() {
		if !slices.Contains(strangers(), method) {
			steps = append(steps, actorstest.Step{Name: "before it exists", Method: method, Message: grain.None{}, Err: noUser})
		}
	}
	offer := func(org, name string, ends time.Duration) noteOffer { return noteOffer{org, name, actorstest.At(ends)} }
	steps = append(steps, []actorstest.Step{
		{Name: "nobody enters uninvited", Method: "vouch", Message: vouchFor{nameless, false}, Err: noUser},
		{Name: "nothing is offered", Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{})},
		{Name: "an offer to a stranger", Method: "offer.note", Message: offer("b", "Ada", 10), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "b", offer("b", "Ada", 10)))},
		{Name: "another", Method: "offer.note", Message: offer("a", "", 20), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "a", offer("a", "", 20)))},
		{Name: "offers by slug", Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{"a", "b"})},
		{Name: "one ends", After: 10, Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{"a"})},
		{Name: "and is forgotten by the next", After: 10, Method: "offer.note", Message: offer("c", "", 30), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "c", offer("c", "", 30)), grain.Delete("offer", "b"))},
		{Name: "an answered one", Method: "offer.forget", Message: noteOffer{Org: "c"}, Want: grain.Answer[any](grain.None{}, grain.Delete("offer", "c"))},
		{Name: "answered twice", Method: "offer.forget", Message: noteOffer{Org: "c"}, Want: grain.Answer[any](grain.None{})},
		{Name: "none that is open lets in", After: 20, Method: "vouch", Message: vouchFor{nameless, false}, Err: noUser},
		{Name: "nobody is known by that", Method: "get", Message: grain.None{}, Err: noUser},
		{Name: "make without a name", Method: "vouch", Message: vouchFor{nameless, true}, Want: grain.Answer[any](entered{User: named}, grain.Put("user", "usr_1", userRecord{named, signin.ProofOperator}))},
		{Name: "is there", Method: "vouch", Message: vouchFor{domain.User{ID: "usr_9", Email: "ada@example.com"}, true}, Want: grain.Answer[any](entered{User: named})},
		{
			Name: "a known person is not renamed", Method: "vouch", Message: vouchFor{domain.User{ID: "usr_9", Email: "ada@example.com", Name: "Ada"}, true},
			Want: grain.Answer[any](entered{User: named}),
		},
		{Name: "get", Method: "get", Message: grain.None{}, Want: grain.Answer[any](named)},
		{Name: "enter", Method: "vouch", Message: vouchFor{domain.User{ID: "usr_9", Email: "ada@example.com"}, false}, Want: grain.Answer[any](entered{User: named})},
		{Name: "nowhere seated", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string(nil))},
		{Name: "join", Method: "join", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{}, grain.Put("membership", "b", grain.None{}))},
		{Name: "join twice", Method: "join", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{})},
		{Name: "join another", Method: "join", Message: joinOrganization{"a"}, Want: grain.Answer[any](grain.None{}, grain.Put("membership", "a", grain.None{}))},
		{Name: "seats by slug", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string{"a", "b"})},
		{Name: "leave", Method: "leave", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{}, grain.Delete("membership", "b"))},
		{Name: "leave twice", Method: "leave", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{})},
		{Name: "what is left", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string{"a"})},
		{Name: "add a token", Method: "token.add", Message: addToken{Token: tok1}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", tok1))},
		{Name: "add another", Method: "token.add", Message: addToken{Token: tok2}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", tok2))},
		{Name: "tokens, the newest first", Method: "tokens", Message: grain.None{}, Want: grain.Answer[any]([]tokenRecord{tok2, tok1})},
		{Name: "find", Method: "token.find", Message: findToken{"tok_2"}, Want: grain.Answer[any](tok2)},
		{Name: "its use is noted to the minute", After: 90 * time.Second, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", usedAt(tok2, time.Minute)))},
		{Name: "seldom", After: 10 * time.Minute, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{})},
		{Name: "and again", After: 11 * time.Minute, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", usedAt(tok2, 11*time.Minute)))},
		{Name: "that of an unknown one is not", Method: "token.used", Message: findToken{"tok_9"}, Err: domain.NotFound("token")},
		{Name: "remove", Method: "token.remove", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Delete("token", "tok_2"))},
		{Name: "remove twice", Method: "token.remove", Message: findToken{"tok_2"}, Err: domain.NotFound("token")},
		{Name: "find no more", Method: "token.find", Message: findToken{"tok_2"}, Err: domain.NotFound("token")},
		{Name: "no passkeys", Method: "passkeys", Message: grain.None{}, Want: grain.Answer[any]([]conversation.Passkey{})},
		{Name: "use an unknown passkey", Method: "passkey.put", Message: putPasskey{phone, true, ""}, Err: domain.NotFound("passkey")},
		{Name: "sign in", Method: "session.add", Message: addSession{first}, Want: grain.Answer[any](entered{User: named}, grain.Put("session", "tok_s1", first))},
		{Name: "add a passkey without a session", Method: "passkey.put", Message: putPasskey{phone, false, ""}, Err: conversation.PasskeyRequired("session_over", "The session has ended. Sign in again.")},
		{Name: "add a passkey", Method: "passkey.put", Message: putPasskey{phone, false, "tok_s1"}, Want: grain.Answer[any](phone, grain.Put("passkey", "key_1", phone))},
		{Name: "use it", Method: "passkey.put", Message: putPasskey{used, true, ""}, Want: grain.Answer[any](used, grain.Put("passkey", "key_1", used))},
		{Name: "passkeys", Method: "passkeys", Message: grain.None{}, Want: grain.Answer[any]([]conversation.Passkey{used})},
		{Name: "sign in by it", Method: "session.add", Message: addSession{second}, Want: grain.Answer[any](entered{User: named}, grain.Put("session", "tok_s2", second))},
		{Name: "sessions", Method: "sessions", Message: grain.None{}, Want: grain.Answer[any]([]signin.ConsoleSession{second.ConsoleSession, first.ConsoleSession})},
		{Name: "a session is used", After: time.Minute, Method: "session.used", Message: findToken{"tok_s1"}, Want: grain.Answer[any](grain.None{})},
		{Name: "an unknown one is not", Method: "session.used", Message: findToken{"tok_s9"}, Err: domain.NotFound("session")},
		{Name: "remove a passkey with its session", Method: "passkey.remove", Message: namePasskey{"key_1"}, Want: grain.Answer[any](entered{named, []string{"hash of tok_s2"}}, grain.Delete("passkey", "key_1"), grain.Delete("session", "tok_s2"), grain.Put("ending", "hash of tok_s2", grain.None{}))},
		{Name: "remove it twice", Method: "passkey.remove", Message: namePasskey{"key_1"}, Err: domain.NotFound("passkey")},
		{Name: "sign in by a removed passkey", Method: "session.add", Message: addSession{second}, Err: domain.NotFound("passkey")},
		{Name: "its session is revoked", Method: "revoked", Message: revoked{[]string{"hash of tok_s2", "another"}}, Want: grain.Answer[any](grain.None{}, grain.Delete("ending", "hash of tok_s2"))},
		{Name: "end the other sessions", Method: "session.end_others", Message: findToken{"tok_s1"}, Want: grain.Answer[any](entered{User: named})},
		{Name: "end a session", Method: "session.end", Message: findToken{"tok_s1"}, Want: grain.Answer[any](entered{named, []string{"hash of tok_s1"}}, grain.Delete("session", "tok_s1"), grain.Put("ending", "hash of tok_s1", grain.None{}))},
		{Name: "end it twice", Method: "session.end", Message: findToken{"tok_s1"}, Err: domain.NotFound("session")},
		{Name: "a token of an ended session", Method: "token.add", Message: addToken{Token: tok1, Session: "tok_s1"}, Err: domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")},
		{Name: "a sign-in", Method: "signin.note", Message: signed(1, 0, ""), Want: grain.Answer[any](grain.None{}, grain.Put("signins", "log", signInLog{[]signin.SignIn{signed(1, 0, "")}}))},
		{Name: "noted twice", Method: "signin.note", Message: signed(1, 0, ""), Want: grain.Answer[any](grain.None{})},
		{Name: "one that failed", Method: "signin.note", Message: signed(2, 1, "refused"), Want: grain.Answer[any](grain.None{}, grain.Put("signins", "log", signInLog{[]signin.SignIn{signed(2, 1, "refused"), signed(1, 0, "")}}))},
		{Name: "and failed again within a minute", Method: "signin.note", Message: signed(3, 60, "refused"), Want: grain.Answer[any](grain.None{})},
		{Name: "sign-ins", Method: "signins", Message: grain.None{}, Want: grain.Answer[any]([]signin.SignIn{signed(2, 1, "refused"), signed(1, 0, "")})},
		{Name: "the account", Method: "account", Message: grain.None{}, Want: grain.Answer[any](account{true, signin.ProofOperator})},
		{Name: "what is proved needs no other proof", Method: "prove", Message: proveAddress{"tok_s1"}, Want: grain.Answer[any](entered{named, []string{"hash of tok_s1"}})},
		{Name: "a known person does not register", Method: "register", Message: registerPerson{nameless, phone, true}, Err: signInFirst()},
		{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	actorstest.Play(t, userKind, func() *user { return &user{} }, true, steps)
	for _, method := range userKind.Methods() {
		stored := !strings.HasPrefix(method, "ceremony.") && method != "register" // TestWhoOwnsAnAddress registers
		if stored && !slices.ContainsFunc(steps, func(s actorstest.Step) bool { return s.Method == method && s.Err == nil }) {
			t.Errorf("no step has %s succeed", method)
		}
	}
}

func TestAPersonHasOneIdentity(t *testing.T) {
	if a, b := userIdentity("Ada@Example.com "), userIdentity("ada@example.com"); a != b {
		t.Errorf("two identities of one person: %s, %s", a, b)
	}
	if a, b := userIdentity("ada@example.com"), userIdentity("bob@example.com"); a == b || len(a) != 64 {
		t.Errorf("identities of two people: %s, %s", a, b)
	}
}

// usedAt returns a record that was used some time after the life of a core began.
func usedAt(record tokenRecord, after time.Duration) tokenRecord {
	used := actorstest.At(after)
	record.LastUsedAt = &used
	return record
}
