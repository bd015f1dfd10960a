package passkey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/passkey"
	"svc/http/passkey/passkeytest"
)

const origin = "https://svc.example:8443"

func ada() domain.User { return domain.User{ID: "usr_ada", Email: "ada@acme.example", Name: "Ada"} }

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func party(t *testing.T) *passkey.Party {
	t.Helper()
	p, err := passkey.NewParty(origin)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func candidate() *passkey.Candidate {
	return &passkey.Candidate{Person: ada(), Handle: []byte("a sealed address"), Purpose: conversation.RegistrationPurpose}
}

// registered is a person's key at an authenticator.
func registered(t *testing.T, p *passkey.Party) (*passkeytest.Authenticator, conversation.Passkey) {
	t.Helper()
	device := passkeytest.New(t, origin, "svc.example")
	options, state, err := p.Register("cer_1", candidate(), noon())
	if err != nil {
		t.Fatal(err)
	}
	key, err := p.Registered(ada(), &state, conversation.RegistrationPurpose, device.Create(options), noon())
	if err != nil {
		t.Fatal(err)
	}
	key.ID = "key_1"
	return device, key
}

func reasonOf(err error) string {
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		return strings.TrimSpace(string(refused.Code) + " " + refused.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestWhatAConfirmationMustBe(t *testing.T) {
	const purpose = "approve act_1 0123"
	for _, c := range []struct {
		name    string
		spoil   func(device *passkeytest.Authenticator, state *conversation.Ceremony)
		purpose string
		late    time.Duration
		want    string
	}{
		{name: "what it is"},
		{name: "just in time", late: conversation.CeremonyTime - time.Millisecond},
		{name: "too late", late: conversation.CeremonyTime, want: "passkey_required challenge_over"},
		{name: "another action", purpose: "approve act_2 0123", want: "passkey_required other_purpose"},
		{name: "an action that has changed", purpose: "approve act_1 4567", want: "passkey_required other_purpose"},
		{name: "a state that was made for another purpose", spoil: func(_ *passkeytest.Authenticator, s *conversation.Ceremony) { s.Nonce = []byte("x") }, want: "passkey_required other_purpose"},
		{name: "another page", spoil: func(d *passkeytest.Authenticator, _ *conversation.Ceremony) {
			d.Origin = "https://svc.example.evil.example"
		}, want: "passkey_required passkey_refused"},
		{name: "another port", spoil: func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Origin = "https://svc.example" }, want: "passkey_required passkey_refused"},
		{name: "another name", spoil: func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Party = "evil.example" }, want: "passkey_required passkey_refused"},
		{name: "nobody verified", spoil: func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Verified = false }, want: "passkey_required passkey_refused"},
		{name: "a copy of the key", spoil: func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Counter = 0 }, want: "passkey_required passkey_refused"},
	} {
		p := party(t)
		device, key := registered(t, p)
		options, state, err := p.Ask("cer_2", ada(), []conversation.Passkey{key}, purpose, noon())
		if err != nil {
			t.Fatal(err)
		}
		if c.spoil != nil {
			c.spoil(device, &state)
		}
		if c.purpose == "" {
			c.purpose = purpose
		}
		used, err := p.Confirmed(ada(), []conversation.Passkey{key}, &state, c.purpose, device.Get(options), noon().Add(c.late))
		if got := reasonOf(err); got != c.want || err == nil && (used.ID != "key_1" || used.LastUsedAt == nil || string(used.Credential) == string(key.Credential)) {
			t.Errorf("%s: %q, want %q; %+v", c.name, got, c.want, used)
		}
	}
}

func TestAConfirmationIsOfOnePersonsKey(t *testing.T) {
	p := party(t)
	device, key := registered(t, p)
	stranger := passkeytest.New(t, origin, "svc.example")
	options, state, err := p.Ask("cer_2", ada(), []conversation.Passkey{key}, "approve", noon())
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string][]byte{
		"another key": stranger.Get(options), "no answer": []byte(`{}`), "nonsense": []byte("x"), "a registration": device.Create(options),
	} {
		if _, err := p.Confirmed(ada(), []conversation.Passkey{key}, &state, "approve", answer, noon()); reasonOf(err) != "passkey_required passkey_refused" {
			t.Errorf("%s: %v", name, err)
		}
	}
	eve := domain.User{ID: "usr_eve"}
	if _, err := p.Confirmed(eve, []conversation.Passkey{key}, &state, "approve", device.Get(options), noon()); reasonOf(err) != "passkey_required passkey_refused" {
		t.Errorf("somebody else: %v", err)
	}
	if _, _, err := p.Ask("cer_3", ada(), nil, "approve", noon()); reasonOf(err) != "passkey_required no_passkey" {
		t.Errorf("without a key: %v", err)
	}
	key.Party = "elsewhere.example"
	if _, _, err := p.Ask("cer_3", ada(), []conversation.Passkey{key}, "approve", noon()); reasonOf(err) != "passkey_required no_passkey" {
		t.Errorf("with a key for another name: %v", err)
	}
}

func TestARegistrationIsVerified(t *testing.T) {
	p := party(t)
	for name, spoil := range map[string]func(device *passkeytest.Authenticator, state *conversation.Ceremony){
		"nobody verified": func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Verified = false },
		"another page":    func(d *passkeytest.Authenticator, _ *conversation.Ceremony) { d.Origin = "https://evil.example" },
		"another purpose": func(_ *passkeytest.Authenticator, s *conversation.Ceremony) { s.Purpose = "approve" },
		"too late":        func(_ *passkeytest.Authenticator, s *conversation.Ceremony) { s.EndsAt = noon() },
	} {
		device := passkeytest.New(t, origin, "svc.example")
		options, state, err := p.Register("cer_1", candidate(), noon())
		if err != nil {
			t.Fatal(err)
		}
		spoil(device, &state)
		if _, err := p.Registered(ada(), &state, conversation.RegistrationPurpose, device.Create(options), noon()); !strings.HasPrefix(reasonOf(err), "passkey_required") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasskeysBelongToNames(t *testing.T) {
	for origin, want := range map[string]string{
		"http://localhost:8080": "", "https://svc.example": "", "http://127.0.0.1:8080": "not_available", "http://[::1]:8080": "not_available", "": "not_available",
	} {
		if _, err := passkey.NewParty(origin); reasonOf(err) != want {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
