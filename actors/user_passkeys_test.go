package actors

import (
	"fmt"
	"testing"

	"svc"
)

// TestCeremoniesAreTakenOnce has ceremonies answered, forgotten and crowded out.
func TestCeremoniesAreTakenOnce(t *testing.T) {
	person := svc.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"}
	asked := func(n int) svc.Ceremony {
		return svc.Ceremony{ID: fmt.Sprintf("cer_%d", n), Purpose: "approve", Session: []byte(`{}`), EndsAt: at(svc.CeremonyTime)}
	}
	over := svc.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	steps := []step{
		{name: "make", method: "ensure", message: ensureUser{person}, want: outcome{answer: person, writes: []write{{"user", "usr_1", person}}}},
		{name: "none is open", method: "ceremony.take", message: namePasskey{"cer_0"}, err: over},
		{name: "open", method: "ceremony.open", message: openCeremony{asked(0)}, want: outcome{answer: none{}}},
		{name: "another one", method: "ceremony.take", message: namePasskey{"cer_1"}, err: over},
		{name: "take", method: "ceremony.take", message: namePasskey{"cer_0"}, after: svc.CeremonyTime - 1, want: outcome{answer: asked(0)}},
		{name: "take twice", method: "ceremony.take", message: namePasskey{"cer_0"}, err: over},
	}
	for n := range openCeremonies + 1 {
		steps = append(steps, step{name: "open many", method: "ceremony.open", message: openCeremony{asked(n)}, want: outcome{answer: none{}}})
	}
	play(t, func() core { return &user{} }, false, append(steps, []step{
		{name: "the oldest gave way", method: "ceremony.take", message: namePasskey{"cer_0"}, err: over},
		{name: "the next did not", method: "ceremony.take", message: namePasskey{"cer_1"}, want: outcome{answer: asked(1)}},
		{name: "too late", method: "ceremony.take", message: namePasskey{"cer_2"}, after: svc.CeremonyTime, err: over},
	}...))
}

// TestAPersonHasTenPasskeys adds one more than there may be.
func TestAPersonHasTenPasskeys(t *testing.T) {
	person := svc.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"}
	steps := []step{{name: "make", method: "ensure", message: ensureUser{person}, want: outcome{answer: person, writes: []write{{"user", "usr_1", person}}}}}
	for n := range svc.MaxPasskeys {
		key := svc.Passkey{ID: fmt.Sprintf("key_%02d", n), Credential: []byte(`{}`)}
		steps = append(steps, step{name: "add", method: "passkey.put", message: putPasskey{key, false}, want: outcome{answer: key, writes: []write{{"passkey", key.ID, key}}}})
	}
	many := svc.Errorf(svc.CodeConflict, "A person has at most %d passkeys; remove one first.", svc.MaxPasskeys)
	play(t, func() core { return &user{} }, true, append(steps, step{name: "one more", method: "passkey.put", message: putPasskey{svc.Passkey{ID: "key_10", Credential: []byte(`{}`)}, false}, err: many}))
}
