package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/domain/flag"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/protos"
)

// flagAnswer is an answer of the native endpoint.
type flagAnswer struct {
	Flags map[string]struct {
		Enabled bool
		Variant *string
		Value   any
		Reason  flag.Reason
		RuleID  string
	}
	Revision uint64
}

// sendFlags sends a request with a secret and returns status, body and headers.
func (s *server) sendFlags(method, path, secret, body string, headers ...string) (int, []byte, http.Header) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.boot.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	for n := 0; n+1 < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, text, response.Header
}

const flagsPath = "/api/v1/apps/acme/web/flags"

// putFlag stores a flag.
func (s *server) putFlag(key, body string) {
	s.t.Helper()
	status, text, _ := s.sendFlags("PUT", flagsPath+"/"+key, s.boot.Token, body)
	if status != 200 && status != 201 {
		s.t.Fatalf("putting %s answers %d: %s", key, status, text)
	}
}

// evaluateFlags asks the native endpoint.
func (s *server) evaluateFlags(body string) (answer flagAnswer) {
	s.t.Helper()
	status, text, _ := s.sendFlags("POST", "/api/v1/flags/evaluate", s.boot.Keys["production"].Public, body)
	if err := json.Unmarshal(text, &answer); err != nil || status != 200 {
		s.t.Fatalf("evaluating answers %d: %s", status, text)
	}
	return answer
}

const (
	checkoutFlag = `{"name":"Checkout","kind":"multivariate","variants":[{"key":"control","weight":50},{"key":"fast","weight":50,"value":{"steps":1}}],
		"rules":[{"id":"beta","conditions":[{"field":"trait.plan","op":"eq","value":"beta"}],"variant":"fast"}],"environments":{"production":{"enabled":true}}}`
	navFlag = `{"name":"Navigation","kind":"boolean","environments":{"production":{"enabled":%t,"rolloutPercent":100}}}`
)

// TestAFlagFromDefinitionToResults follows a flag through all protocols of a real node, to its results.
func TestAFlagFromDefinitionToResults(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.putFlag("checkout", checkoutFlag)
	s.putFlag("nav", fmt.Sprintf(navFlag, true))
	key := s.boot.Keys["production"].Public

	answer := s.evaluateFlags(`{"distinctId":"u1","context":{"plan":"beta"}}`)
	checkout := answer.Flags["checkout"]
	if !answer.Flags["nav"].Enabled || answer.Flags["nav"].Reason != flag.ByDefault || checkout.Variant == nil || *checkout.Variant != "fast" || checkout.RuleID != "beta" {
		t.Fatalf("the flags are %+v", answer)
	}
	t.Run("every protocol says the same", func(t *testing.T) { sameEverywhere(t, s, key) })
	t.Run("conditional requests", func(t *testing.T) { conditional(t, s, key) })
	t.Run("a stream tells of a change within a second", func(t *testing.T) { tellsOfChanges(t, s, key) })
	t.Run("definitions", func(t *testing.T) { definitionsOfServers(t, s, key) })
	t.Run("refusals name the field", func(t *testing.T) { refusals(t, s, key) })
	t.Run("archive and restore", func(t *testing.T) { archiveAndRestore(t, s) })
	t.Run("results", func(t *testing.T) { flagResultsOf(t, s, key) })
}

