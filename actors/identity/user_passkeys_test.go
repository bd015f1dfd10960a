package identity

import (
	"fmt"
	"testing"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// TestCeremoniesAreTakenOnce answers ceremonies, and drops them by time and by number.
func TestCeremoniesAreTakenOnce(t *testing.T) {
	person := domain.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"}
	asked := func(n int) conversation.Ceremony {
		return conversation.Ceremony{ID: fmt.Sprintf("cer_%d", n), Purpose: "approve", Session: []byte(`{}`), EndsAt: actorstest.At(conversation.CeremonyTime)}
	}
	over := conversation.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	steps := []actorstest.Step{
		{Name: "make", Method: "vouch", Message: vouchFor{person, true}, Want: grain.Answer[any](entered{User: person}, grain.Put("user", "usr_1", userRecord{person, signin.ProofOperator}))},
		{Name: "none is open", Method: "ceremony.take", Message: namePasskey{"cer_0"}, Err: over},
		{Name: "open", Method: "ceremony.open", Message: openCeremony{asked(0)}, Want: grain.Answer[any](grain.None{})},
		{Name: "another one", Method: "ceremony.take", Message: namePasskey{"cer_1"}, Err: over},
		{Name: "take", Method: "ceremony.take", Message: namePasskey{"cer_0"}, After: conversation.CeremonyTime - 1, Want: grain.Answer[any](asked(0))},
		{Name: "take twice", Method: "ceremony.take", Message: namePasskey{"cer_0"}, Err: over},
	}
	for n := range openCeremonies + 1 {
		steps = append(steps, actorstest.Step{Name: "open many", Method: "ceremony.open", Message: openCeremony{asked(n)}, Want: grain.Answer[any](grain.None{})})
	}
	actorstest.Play(t, userKind, func() *user { return &user{} }, false, append(steps, []actorstest.Step{
		{Name: "the oldest gave way", Method: "ceremony.take", Message: namePasskey{"cer_0"}, Err: over},
		{Name: "the next did not", Method: "ceremony.take", Message: namePasskey{"cer_1"}, Want: grain.Answer[any](asked(1))},
		{Name: "too late", Method: "ceremony.take", Message: namePasskey{"cer_2"}, After: conversation.CeremonyTime, Err: over},
	}...))
}

// TestAPersonHasTenPasskeys adds one more than the limit.
func TestAPersonHasTenPasskeys(t *testing.T) {
	person := domain.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"}
	steps := []actorstest.Step{{Name: "make", Method: "vouch", Message: vouchFor{person, true}, Want: grain.Answer[any](entered{User: person}, grain.Put("user", "usr_1", userRecord{person, signin.ProofOperator}))}}
	open := testSession("tok_s", "", 0)
	steps = append(steps, actorstest.Step{Name: "sign in", Method: "session.add", Message: addSession{open}, Want: grain.Answer[any](entered{User: person}, grain.Put("session", "tok_s", open))})
	for n := range conversation.MaxPasskeys {
		key := conversation.Passkey{ID: fmt.Sprintf("key_%02d", n), Credential: []byte(`{}`)}
		steps = append(steps, actorstest.Step{Name: "add", Method: "passkey.put", Message: putPasskey{key, false, "tok_s"}, Want: grain.Answer[any](key, grain.Put("passkey", key.ID, key))})
	}
	many := domain.Errorf(domain.CodeConflict, "A person has at most %d passkeys; remove one first.", conversation.MaxPasskeys)
	actorstest.Play(t, userKind, func() *user { return &user{} }, true, append(steps, actorstest.Step{Name: "one more", Method: "passkey.put", Message: putPasskey{conversation.Passkey{ID: "key_10", Credential: []byte(`{}`)}, false, "tok_s"}, Err: many}))
}
