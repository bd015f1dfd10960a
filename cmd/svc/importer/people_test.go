package importer

import (
	"strings"
	"testing"
)

func TestItemsOfPeople(t *testing.T) {
	const agent = `"context":{"userAgent":"-"}`
	cases := map[string]struct {
		person map[string]string
		want   string
	}{
		"columns are traits": {
			map[string]string{"distinctId": " ada ", "email": "ada@example.com", "trait.plan": "pro", "company": "Acme", "phone": ""},
			`{` + agent + `,"distinctId":"ada","id":"ID","traits":{"company":"Acme","email":"ada@example.com","plan":"pro"},"type":"identify"}`,
		},
		"a row of an export": {
			map[string]string{
				"id": "per_1", "distinctId": "ada", "distinctIds": `["ada","device"]`, "email": "ada@example.com", "company": "Acme", "traits": `{"email":"ada@example.com","company":{"name":"Acme"},"seats":3}`,
				"sessions": "3", "tags": `["vip"]`, "firstSeenAt": "2026-11-01T00:00:00.000Z", "lastSeenAt": "2026-11-02T00:00:00.000Z",
			},
			`{` + agent + `,"distinctId":"ada","id":"ID","traits":{"company":{"name":"Acme"},"email":"ada@example.com","seats":3},"ts":"2026-11-02T00:00:00.000Z","type":"identify"}` + "\n" +
				`{` + agent + `,"distinctId":"ada","id":"ID","previousId":"device","ts":"2026-11-02T00:00:00.000Z","type":"alias"}`,
		},
		"an anonymous id": {
			map[string]string{"distinctId": "ada", "anonymousId": "device", "ts": "2026-11-02T00:00:00Z"},
			`{"anonymousId":"device",` + agent + `,"distinctId":"ada","id":"ID","traits":{},"ts":"2026-11-02T00:00:00Z","type":"identify"}`,
		},
		"no id":     {map[string]string{"distinctId": "", "email": "x"}, "the row has no distinctId"},
		"no object": {map[string]string{"distinctId": "ada", "traits": "[]"}, "traits is no object as JSON"},
		"no list":   {map[string]string{"distinctId": "ada", "distinctIds": "ada"}, "distinctIds is no list of texts as JSON"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			items, err := itemsOfPerson(7, c.person)
			var got []string
			for _, item := range items {
				before, rest, _ := strings.Cut(string(item.encoded), `"id":"per_`)
				_, after, _ := strings.Cut(rest, `"`)
				got = append(got, before+`"id":"ID"`+after)
			}
			if err != nil {
				got = append(got, err.Error())
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			again, _ := itemsOfPerson(7, c.person)
			for i := range again {
				if string(again[i].encoded) != string(items[i].encoded) {
					t.Errorf("%s the second time", again[i].encoded)
				}
			}
		})
	}
}