func sameEverywhere(t *testing.T, s *server, key string) {
	for n := range 20 {
		id := fmt.Sprintf("user-%d", n)
		native := s.evaluateFlags(`{"distinctId":"` + id + `","keys":["checkout"],"context":{"plan":"free"}}`).Flags["checkout"]
		if native.Variant == nil {
			t.Fatalf("%s was served nothing: %+v", id, native)
		}
		var single, preview struct{ Variant, Reason string }
		status, text, header := s.sendFlags("POST", "/ofrep/v1/evaluate/flags/checkout", key, `{"context":{"targetingKey":"`+id+`","plan":"free"}}`)
		if err := json.Unmarshal(text, &single); err != nil || status != 200 || header.Get("Content-Type") != "application/json" || single.Variant != *native.Variant || single.Reason != "SPLIT" {
			t.Fatalf("OFREP answers %d: %s, want %s", status, text, *native.Variant)
		}
		var bulk struct {
			Flags []struct{ Key, Variant string }
		}
		if _, text, _ = s.sendFlags("POST", "/ofrep/v1/evaluate/flags", key, `{"context":{"targetingKey":"`+id+`","plan":"free"}}`); json.Unmarshal(text, &bulk) != nil || bulk.Flags[0].Variant != *native.Variant {
			t.Fatalf("OFREP in bulk answers %s, want %s", text, *native.Variant)
		}
		var posthog struct {
			Flags        map[string]struct{ Variant string }
			FeatureFlags map[string]any
		}
		body := `{"token":"` + key + `","distinct_id":"` + id + `","person_properties":{"plan":"free"}}`
		if _, text, _ = s.sendFlags("POST", "/flags/?v=2", key, body); json.Unmarshal(text, &posthog) != nil || posthog.Flags["checkout"].Variant != *native.Variant {
			t.Fatalf("/flags answers %s, want %s", text, *native.Variant)
		}
		if _, text, _ = s.sendFlags("POST", "/decide/?v=3", key, body); json.Unmarshal(text, &posthog) != nil || posthog.FeatureFlags["checkout"] != *native.Variant {
			t.Fatalf("/decide answers %s, want %s", text, *native.Variant)
		}
		if _, text, _ = s.sendFlags("POST", flagsPath+"/checkout/preview", s.boot.Token, `{"distinctId":"`+id+`","context":{"plan":"free"}}`); json.Unmarshal(text, &preview) != nil || preview.Variant != *native.Variant {
			t.Fatalf("the preview answers %s, want %s", text, *native.Variant)
		}
	}
}

func conditional(t *testing.T, s *server, key string) {
	ask := func(body, tag string) (int, string) {
		status, _, header := s.sendFlags("POST", "/ofrep/v1/evaluate/flags", key, body, "If-None-Match", tag)
		return status, header.Get("Etag")
	}
	one, other := `{"context":{"targetingKey":"u1","plan":"a"}}`, `{"context":{"targetingKey":"u1","plan":"b"}}`
	_, tag := ask(one, "")
	if status, _ := ask(one, tag); status != 304 {
		t.Errorf("the same context answers %d, want 304", status)
	}
	if status, _ := ask(other, tag); status != 200 {
		t.Errorf("another context answers %d, want 200", status)
	}
	s.putFlag("nav", fmt.Sprintf(navFlag, false))
	if status, _ := ask(one, tag); status != 200 {
		t.Errorf("after a change the answer is %d, want 200", status)
	}
	status, _, header := s.sendFlags("GET", flagsPath+"/nav", s.boot.Token, "")
	version := header.Get("Etag")
	s.putFlag("nav", fmt.Sprintf(navFlag, true))
	if stale, text, _ := s.sendFlags("PUT", flagsPath+"/nav", s.boot.Token, fmt.Sprintf(navFlag, false), "If-Match", version); status != 200 || stale != 412 {
		t.Errorf("a stale PUT answers %d: %s", stale, text)
	}
}

func tellsOfChanges(t *testing.T, s *server, key string) {
	_, text, _ := s.sendFlags("POST", "/ofrep/v1/evaluate/flags", key, `{"context":{"targetingKey":"u1"}}`)
	var bulk struct{ EventStreams []struct{ URL string } }
	if err := json.Unmarshal(text, &bulk); err != nil || len(bulk.EventStreams) != 1 || strings.Contains(bulk.EventStreams[0].URL, key) {
		t.Fatalf("the streams are %s", text)
	}
	before := s.evaluateFlags(`{"distinctId":"u1"}`).Revision
	for _, url := range []string{bulk.EventStreams[0].URL, s.boot.URL + "/api/v1/flags/stream?key=" + key} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Last-Event-Id", fmt.Sprint(before))
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("the stream answers %v, %v", response, err)
		}
		began := time.Now()
		s.putFlag("nav", fmt.Sprintf(navFlag, true))
		before++
		want := fmt.Sprintf(`data: {"type":"refetchEvaluation","etag":"\"%d\""`, before)
		var seen bytes.Buffer
		for !strings.Contains(seen.String(), want) {
			piece := make([]byte, 512)
			n, err := response.Body.Read(piece)
			seen.Write(piece[:n])
			if err != nil {
				t.Fatalf("the stream ended with %v: %s", err, &seen)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stream told of the change after %v", took)
		}
		_ = response.Body.Close()
	}
	if status, _, _ := s.sendFlags("GET", "/ofrep/v1/stream?token=AAAA", "", ""); status != 401 {
		t.Errorf("a token that is none answers %d", status)
	}
}

