package actors

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

func TestUserLife(t *testing.T) {
	noUser := svc.NotFound("user")
	nameless := svc.User{ID: "usr_1", Email: "ada@example.com"}
	named := svc.User{ID: "usr_1", Email: "ada@example.com", Name: "ada@example.com"}
	tok1, tok2 := testTokenRecord("tok_1", ada(), nil), testTokenRecord("tok_2", ada(), nil)
	phone := svc.Passkey{ID: "key_1", Name: "Phone", Party: "svc.example", Credential: []byte(`{"count":1}`)}
	used := phone
	used.Credential = []byte(`{"count":2}`)
	var steps []step
	for method := range userHandlers() {
		if !slices.Contains(strangers(), method) {
			steps = append(steps, step{name: "before it exists", method: method, message: none{}, err: noUser})
		}
	}
	offer := func(org, name string, ends time.Duration) noteOffer { return noteOffer{org, name, at(ends)} }
	steps = append(steps, []step{
		{name: "nobody enters uninvited", method: "enter", message: ensureUser{nameless}, err: noUser},
		{name: "nothing is offered", method: "offers", message: none{}, want: outcome{answer: []string{}}},
		{name: "an offer to a stranger", method: "offer.note", message: offer("b", "Ada", 10), want: outcome{answer: none{}, writes: []write{{"offer", "b", offer("b", "Ada", 10)}}}},
		{name: "another", method: "offer.note", message: offer("a", "", 20), want: outcome{answer: none{}, writes: []write{{"offer", "a", offer("a", "", 20)}}}},
		{name: "offers by slug", method: "offers", message: none{}, want: outcome{answer: []string{"a", "b"}}},
		{name: "one ends", after: 10, method: "offers", message: none{}, want: outcome{answer: []string{"a"}}},
		{name: "and is forgotten by the next", after: 10, method: "offer.note", message: offer("c", "", 30), want: outcome{answer: none{}, writes: []write{{"offer", "c", offer("c", "", 30)}, {"offer", "b", nil}}}},
		{name: "an answered one", method: "offer.forget", message: noteOffer{Org: "c"}, want: outcome{answer: none{}, writes: []write{{"offer", "c", nil}}}},
		{name: "answered twice", method: "offer.forget", message: noteOffer{Org: "c"}, want: outcome{answer: none{}}},
		{name: "none that is open lets in", after: 20, method: "enter", message: ensureUser{nameless}, err: noUser},
		{name: "nobody is known by that", method: "get", message: none{}, err: noUser},
		{name: "make without a name", method: "ensure", message: ensureUser{nameless}, want: outcome{answer: named, writes: []write{{"user", "usr_1", named}}}},
		{name: "is there", method: "ensure", message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com"}}, want: outcome{answer: named}},
		{
			name: "a known person is not renamed", method: "ensure", message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com", Name: "Ada"}},
			want: outcome{answer: named},
		},
		{name: "get", method: "get", message: none{}, want: outcome{answer: named}},
		{name: "enter", method: "enter", message: ensureUser{svc.User{ID: "usr_9", Email: "ada@example.com"}}, want: outcome{answer: named}},
		{name: "nowhere seated", method: "memberships", message: none{}, want: outcome{answer: []string(nil)}},
		{name: "join", method: "join", message: joinOrganization{"b"}, want: outcome{answer: none{}, writes: []write{{"membership", "b", none{}}}}},
		{name: "join twice", method: "join", message: joinOrganization{"b"}, want: outcome{answer: none{}}},
		{name: "join another", method: "join", message: joinOrganization{"a"}, want: outcome{answer: none{}, writes: []write{{"membership", "a", none{}}}}},
		{name: "seats by slug", method: "memberships", message: none{}, want: outcome{answer: []string{"a", "b"}}},
		{name: "leave", method: "leave", message: joinOrganization{"b"}, want: outcome{answer: none{}, writes: []write{{"membership", "b", nil}}}},
		{name: "leave twice", method: "leave", message: joinOrganization{"b"}, want: outcome{answer: none{}}},
		{name: "what is left", method: "memberships", message: none{}, want: outcome{answer: []string{"a"}}},
		{name: "add a token", method: "token.add", message: addToken{tok1}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", tok1}}}},
		{name: "add another", method: "token.add", message: addToken{tok2}, want: outcome{answer: none{}, writes: []write{{"token", "tok_2", tok2}}}},
		{name: "tokens, the newest first", method: "tokens", message: none{}, want: outcome{answer: []tokenRecord{tok2, tok1}}},
		{name: "find", method: "token.find", message: findToken{"tok_2"}, want: outcome{answer: tok2}},
		{name: "its use is noted to the minute", after: 90 * time.Second, method: "token.used", message: findToken{"tok_2"}, want: outcome{answer: none{}, writes: []write{{"token", "tok_2", usedAt(tok2, time.Minute)}}}},
		{name: "seldom", after: 10 * time.Minute, method: "token.used", message: findToken{"tok_2"}, want: outcome{answer: none{}}},
		{name: "and again", after: 11 * time.Minute, method: "token.used", message: findToken{"tok_2"}, want: outcome{answer: none{}, writes: []write{{"token", "tok_2", usedAt(tok2, 11*time.Minute)}}}},
		{name: "that of an unknown one is not", method: "token.used", message: findToken{"tok_9"}, err: svc.NotFound("token")},
		{name: "remove", method: "token.remove", message: findToken{"tok_2"}, want: outcome{answer: none{}, writes: []write{{"token", "tok_2", nil}}}},
		{name: "remove twice", method: "token.remove", message: findToken{"tok_2"}, err: svc.NotFound("token")},
		{name: "find no more", method: "token.find", message: findToken{"tok_2"}, err: svc.NotFound("token")},
		{name: "no passkeys", method: "passkeys", message: none{}, want: outcome{answer: []svc.Passkey{}}},
		{name: "use an unknown passkey", method: "passkey.put", message: putPasskey{phone, true}, err: svc.NotFound("passkey")},
		{name: "add a passkey", method: "passkey.put", message: putPasskey{phone, false}, want: outcome{answer: phone, writes: []write{{"passkey", "key_1", phone}}}},
		{name: "use it", method: "passkey.put", message: putPasskey{used, true}, want: outcome{answer: used, writes: []write{{"passkey", "key_1", used}}}},
		{name: "passkeys", method: "passkeys", message: none{}, want: outcome{answer: []svc.Passkey{used}}},
		{name: "remove a passkey", method: "passkey.remove", message: namePasskey{"key_1"}, want: outcome{answer: none{}, writes: []write{{"passkey", "key_1", nil}}}},
		{name: "remove it twice", method: "passkey.remove", message: namePasskey{"key_1"}, err: svc.NotFound("passkey")},
		{name: "unknown method", method: "nonsense", message: none{}, err: fmt.Errorf(`unknown method "nonsense"`)},
	}...)
	play(t, func() core { return &user{} }, true, steps)
	for method := range userHandlers() {
		stored := !strings.HasPrefix(method, "ceremony.")
		if stored && !slices.ContainsFunc(steps, func(s step) bool { return s.method == method && s.err == nil }) {
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
	used := at(after)
	record.LastUsedAt = &used
	return record
}
