package ingest

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"svc/domain"
)

// proving returns a collector of a public and a secret key of an application that requires proofs. It also returns a
// function that makes the proofs of both secret keys.
func proving(log *logOf) (*Collect, func(key, id string) string) {
	collect := capturing(log)
	public := *collect.Collectors.(collectorsOf)[domain.HashSecret(posthogKey)]
	public.RequireUserHash, public.UserHashKeys = true, [][32]byte{domain.HashSecret("old"), domain.HashSecret("new")}
	secret := public
	secret.Kind = domain.KeySecret
	collect.Collectors = collectorsOf{domain.HashSecret(posthogKey): &public, domain.HashSecret("secret"): &secret}
	return collect, func(key, id string) string { return hex.EncodeToString(domain.UserHash(domain.HashSecret(key), id)) }
}

// TestPublicKeysProveWhomTheyName sends items that identify a person, with and without proofs.
func TestPublicKeysProveWhomTheyName(t *testing.T) {
	t.Parallel()
	_, of := proving(&logOf{})
	refused := func(field string) string { return "user_hash_required " + field }
	for name, sent := range map[string]struct{ item, want string }{
		"identify":                               {`{"type":"identify","distinctId":"ada","traits":{"plan":"pro"}}`, refused("userHash")},
		"identify with the proof":                {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, of("new", "ada")), ""},
		"in capitals":                            {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, strings.ToUpper(of("new", "ada"))), ""},
		"under the former key, still active":     {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, of("old", "ada")), ""},
		"under another key":                      {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, of("gone", "ada")), refused("userHash")},
		"of somebody else":                       {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, of("new", "bob")), refused("userHash")},
		"cut short":                              {fmt.Sprintf(`{"type":"identify","distinctId":"ada","userHash":%q}`, of("new", "ada")[:62]), refused("userHash")},
		"no hexadecimal digits":                  {`{"type":"identify","distinctId":"ada","userHash":"yes"}`, refused("userHash")},
		"an anonymous id with traits":            {`{"type":"identify","anonymousId":"a-1","traits":{"plan":"pro"}}`, refused("userHash")},
		"group":                                  {`{"type":"group","distinctId":"ada","groupId":"acme"}`, refused("userHash")},
		"alias":                                  {`{"type":"alias","distinctId":"ada","previousId":"bob"}`, refused("userHash")},
		"alias with one proof":                   {fmt.Sprintf(`{"type":"alias","distinctId":"ada","previousId":"bob","userHash":%q}`, of("new", "ada")), refused("previousUserHash")},
		"alias with both":                        {fmt.Sprintf(`{"type":"alias","distinctId":"ada","previousId":"bob","userHash":%q,"previousUserHash":%q}`, of("new", "ada"), of("old", "bob")), ""},
		"an event needs none":                    {`{"type":"event","name":"order","distinctId":"ada"}`, ""},
		"an event of somebody else needs none":   {`{"type":"page","anonymousId":"a-1"}`, ""},
		"PostHog: identify":                      {`{"event":"$identify","distinct_id":"ada","properties":{"$set":{"plan":"pro"}}}`, refused("userHash")},
		"PostHog: identify with the proof":       {fmt.Sprintf(`{"event":"$identify","distinct_id":"ada","properties":{"$user_hash":%q}}`, of("new", "ada")), ""},
		"PostHog: traits of an event":            {`{"event":"order","distinct_id":"ada","properties":{"$set":{"plan":"pro"}}}`, refused("userHash")},
		"PostHog: alias":                         {`{"event":"$create_alias","distinct_id":"ada","properties":{"alias":"bob"}}`, refused("userHash")},
		"PostHog: a company of another's person": {`{"event":"$groupidentify","distinct_id":"ada","properties":{"$group_type":"company","$group_key":"acme"}}`, refused("userHash")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collect, _ := proving(&logOf{})
			var sub *submission
			var err error
			if strings.HasPrefix(name, "PostHog") {
				sub, err = capture(collect, "/capture/", "application/json", `{"api_key":"`+posthogKey+`",`+sent.item[1:])
			} else {
				sub, err = accept(t, collect, posthogKey, `{"items":[`+sent.item+`]}`, itemAny)
			}
			got := ""
			for _, one := range sub.rejected {
				field, _, _ := strings.Cut(one.Message, " ")
				got = one.Code + " " + field
			}
			if err != nil || got != sent.want {
				t.Errorf("%v, %q, want %q", err, got, sent.want)
			}
			if secret, err := accept(t, collect, "secret", `{"items":[{"type":"identify","distinctId":"ada"}]}`, itemAny); err != nil || len(secret.rejected) > 0 {
				t.Errorf("a secret key: %v, %v", err, secret.rejected)
			}
		})
	}
}

// TestTheProofIsTheDocumentedOne compares with a value that the samples of docs/people.md print.
func TestTheProofIsTheDocumentedOne(t *testing.T) {
	const want = "aad11b679a811c3b2da9b49a2e4c252eef1fbb18cd53c2a9a8af89c86a85ed12"
	if got := hex.EncodeToString(domain.UserHash(domain.HashSecret("svc_sec_prod_example"), "ada")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