func definitionsOfServers(t *testing.T, s *server, key string) {
	if status, _, _ := s.sendFlags("GET", "/api/v1/flags/definitions", key, ""); status != 403 {
		t.Errorf("a public key is answered %d", status)
	}
	secret := s.boot.Keys["production"].Secret
	status, text, header := s.sendFlags("GET", "/api/v1/flags/definitions", secret, "")
	if status != 200 || !strings.Contains(string(text), `"key":"checkout"`) {
		t.Fatalf("the definitions are %d: %s", status, text)
	}
	if status, _, _ := s.sendFlags("GET", "/api/v1/flags/definitions", secret, "", "If-None-Match", header.Get("Etag")); status != 304 {
		t.Errorf("known definitions answer %d", status)
	}
}

func refusals(t *testing.T, s *server, key string) {
	for body, want := range map[string]string{
		`{"context":{}}`:                  `"field":"distinctId"`,
		`{"distinctId":["u"]}`:            `"field":"distinctId"`,
		`{"distinctId":"u","context":[]}`: `"field":"context"`,
		`{"distinctId":"u","keys":"nav"}`: `"field":"keys"`,
		`{"distinctId":"u","keys":[{}]}`:  `"field":"keys"`,
		`{"distinctId":"u",`:              `invalid_json`,
	} {
		if status, text, _ := s.sendFlags("POST", "/api/v1/flags/evaluate", key, body); status != 400 || !strings.Contains(string(text), want) {
			t.Errorf("%s is answered %d: %s", body, status, text)
		}
	}
	for body, want := range map[string]string{`{"context":{}}`: "TARGETING_KEY_MISSING", `{`: "PARSE_ERROR", `{"context":7}`: "INVALID_CONTEXT"} {
		if status, text, _ := s.sendFlags("POST", "/ofrep/v1/evaluate/flags/nav", key, body); status != 400 || !strings.Contains(string(text), want) {
			t.Errorf("%s is answered %d: %s", body, status, text)
		}
	}
	if status, text, _ := s.sendFlags("POST", "/ofrep/v1/evaluate/flags/none", key, `{"context":{"targetingKey":"u"}}`); status != 404 || !strings.Contains(string(text), "FLAG_NOT_FOUND") {
		t.Errorf("no flag is answered %d: %s", status, text)
	}
	if status, _, _ := s.sendFlags("POST", "/api/v1/flags/evaluate", "svc_pub_prod_nothing", `{"distinctId":"u"}`); status != 401 {
		t.Errorf("an unknown key is answered %d", status)
	}
}

func archiveAndRestore(t *testing.T, s *server) {
	s.putFlag("old", fmt.Sprintf(navFlag, true))
	if status, text, _ := s.sendFlags("DELETE", flagsPath+"/old", s.boot.Token, ""); status != 200 || !strings.Contains(string(text), `"archived":true`) {
		t.Fatalf("archiving answers %d: %s", status, text)
	}
	if old := s.evaluateFlags(`{"distinctId":"u1"}`).Flags["old"]; old.Enabled || old.Reason != flag.IsArchived {
		t.Errorf("an archived flag is %+v", old)
	}
	if status, _, _ := s.sendFlags("DELETE", flagsPath+"/old", s.boot.Token, ""); status != 409 {
		t.Errorf("archiving it again answers %d", status)
	}
	s.putFlag("old", fmt.Sprintf(navFlag, true))
	if old := s.evaluateFlags(`{"distinctId":"u1"}`).Flags["old"]; !old.Enabled {
		t.Errorf("a restored flag is %+v", old)
	}
	_, text, _ := s.sendFlags("GET", flagsPath+"/old/history", s.boot.Token, "")
	var history struct{ Data []struct{ Action string } }
	if err := json.Unmarshal(text, &history); err != nil || len(history.Data) != 3 || history.Data[0].Action != "restored" || history.Data[1].Action != "archived" {
		t.Errorf("the history is %s", text)
	}
}

