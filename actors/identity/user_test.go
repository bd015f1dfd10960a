package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
)

func TestUserLife(t *testing.T) {
	noUser := svc.NotFound("user")
	nameless := svc.User{ID: "usr_1", Email: "ada@example.com"}
	named := svc.User{ID: "usr_1", Email: "ada@example.com", Name: "ada@example.com"}
	tok1, tok2 := testTokenRecord("tok_1", actorstest.Ada(), nil), testTokenRecord("tok_2", actorstest.Ada(), nil)
	phone := svc.Passkey{ID: "key_1", Name: "Phone", Party: "svc.example", Credential: []byte(`{"count":1}`)}
	used := phone
	used.Credential = []byte(`{"count":2}`)
	var steps []actorstest.Step
	for _, method := range userKind.Methods() {
		if !slices.Contains(strangers(), method) {
			steps = append(steps, actorstest.Step{Name: "before it exists", Method: method, Message: grain.None{}, Err: noUser})
		}
	}
	offer := func(org, name string, ends time.Duration) noteOffer { return noteOffer{org, name, actorstest.At(ends)} }
	steps = append(steps, []actorstest.Step{
		{Name: "nobody enters uninvited", Method: "enter", Message: ensureUser{nameless}, Err: noUser},
		{Name: "nothing is offered", Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{})},
		{Name: "an offer to a stranger", Method: "offer.note", Message: offer("b", "Ada", 10), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "b", offer("b", "Ada", 10)))},
		{Name: "another", Method: "offer.note", Message: offer("a", "", 20), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "a", offer("a", "", 20)))},
		{Name: "offers by slug", Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{"a", "b"})},
		{Name: "one ends", After: 10, Method: "offers", Message: grain.None{}, Want: grain.Answer[any]([]string{"a"})},
		{Name: "and is forgotten by the next", After: 10, Method: "offer.note", Message: offer("c", "", 30), Want: grain.Answer[any](grain.None{}, grain.Put("offer", "c", offer("c", "", 30)), grain.Delete("offer", "b"))},
		{Name: "an answered one", Method: "offer.forget", Message: noteOffer{Org: "c"}, Want: grain.Answer[any](grain.None{}, grain.Delete("offer", "c"))},
		{Name: "answered twice", Method: "offer.forget", Message: noteOffer{Org: "c"}, Want: grain.Answer[any](grain.None{})},
		{Name: "none that is open lets in", After: 20, Method: "enter", Message: ensureUser{nameless}, Err: noUser},
		{Name: "nobody is known by that", Method: "get", Message: grain.None{}, Err: noUser},
		{Name: "make without a name", Method: "ensure", Message: ensureUser{nameless}, Want: grain.Answer[any](named, grain.Put("user", "usr_1", named))},
		{Name: "is there", Method: "ensure", Message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com"}}, Want: grain.Answer[any](named)},
		{
			Name: "a known person is not renamed", Method: "ensure", Message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com", Name: "Ada"}},
			Want: grain.Answer[any](named),
		},
		{Name: "get", Method: "get", Message: grain.None{}, Want: grain.Answer[any](named)},
		{Name: "enter", Method: "enter", Message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com"}}, Want: grain.Answer[any](named)},
		{Name: "nowhere seated", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string(nil))},
		{Name: "join", Method: "join", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{}, grain.Put("membership", "b", grain.None{}))},
		{Name: "join twice", Method: "join", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{})},
		{Name: "join another", Method: "join", Message: joinOrganization{"a"}, Want: grain.Answer[any](grain.None{}, grain.Put("membership", "a", grain.None{}))},
		{Name: "seats by slug", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string{"a", "b"})},
		{Name: "leave", Method: "leave", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{}, grain.Delete("membership", "b"))},
		{Name: "leave twice", Method: "leave", Message: joinOrganization{"b"}, Want: grain.Answer[any](grain.None{})},
		{Name: "what is left", Method: "memberships", Message: grain.None{}, Want: grain.Answer[any]([]string{"a"})},
		{Name: "add a token", Method: "token.add", Message: addToken{tok1}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", tok1))},
		{Name: "add another", Method: "token.add", Message: addToken{tok2}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", tok2))},
		{Name: "tokens, the newest first", Method: "tokens", Message: grain.None{}, Want: grain.Answer[any]([]tokenRecord{tok2, tok1})},
		{Name: "find", Method: "token.find", Message: findToken{"tok_2"}, Want: grain.Answer[any](tok2)},
		{Name: "its use is noted to the minute", After: 90 * time.Second, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", usedAt(tok2, time.Minute)))},
		{Name: "seldom", After: 10 * time.Minute, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{})},
		{Name: "and again", After: 11 * time.Minute, Method: "token.used", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_2", usedAt(tok2, 11*time.Minute)))},
		{Name: "that of an unknown one is not", Method: "token.used", Message: findToken{"tok_9"}, Err: svc.NotFound("token")},
		{Name: "remove", Method: "token.remove", Message: findToken{"tok_2"}, Want: grain.Answer[any](grain.None{}, grain.Delete("token", "tok_2"))},
		{Name: "remove twice", Method: "token.remove", Message: findToken{"tok_2"}, Err: svc.NotFound("token")},
		{Name: "find no more", Method: "token.find", Message: findToken{"tok_2"}, Err: svc.NotFound("token")},
		{Name: "no passkeys", Method: "passkeys", Message: grain.None{}, Want: grain.Answer[any]([]svc.Passkey{})},
		{Name: "use an unknown passkey", Method: "passkey.put", Message: putPasskey{phone, true}, Err: svc.NotFound("passkey")},
		{Name: "add a passkey", Method: "passkey.put", Message: putPasskey{phone, false}, Want: grain.Answer[any](phone, grain.Put("passkey", "key_1", phone))},
		{Name: "use it", Method: "passkey.put", Message: putPasskey{used, true}, Want: grain.Answer[any](used, grain.Put("passkey", "key_1", used))},
		{Name: "passkeys", Method: "passkeys", Message: grain.None{}, Want: grain.Answer[any]([]svc.Passkey{used})},
		{Name: "remove a passkey", Method: "passkey.remove", Message: namePasskey{"key_1"}, Want: grain.Answer[any](grain.None{}, grain.Delete("passkey", "key_1"))},
		{Name: "remove it twice", Method: "passkey.remove", Message: namePasskey{"key_1"}, Err: svc.NotFound("passkey")},
		{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	actorstest.Play(t, userKind, func() *user { return &user{} }, true, steps)
	for _, method := range userKind.Methods() {
		stored := !strings.HasPrefix(method, "ceremony.")
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

// usedAt returns a record that was used at a time of a core's life.
func usedAt(record tokenRecord, after time.Duration) tokenRecord {
	used := actorstest.At(after)
	record.LastUsedAt = &used
	return record
}
