package identity

import (
	"fmt"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// testSession returns a session that begins some time after the life of a core.
func testSession(id, passkey string, after time.Duration) sessionRecord {
	begins := actorstest.At(after)
	return sessionRecord{signin.ConsoleSession{
		ID: id, By: signin.SessionOfPasskey, Passkey: passkey, CreatedAt: begins, LastUsedAt: begins, ExpiresAt: begins.Add(signin.SessionTime),
	}, "hash of " + id}
}

// TestWhoOwnsAnAddress lets strangers, the operator and the owner of a mailbox use one address, in every order.
func TestWhoOwnsAnAddress(t *testing.T) {
	guest := domain.User{ID: "usr_1", Email: "ceo@acme.example", Name: "Guest"}
	other := domain.User{ID: "usr_2", Email: "ceo@acme.example", Name: "Other"}
	theirs, owners := conversation.Passkey{ID: "key_1", Credential: []byte(`{}`)}, conversation.Passkey{ID: "key_2", Credential: []byte(`{}`)}
	session, second, token := testSession("tok_1", "key_1", 0), testSession("tok_2", "", 1), testTokenRecord("tok_3", guest, nil)
	put := func(person domain.User, proof signin.Proof) grain.Write {
		return grain.Put("user", person.ID, userRecord{person, proof})
	}
	// The stranger registers by a link that the inviter could read, and mints a token.
	stranger := []actorstest.Step{
		{Name: "a stranger registers", Method: "register", Message: registerPerson{guest, theirs, false}, Want: grain.Answer[any](entered{User: guest}, put(guest, ""), grain.Put("passkey", "key_1", theirs))},
		{Name: "signs in", Method: "session.add", Message: addSession{session}, Want: grain.Answer[any](entered{User: guest}, grain.Put("session", "tok_1", session))},
		{Name: "signs in again", Method: "session.add", Message: addSession{second}, Want: grain.Answer[any](entered{User: guest}, grain.Put("session", "tok_2", second))},
		{Name: "mints", Method: "token.add", Message: addToken{token, "tok_1"}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_3", token))},
		{Name: "no link that the inviter could read registers again", Method: "register", Message: registerPerson{other, owners, false}, Err: signInFirst()},
	}
	hashes := []string{"hash of tok_1", "hash of tok_2", token.Hash}
	dropped := func(proof signin.Proof) []grain.Write {
		return []grain.Write{
			grain.Delete("passkey", "key_1"), grain.Delete("token", "tok_3"), grain.Put("ending", token.Hash, grain.None{}),
			grain.Delete("session", "tok_1"), grain.Put("ending", "hash of tok_1", grain.None{}),
			grain.Delete("session", "tok_2"), grain.Put("ending", "hash of tok_2", grain.None{}), put(guest, proof),
		}
	}
	over := []actorstest.Step{
		{Name: "the stranger's session adds no passkey", Method: "passkey.put", Message: putPasskey{theirs, false, "tok_1"}, Err: conversation.PasskeyRequired("session_over", "The session has ended. Sign in again.")},
		{Name: "and no token", Method: "token.add", Message: addToken{token, "tok_1"}, Err: domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")},
		{Name: "the stranger's passkey opens no session", Method: "session.add", Message: addSession{session}, Err: domain.NotFound("passkey")},
	}
	revoking := actorstest.Step{Name: "revoked", Method: "revoked", Message: revoked{hashes}, Want: grain.Answer[any](grain.None{}, grain.Delete("ending", hashes[0]), grain.Delete("ending", hashes[1]), grain.Delete("ending", hashes[2]))}
	for name, steps := range map[string][]actorstest.Step{
		"A3: a stranger registers, the operator names the address": append(append(stranger,
			actorstest.Step{Name: "the operator", Method: "vouch", Message: vouchFor{other, true}, Want: grain.Answer[any](entered{guest, hashes}, dropped(signin.ProofOperator)...)},
			actorstest.Step{Name: "what was not revoked stays on the list", Method: "vouch", Message: vouchFor{other, false}, Want: grain.Answer[any](entered{guest, hashes})},
			revoking,
			actorstest.Step{Name: "once", Method: "vouch", Message: vouchFor{other, true}, Want: grain.Answer[any](entered{User: guest})},
			actorstest.Step{Name: "a mailed link does not register", Method: "register", Message: registerPerson{other, owners, true}, Err: signInFirst()},
		), over...),
		"A3: a stranger registers, the owner opens a mailed link": append(append(stranger,
			actorstest.Step{Name: "the owner", Method: "register", Message: registerPerson{other, owners, true}, Want: grain.Answer[any](entered{guest, hashes}, append(dropped(signin.ProofMail), grain.Put("passkey", "key_2", owners))...)},
			revoking,
			actorstest.Step{Name: "the operator changes nothing", Method: "vouch", Message: vouchFor{other, true}, Want: grain.Answer[any](entered{User: guest})},
		), over...),
		"A3: the person of a session opens a mailed link": append(append([]actorstest.Step{}, stranger...),
			actorstest.Step{Name: "the session and its passkey stay", Method: "prove", Message: proveAddress{"tok_1"}, Want: grain.Answer[any](entered{guest, []string{"hash of tok_2", token.Hash}},
				grain.Delete("token", "tok_3"), grain.Put("ending", token.Hash, grain.None{}), grain.Delete("session", "tok_2"), grain.Put("ending", "hash of tok_2", grain.None{}), put(guest, signin.ProofMail))},
			actorstest.Step{Name: "sessions", Method: "sessions", Message: grain.None{}, Want: grain.Answer[any]([]signin.ConsoleSession{session.ConsoleSession})},
			actorstest.Step{Name: "passkeys", Method: "passkeys", Message: grain.None{}, Want: grain.Answer[any]([]conversation.Passkey{theirs})},
		),
		"A3: the operator names the address, a stranger comes": {
			{Name: "the operator", Method: "vouch", Message: vouchFor{other, true}, Want: grain.Answer[any](entered{User: other}, put(other, signin.ProofOperator))},
			{Name: "the stranger", Method: "register", Message: registerPerson{guest, theirs, false}, Err: signInFirst()},
			{Name: "the account", Method: "account", Message: grain.None{}, Want: grain.Answer[any](account{true, signin.ProofOperator})},
		},
		"nobody has come": {
			{Name: "the account", Method: "account", Message: grain.None{}, Want: grain.Answer[any](account{})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			actorstest.Play(t, userKind, func() *user { return &user{} }, true, steps)
		})
	}
}

// TestAPersonHasAHundredSessions opens one session more than the limit, and lets all sessions expire.
func TestAPersonHasAHundredSessions(t *testing.T) {
	u := &user{}
	if err := u.Restore(nil); err != nil {
		t.Fatal(err)
	}
	u.prove(domain.User{ID: "usr_1", Email: "ada@example.com"}, signin.ProofOperator)
	open := func(n int) []string {
		t.Helper()
		session := testSession(string(rune('A'+n/26))+string(rune('a'+n%26)), "", time.Duration(n)*time.Second)
		outcome, err := u.onAddSession(session.CreatedAt, addSession{session})
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Answer.Ending
	}
	for n := range signin.MaxSessions {
		if ending := open(n); ending != nil {
			t.Fatalf("session %d ends %v", n, ending)
		}
	}
	if ending := open(signin.MaxSessions); len(ending) != 1 || ending[0] != "hash of Aa" || len(u.sessions) != signin.MaxSessions {
		t.Errorf("one more: %v, %d sessions", ending, len(u.sessions))
	}
	late := testSession("late", "", signin.SessionTime+time.Hour)
	if _, err := u.onAddSession(late.CreatedAt, addSession{late}); err != nil || len(u.sessions) != 1 {
		t.Errorf("after all have expired: %v, %d sessions", err, len(u.sessions))
	}
}

// signed is a sign-in some seconds after the life of a core began.
func signed(n, seconds int, failure string) signin.SignIn {
	return signin.SignIn{ID: fmt.Sprintf("sgn_%d", n), At: actorstest.At(time.Duration(seconds) * time.Second), Method: signin.SignInPasskey, Failure: failure}
}

// TestTheLogOfSignInsIsBounded notes one sign-in more than the limit.
func TestTheLogOfSignInsIsBounded(t *testing.T) {
	u := &user{}
	for n := range signin.MaxSignIns + 1 {
		if _, err := u.onNoteSignIn(time.Time{}, signed(n, 120*n, "refused")); err != nil {
			t.Fatal(err)
		}
	}
	if len(u.signIns) != signin.MaxSignIns || u.signIns[0].ID != "sgn_50" || u.signIns[signin.MaxSignIns-1].ID != "sgn_1" {
		t.Errorf("%d rows, from %s to %s", len(u.signIns), u.signIns[0].ID, u.signIns[len(u.signIns)-1].ID)
	}
}