// flagResultsOf evaluates a flag for 40 people. Half of the people that were served fast buy.
func flagResultsOf(t *testing.T, s *server, key string) {
	if status, text, _ := s.sendFlags("POST", "/api/v1/apps/acme/web/goals", s.boot.Token, `{"name":"Order","kind":"event","match":"order"}`); status != 201 {
		t.Fatalf("the goal answers %d: %s", status, text)
	}
	want, bought := map[string]uint64{}, map[string]uint64{}
	for n := range 40 {
		id := fmt.Sprintf("buyer-%d", n)
		variant := *s.evaluateFlags(`{"distinctId":"` + id + `","context":{"plan":"free"}}`).Flags["checkout"].Variant
		if want[variant]++; variant == "fast" && n%2 == 0 {
			bought[variant]++
			if status, text, _ := s.sendFlags("POST", "/api/v1/events", key, `{"name":"order","distinctId":"`+id+`"}`, "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"); status != 202 {
				t.Fatalf("the event answers %d: %s", status, text)
			}
		}
	}
	eventually(t, "the results have everyone", func() error {
		status, text, _ := s.sendFlags("GET", flagsPath+"/checkout/results?range=today", s.boot.Token, "")
		var results struct {
			Goals []struct {
				Winner   *string
				Why      string
				Variants []struct {
					Variant              string
					Exposed, Conversions uint64
					Low, High            float64
				}
			}
		}
		if err := json.Unmarshal(text, &results); err != nil || status != 200 || len(results.Goals) != 1 {
			return fmt.Errorf("%d: %s", status, text)
		}
		goal := results.Goals[0]
		if goal.Winner != nil || goal.Why != "too_few_exposures" || len(goal.Variants) != 2 {
			return fmt.Errorf("%s", text)
		}
		for _, variant := range goal.Variants {
			if variant.Exposed < want[variant.Variant] || variant.Conversions != bought[variant.Variant] || variant.Low > variant.High {
				return fmt.Errorf("%s: %+v, want %d and %d", text, variant, want[variant.Variant], bought[variant.Variant])
			}
		}
		return nil
	})
	_, text, _ := s.sendFlags("GET", flagsPath+"?includeArchived=true", s.boot.Token, "")
	var list struct {
		Data []struct {
			Key   string
			Spark []uint64
		}
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list.Data) != 3 || len(list.Data[0].Spark) != 7 || list.Data[0].Spark[6] < 40 {
		t.Errorf("the list is %s", text)
	}
}

// TestEvaluationsAreASignal compares the usage of evaluations with the requests, under several policies: recorded
// evaluations, visitors outside the sample, and recording switched off.
func TestEvaluationsAreASignal(t *testing.T) {
	b := newTeller(startServer(t, t.TempDir(), nil), 5)
	b.putFlag("nav", fmt.Sprintf(navFlag, true))
	b.putFlag("checkout", checkoutFlag)
	environment := b.production()
	evaluate := func(visitors int, fate func(visitor string) ingest.Fate) {
		for n := range visitors {
			visitor := fmt.Sprintf("visitor-%d", n)
			b.evaluateFlags(`{"distinctId":"` + visitor + `"}`)
			b.sure[fateOf(fate(visitor))] += 2 // both flags
		}
	}
	counted := func() {
		t.Helper()
		eventually(t, "all evaluations are counted", func() error {
			got := b.usage()
			for key, want := range b.sure {
				if got[key] != want {
					return fmt.Errorf("%v are %d, not %d", key, got[key], want)
				}
			}
			return nil
		})
	}
	evaluate(10, func(string) ingest.Fate { return ingest.FateStored })
	counted()
	b.policy(`{"flags":{"sampleRate":0.5}}`)
	evaluate(40, func(visitor string) ingest.Fate {
		if telemetry.InSample(protos.VisitorHash(environment, visitor), 0.5) {
			return ingest.FateStored
		}
		return ingest.FateSampled
	})
	if b.sure[fateOf(ingest.FateSampled)] == 0 || b.sure[fateOf(ingest.FateStored)] == 20 {
		t.Fatalf("the sample is all or nothing: %v", b.sure)
	}
	counted()
	b.policy(`{"flags":{"recordEvaluations":false}}`)
	evaluate(5, func(string) ingest.Fate { return ingest.FateDisabled })
	counted()
	var list struct {
		Data []struct {
			Key   string
			Spark []int
		}
	}
	_, text, _ := b.sendFlags("GET", flagsPath, b.boot.Token, "")
	if err := json.Unmarshal(text, &list); err != nil || len(list.Data) != 2 || list.Data[0].Spark[6] != 55 || list.Data[1].Spark[6] != 55 {
		t.Errorf("the flags themselves count %s", text)
	}
}

func fateOf(of ingest.Fate) fate { return fate{ingest.SignalFlags, of} }
