//go:build !norevenue

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/cmd/svc/importer"
)

// refusal sends a native request of one item. It returns the status of the answer, and the code and the message of the
// refusal.
func (s *server) refusal(path, body string) (status int, code, message string) {
	s.t.Helper()
	got := s.call("POST", path, s.boot.Keys["production"].Secret, []byte(body), nil)
	rows, _ := object(s.t, got.body)["rejected"].([]any)
	if len(rows) == 0 {
		return got.status, "", ""
	}
	row := rows[0].(map[string]any)
	return got.status, fmt.Sprint(row["code"]), fmt.Sprint(row["message"])
}

// TestPlaceholdersAreNobody sends placeholder ids on every surface that takes ids. The native paths refuse them by the
// name of the field. Other paths leave them out and count them. No two people become one. A1 and A3 are among the
// cases.
func TestPlaceholdersAreNobody(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	words := []string{"undefined", " NULL ", "[object Object]", "0", "-1", `\"undefined\"`, "(null)", "<nil>", "NaN", "00000000-0000-0000-0000-000000000000", "not_authenticated", " "}
	native := []struct{ path, body, field string }{
		{"/api/v1/events", `{"name":"x","distinctId":"%s"}`, "distinctId"},
		{"/api/v1/events", `{"name":"x","distinctId":"ok","anonymousId":"%s"}`, "anonymousId"},
		{"/api/v1/batch", `{"items":[{"type":"page","anonymousId":"%s"}]}`, "anonymousId"},
		{"/api/v1/identify", `{"distinctId":"%s"}`, "distinctId"},
		{"/api/v1/batch", `{"items":[{"type":"identify","distinctId":"cat-1","anonymousId":"%s"}]}`, "anonymousId"},
		{"/api/v1/batch", `{"items":[{"type":"identify","distinctId":"cat-1","traits":{"company":"%s"}}]}`, "traits.company"},
		{"/api/v1/batch", `{"items":[{"type":"identify","distinctId":"cat-1","traits":{"company":{"name":"%s"}}}]}`, "traits.company"},
		{"/api/v1/batch", `{"items":[{"type":"alias","distinctId":"ann-1","previousId":"%s"}]}`, "previousId"},
		{"/api/v1/batch", `{"items":[{"type":"alias","distinctId":"%s","previousId":"ann-1"}]}`, "distinctId"},
		{"/api/v1/batch", `{"items":[{"type":"group","distinctId":"cat-1","groupId":"%s"}]}`, "groupId"},
		{"/api/v1/batch", `{"items":[{"type":"group","distinctId":"%s","groupId":"acme"}]}`, "distinctId"},
		{"/api/v1/errors", `{"name":"E","distinctId":"%s"}`, "distinctId"},
		{"/api/v1/errors", `{"name":"E","anonymousId":"%s"}`, "anonymousId"},
		{"/api/v1/revenue", `{"type":"payment","paymentId":"p1","currency":"EUR","amountCents":1,"customerId":"%s"}`, "customerId"},
	}
	for _, one := range native {
		for _, word := range words {
			if word == " " && one.field == "traits.company" {
				continue // white space never names a company
			}
			status, code, message := s.refusal(one.path, fmt.Sprintf(one.body, word))
			if status != 400 || code != "placeholder_id" || !strings.HasPrefix(message, one.field+" is a placeholder") {
				t.Errorf("%s %s: %d %s %q", one.path, fmt.Sprintf(one.body, word), status, code, message)
			}
		}
	}
	for _, value := range []string{"17", "true", `["a"]`, `{}`} {
		for _, field := range []string{"distinctId", "anonymousId", "previousId"} {
			body := fmt.Sprintf(`{"items":[{"type":"alias","distinctId":"a","previousId":"b",%q:%s}]}`, field, value)
			if status, code, message := s.refusal("/api/v1/batch", body); status != 400 || code != "invalid_type" || message != "The field "+field+" must be a string." {
				t.Errorf("%s: %d %s %q", body, status, code, message)
			}
		}
	}
	before := s.losses("events", "codes")["placeholder_id"]

	// A batch loses only the bad items (A1, A3).
	got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(`{"items":[
		{"type":"event","name":"x","distinctId":"ann-1"},{"type":"event","name":"x","distinctId":"bob-1"},{"type":"event","name":"x","distinctId":"cat-1"},
		{"type":"alias","distinctId":"ann-1","previousId":"undefined"},{"type":"alias","distinctId":"bob-1","previousId":"undefined"},
		{"type":"identify","distinctId":"cat-1","anonymousId":"[object Object]"},
		{"type":"event","name":"buy","anonymousId":"[object Object]"},{"type":"event","name":"buy","anonymousId":"[object Object]"}]}`), nil)
	answer := object(t, got.body)
	if rejected := answer["rejected"].([]any); got.status != 202 || answer["accepted"] != 3.0 || len(rejected) != 5 || rejected[0].(map[string]any)["index"] != 3.0 {
		t.Errorf("the batch: %d %s", got.status, got.body)
	}

	// PostHog and Sentry leave the id out. If the event has nothing else, they leave the event out.
	body := fmt.Sprintf(`{"api_key":%q,"batch":[
		{"event":"buy","distinct_id":"undefined"},{"event":"buy","distinct_id":"null","properties":{"$device_id":"dev-1"}},
		{"event":"$identify","distinct_id":"dan-1","properties":{"$anon_distinct_id":"undefined"}},{"event":"$identify","distinct_id":"undefined","properties":{"$anon_distinct_id":"dan-1"}},
		{"event":"$create_alias","distinct_id":"ann-1","properties":{"alias":"guest"}},{"event":"$create_alias","distinct_id":"bob-1","properties":{"alias":"guest"}}]}`, s.boot.Keys["production"].Secret)
	if got := s.call("POST", "/batch", "", []byte(body), nil); got.status != 200 {
		t.Fatalf("PostHog: %d %s", got.status, got.body)
	}
	_, key, path := s.dsn()
	for _, user := range []string{`{"id":"undefined"}`, `{"id":null,"username":"guest"}`, `{"id":0,"email":"ann-1"}`} {
		body := `{"exception":{"values":[{"type":"E","value":"v"}]},"user":` + user + `}`
		if got := s.call("POST", path+"/store/?sentry_key="+key, "", []byte(body), nil); got.status != 200 {
			t.Fatalf("Sentry: %d %s", got.status, got.body)
		}
	}

	// A flag answers, but no person is looked up or exposed.
	s.putFlag("beta", `{"name":"Beta","kind":"boolean","environments":{"production":{"enabled":true,"rolloutPercent":100}},"rules":[{"conditions":[{"field":"tag","op":"eq","value":"vip"}]}]}`)
	eventually(t, "the flag is there", func() error {
		if flag := s.evaluateFlags(`{"distinctId":"undefined"}`).Flags["beta"]; flag.Reason != "default" {
			return fmt.Errorf("%+v", flag)
		}
		return nil
	})

	// Rows of an import are accepted without such ids.
	file := itemFile(t, "people.csv", "distinctId,anonymousId,distinctIds,plan", `eve-1,undefined,,pro`, `fay-1,,"[""fay-1"",""guest"",""fay-2""]",pro`, `null,,,pro`)
	var out, notices bytes.Buffer
	err := importer.Run(t.Context(), []string{"people", file, "--url", s.boot.URL, "--bootstrap", filepath.Join(s.dir, "bootstrap.json"), "--env", "production"}, &out, &notices)
	if text := out.String() + notices.String(); !strings.Contains(text, "distinctId is a placeholder") && !strings.Contains(text, "anonymousId is a placeholder") {
		t.Errorf("the import says %v %s", err, text)
	}
	s.settled()

	people := map[string]string{}
	for _, row := range s.get(appPath + "/people?limit=100")["data"].([]any) {
		ids := row.(map[string]any)["distinctIds"]
		text, _ := json.Marshal(ids)
		people[string(text)] = row.(map[string]any)["id"].(string)
	}
	var found []string
	for ids := range people {
		found = append(found, ids)
	}
	slices.Sort(found)
	if want := []string{`["ann-1"]`, `["bob-1"]`, `["cat-1"]`, `["dan-1"]`, `["dev-1"]`, `["eve-1"]`, `["fay-1"]`}; !slices.Equal(found, want) {
		t.Errorf("the people are %q, want %q", found, want)
	}
	for _, word := range []string{"undefined", "[object Object]", "00000000-0000-0000-0000-000000000000"} {
		text, _ := json.Marshal(map[string]string{"personId": word})
		got := s.call("POST", appPath+"/people/"+people[`["ann-1"]`]+"/merge", s.boot.Token, text, nil)
		if got.status != 400 || !strings.Contains(string(got.body), `"code":"placeholder_id"`) {
			t.Errorf("merging %s: %d %s", word, got.status, got.body)
		}
	}
	eventually(t, "everything is counted", func() error {
		events, stripped, errors, flags := s.losses("events", "codes"), s.losses("events", "stripped"), s.losses("errors", "stripped"), s.losses("flagEvaluations", "codes")
		if events["placeholder_id"]-before != 5+4 || stripped["placeholder_id"] != 2 || errors["placeholder_id"] != 3 || flags["placeholder_id"] == 0 {
			return fmt.Errorf("events %v (%v before) and %v, errors %v, flags %v", events, before, stripped, errors, flags)
		}
		return nil
	})
}

// losses returns today's counts of a signal by their codes.
func (s *server) losses(signal, member string) map[string]float64 {
	s.t.Helper()
	days := s.get(appPath + "/telemetry?env=production")["usage"].([]any)
	counts := map[string]float64{}
	for code, items := range days[len(days)-1].(map[string]any)["signals"].(map[string]any)[signal].(map[string]any)[member].(map[string]any) {
		counts[code] = items.(float64)
	}
	return counts
}
