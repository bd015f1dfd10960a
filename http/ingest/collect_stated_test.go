package ingest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"svc/domain/event"
	"svc/protos"
)

// TestAServerStatesWhereTheVisitorIs sends the place and the client of visitors, in items and around them, with secret and
// public keys (N2).
func TestAServerStatesWhereTheVisitorIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", event.MaxNameBytes+1)
	place := &protos.Place{Country: "DE", Region: "Berlin", City: "Berlin"}
	client := &protos.Client{Device: "tablet", Browser: "Firefox", BrowserVersion: "145.0", Os: "Android", OsVersion: "15"}
	const whole = `{"place":{"country":"DE","region":"Berlin","city":"Berlin"},"client":{"device":"tablet","browser":"Firefox","browserVersion":"145.0","os":"Android","osVersion":"15"}}`
	for name, sent := range map[string]struct {
		key, item, around, want string
		place                   *protos.Place
		client                  *protos.Client
	}{
		"of an item":               {"secret", whole, `{}`, "", place, client},
		"around the items":         {"secret", `{}`, whole, "", place, client},
		"the item's own before":    {"secret", `{"place":{"country":"FR"}}`, whole, "", &protos.Place{Country: "FR"}, client},
		"known to be unknown":      {"secret", `{"place":{},"client":{}}`, `{}`, "", &protos.Place{}, &protos.Client{}},
		"not stated":               {"secret", `{"place":null}`, `{}`, "", nil, nil},
		"public: not stated":       {posthogKey, `{"place":null,"client":null}`, `{}`, "", nil, nil},
		"public: a place":          {posthogKey, `{"place":{"country":"DE"}}`, `{}`, "secret_key_required context.place is accepted with a secret key only.", nil, nil},
		"public: a client":         {posthogKey, `{"client":{}}`, `{}`, "secret_key_required context.client is accepted with a secret key only.", nil, nil},
		"public: around the items": {posthogKey, `{}`, `{"client":{"os":"iOS"}}`, "secret_key_required context.client is accepted with a secret key only.", nil, nil},
		"a name of a country":      {"secret", `{"place":{"country":"Germany"}}`, `{}`, "invalid_value context.place.country must be two capital letters (ISO 3166), such as DE.", nil, nil},
		"a country in small":       {"secret", `{"place":{"country":"de"}}`, `{}`, "invalid_value context.place.country must be two capital letters (ISO 3166), such as DE.", nil, nil},
		"an unknown device":        {"secret", `{"client":{"device":"fridge"}}`, `{}`, "invalid_value context.client.device must be one of desktop, mobile, tablet, tv, console, other.", nil, nil},
		"a long city":              {"secret", `{"place":{"city":"` + long + `"}}`, `{}`, "too_long context.place.city is over 200 bytes.", nil, nil},
		"a long version":           {"secret", `{"client":{"osVersion":"` + long + `"}}`, `{}`, "too_long context.client.osVersion is over 200 bytes.", nil, nil},
		"a NUL":                    {"secret", `{"client":{"browser":"a\u0000"}}`, `{}`, "invalid_value context.client.browser holds a NUL character.", nil, nil},
		"a text as place":          {"secret", `{"place":"Berlin"}`, `{}`, "invalid_type The field context.place must be an object.", nil, nil},
		"a number as browser":      {"secret", `{"client":{"browser":7}}`, `{}`, "invalid_type The field context.client.browser must be a string.", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logOf{}
			collect, _ := proving(log)
			sub, err := accept(t, collect, sent.key, `{"context":`+sent.around+`,"items":[{"type":"event","name":"order","distinctId":"ada","context":`+sent.item+`}]}`, itemAny)
			got := ""
			for _, one := range sub.rejected {
				got = one.Code + " " + one.Message
			}
			if err != nil || got != sent.want {
				t.Fatalf("%v, %q, want %q", err, got, sent.want)
			}
			if sent.want != "" {
				return
			}
			if event := log.events[0]; !proto.Equal(event.Place, sent.place) || !proto.Equal(event.Client, sent.client) {
				t.Errorf("%v %v, want %v %v", event.Place, event.Client, sent.place, sent.client)
			}
		})
	}
}
