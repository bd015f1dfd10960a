package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/domain/event"
	"svc/storage/kafka"
)

func item(id, visitor, path string, at time.Time) map[string]any {
	return map[string]any{
		"type": "page", "id": id, "distinctId": visitor, "path": path, "ts": at.UTC().Format(time.RFC3339Nano),
	}
}

// overview reads the headline of the last 24 hours.
func (s *server) overview() map[string]any { return s.get(appPath + "/analytics/overview?range=24h") }

func TestTheFirstMinute(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	for _, secret := range []string{s.boot.Token, s.boot.Keys["production"].Public, s.boot.Keys["development"].Secret} {
		if !strings.Contains(s.output.String(), secret) {
			t.Errorf("the first start does not show %s…", secret[:12])
		}
	}
	if s.boot.Organization != "acme" || s.boot.App != "web" || len(s.boot.Keys) != 3 {
		t.Errorf("bootstrap: %+v", s.boot)
	}
	got := s.call("POST", "/api/v1/events", s.boot.Keys["production"].Public, []byte(`{"name":"page_view","distinctId":"me","url":"https://example.com/hello?utm_source=readme"}`), nil)
	if got.status != 202 || object(t, got.body)["accepted"] != 1.0 {
		t.Fatalf("sending: %d %s", got.status, got.body)
	}
	check := func(s *server) {
		t.Helper()
		eventually(t, "the event is listed and counted", func() error {
			rows, overview := s.feed(), s.overview()
			if len(rows) != 1 || overview["visitors"] != 1.0 || overview["pageviews"] != 1.0 || overview["sessions"] != 1.0 || overview["bounceRate"] != 1.0 {
				return fmt.Errorf("feed %v, overview %v", rows, overview)
			}
			if rows[0]["path"] != "/hello" || rows[0]["utmSource"] != "readme" || rows[0]["isBot"] != false {
				return fmt.Errorf("row %v", rows[0])
			}
			return nil
		})
	}
	check(s)
	s.stopped()

	again := startServer(t, dir, nil)
	if strings.Contains(again.output.String(), "svc_") {
		t.Errorf("the second start shows a secret: %s", again.output)
	}
	check(again)
	again.send(item("second", "me", "/again", time.Now()))
	eventually(t, "the second event joined the first one's session", func() error {
		if o := again.overview(); o["sessions"] != 1.0 || o["pageviews"] != 2.0 || o["bounceRate"] != 0.0 {
			return fmt.Errorf("overview %v", o)
		}
		return nil
	})
}

func TestAKeyWorksOnTheNextRequestAndStopsAtOnce(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	minted := s.call("POST", appPath+"/keys", s.boot.Token, []byte(`{"kind":"public","environment":"staging","label":"test"}`), nil)
	if minted.status != 201 {
		t.Fatalf("minting: %d %s", minted.status, minted.body)
	}
	key := object(t, minted.body)
	event := []byte(`{"name":"signup","distinctId":"u1"}`)
	if got := s.call("POST", "/api/v1/events", key["key"].(string), event, nil); got.status != 202 {
		t.Errorf("with the new key: %d %s", got.status, got.body)
	}
	if got := s.call("DELETE", appPath+"/keys/"+key["id"].(string), s.boot.Token, nil, nil); got.status != 204 {
		t.Fatalf("revoking: %d %s", got.status, got.body)
	}
	if got := s.call("POST", "/api/v1/events", key["key"].(string), event, nil); got.status != 401 {
		t.Errorf("with the revoked key: %d %s", got.status, got.body)
	}
	if got := s.call("DELETE", appPath+"/keys/"+key["id"].(string), s.boot.Token, nil, nil); got.status != 404 {
		t.Errorf("revoking again: %d %s", got.status, got.body)
	}
	for _, row := range object(t, s.call("GET", appPath+"/keys", s.boot.Token, nil, nil).body)["data"].([]any) {
		if _, shown := row.(map[string]any)["key"]; shown {
			t.Errorf("the list shows a key: %v", row)
		}
	}
}

// TestDuplicatesAndAReplayOfTheLogChangeNothing sends everything three times, then lets the log be read again from its
// beginning into the same store.
func TestDuplicatesAndAReplayOfTheLogChangeNothing(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	start := time.Now().Add(-20 * time.Hour)
	var items []map[string]any
	for n := range 600 {
		items = append(items, item(fmt.Sprintf("event-%d", n), fmt.Sprintf("visitor-%d", n%37), fmt.Sprintf("/page/%d", n%11), start.Add(time.Duration(n)*2*time.Minute)))
	}
	for range 3 {
		for from := 0; from < len(items); from += 200 {
			s.send(items[from : from+200]...)
		}
	}
	s.settled()
	before, rows := s.overview(), s.feed()
	if len(rows) != 600 || before["pageviews"] != 600.0 {
		t.Fatalf("%d rows, overview %v; want 600", len(rows), before)
	}
	rewind(t, s)
	s.stopped()

	again := startServer(t, dir, nil)
	again.settled()
	after := again.overview()
	for _, metric := range []string{"visitors", "pageviews", "sessions", "bounceRate", "avgDurationMs"} {
		if before[metric] != after[metric] {
			t.Errorf("%s was %v and is %v", metric, before[metric], after[metric])
		}
	}
	if rows := again.feed(); len(rows) != 600 {
		t.Errorf("%d rows after the replay", len(rows))
	}
}

// rewind makes the next start read the log from its beginning.
func rewind(t *testing.T, s *server) {
	t.Helper()
	generation, ok := s.node.ownership.Generation()
	if !ok {
		t.Fatal("no generation")
	}
	positions := make([]kafka.Position, s.node.config.Partitions)
	for partition := range positions {
		positions[partition] = kafka.Position{Partition: partition}
	}
	if err := s.node.consumer.Commit(t.Context(), generation, positions); err != nil {
		t.Fatal(err)
	}
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBadInputIsAnsweredAndDisturbsNothing is acceptance line 7.
func TestBadInputIsAnsweredAndDisturbsNothing(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	public, secret := s.boot.Keys["production"].Public, s.boot.Keys["production"].Secret
	day := func(days int) string { return time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		name, path, key, body string
		header                map[string]string
		status                int
		contains              string
	}{
		{"malformed JSON", "/events", public, `{"name":`, nil, 400, "invalid_json"},
		{"empty body", "/events", public, ``, nil, 400, "empty_body"},
		{"wrong type", "/events", public, `{"name":5,"distinctId":"u"}`, nil, 400, "invalid_type"},
		{"wrong type beside a good item", "/batch", public, `{"items":[{"type":"event","name":5},{"type":"event","name":"ok","distinctId":"u","id":"beside"}]}`, nil, 202, `"accepted":1`},
		{"no name", "/events", public, `{"distinctId":"u"}`, nil, 400, "missing_value"},
		{"nobody", "/events", public, `{"name":"x"}`, nil, 400, "distinctId or anonymousId"},
		{"unknown type", "/batch", public, `{"items":[{"type":"telepathy","distinctId":"u"}]}`, nil, 400, "unknown_type"},
		{"no items", "/batch", public, `{"items":[]}`, nil, 400, "no item"},
		{"oversize body", "/events", public, `{"name":"x","distinctId":"u","properties":{"a":"` + strings.Repeat("a", event.MaxRequestBytes) + `"}}`, nil, 413, "payload_too_large"},
		{"oversize event", "/events", public, `{"name":"x","distinctId":"u","properties":{"a":"` + strings.Repeat("a", event.MaxEventBytes) + `"}}`, nil, 400, "too_large"},
		{"properties of 60 KiB", "/events", public, `{"name":"large","id":"large","distinctId":"u","properties":{"a":"` + strings.Repeat("a", 60<<10) + `"}}`, nil, 202, `"accepted":1`},
		{"bad gzip", "/events", public, "\x1f\x8bnonsense", map[string]string{"Content-Encoding": "gzip"}, 400, "invalid_encoding"},
		{"unknown encoding", "/events", public, "{}", map[string]string{"Content-Encoding": "lzma"}, 415, "unsupported_media_type"},
		{"unknown key", "/events", "svc_pub_prod_nonsense", `{"name":"x","distinctId":"u"}`, nil, 401, "unauthorized"},
		{"no key", "/events", "", `{"name":"x","distinctId":"u"}`, nil, 401, "No ingest key"},
		{"access token", "/events", s.boot.Token, `{"name":"x","distinctId":"u"}`, nil, 401, "This is an access token"},
		{"two keys", "/events", public, `{"name":"x","distinctId":"u"}`, map[string]string{"X-SVC-Key": secret}, 401, "two different"},
		{"future", "/events", public, `{"name":"future","id":"future","distinctId":"u","ts":"` + day(30) + `"}`, nil, 202, `"accepted":1`},
		{"ancient, public key", "/events", public, `{"name":"x","distinctId":"u","ts":"` + day(-4) + `"}`, nil, 400, "too_old"},
		{"ancient, secret key", "/events", secret, `{"name":"old","id":"old","distinctId":"u","ts":"` + day(-30) + `"}`, nil, 202, `"accepted":1`},
		{"beyond retention", "/events", secret, `{"name":"x","distinctId":"u","ts":"` + day(-4000) + `"}`, nil, 400, "too_old"},
		{"no timestamp", "/events", public, `{"name":"x","distinctId":"u","ts":"yesterday"}`, nil, 400, "ISO 8601"},
		{"NUL byte", "/events", public, `{"name":"x\u0000y","distinctId":"u"}`, nil, 400, "NUL"},
		{"NUL in properties", "/events", public, `{"name":"x","distinctId":"u","properties":{"a":"\u0000"}}`, nil, 400, "NUL"},
		{"invalid UTF-8", "/events", public, "{\"name\":\"\xff\xfe\",\"distinctId\":\"u\"}", nil, 400, "invalid_utf8"},
		{"deep properties", "/events", public, `{"name":"x","distinctId":"u","properties":{"a":{"b":{"c":{"d":{"e":1}}}}}}`, nil, 400, "too_deep"},
		{"properties no object", "/events", public, `{"name":"x","distinctId":"u","properties":[1]}`, nil, 400, "not an object"},
		{"beacon", "/events?beacon=1&key=" + public, "", `{"name":"beacon","id":"beacon","distinctId":"u"}`, nil, 204, ""},
		{"key in body", "/batch", "", `{"writeKey":"` + public + `","items":[{"type":"event","name":"body","id":"body","distinctId":"u"}]}`, nil, 202, `"accepted":1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.call("POST", "/api/v1"+c.path, c.key, []byte(c.body), c.header)
			if got.status != c.status || !strings.Contains(string(got.body), c.contains) {
				t.Errorf("%d %s, want %d with %q", got.status, got.body, c.status, c.contains)
			}
		})
	}
	bomb := gzipped(t, bytes.Repeat([]byte("0"), event.MaxInflatedBytes+2))
	if got := s.call("POST", "/api/v1/events", public, bomb, map[string]string{"Content-Encoding": "gzip"}); got.status != 413 {
		t.Errorf("a bomb: %d %s", got.status, got.body)
	}
	good := gzipped(t, []byte(`{"name":"zipped","id":"zipped","distinctId":"u"}`))
	if got := s.call("POST", "/api/v1/events", public, good, map[string]string{"Content-Encoding": "gzip"}); got.status != 202 {
		t.Errorf("a gzip body: %d %s", got.status, got.body)
	}
	s.settled()
	seen := map[string]bool{}
	for _, row := range s.feed() {
		seen[row["id"].(string)] = true
	}
	for _, id := range []string{"beside", "large", "future", "old", "beacon", "body", "zipped"} {
		if !seen[id] {
			t.Errorf("the event %q is not stored", id)
		}
		delete(seen, id)
	}
	if len(seen) > 0 {
		t.Errorf("stored besides: %v", seen)
	}
}

// TestOriginsOfPublicKeys checks which origins may send from a browser.
func TestOriginsOfPublicKeys(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	public, secret := s.boot.Keys["production"].Public, s.boot.Keys["production"].Secret
	patched := s.call("PATCH", appPath, s.boot.Token, []byte(`{"allowedOrigins":["https://Shop.example.com/"]}`), nil)
	if patched.status != 200 {
		t.Fatalf("setting origins: %d %s", patched.status, patched.body)
	}
	event := []byte(`{"name":"x","distinctId":"u"}`)
	for _, c := range []struct {
		name, key, origin string
		status            int
	}{
		{"allowed", public, "https://shop.example.com", 202},
		{"foreign", public, "https://evil.example.com", 403},
		{"no browser", public, "", 202},
		{"secret key", secret, "https://evil.example.com", 202},
	} {
		header := map[string]string{}
		if c.origin != "" {
			header["Origin"] = c.origin
		}
		got := s.call("POST", "/api/v1/events", c.key, event, header)
		if got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
		}
		if c.origin != "" && got.header.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%s: a page could not read the answer: %v", c.name, got.header)
		}
	}
	preflight := s.call("OPTIONS", "/api/v1/events", "", nil, map[string]string{
		"Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type",
	})
	if preflight.status != 204 || preflight.header.Get("Access-Control-Allow-Headers") != "authorization,content-type" {
		t.Errorf("preflight: %d %v", preflight.status, preflight.header)
	}
}

// TestASecondProcessIsToldWhoHoldsTheData opens the same folder twice.
func TestASecondProcessIsToldWhoHoldsTheData(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	n := newNode(s.node.config, s.node.logger)
	if err := n.open(context.Background()); err == nil || !strings.Contains(err.Error(), "another svc process") {
		t.Errorf("got %v", err)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// TestTheLiveViewFollowsTheStream reads the live view before and while events arrive, and after a restart.
func TestTheLiveViewFollowsTheStream(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	want := func(s *server, visitors, pageviews, top float64) {
		t.Helper()
		eventually(t, fmt.Sprintf("the live view shows %v visitors", visitors), func() error {
			live := s.get(appPath + "/analytics/live")
			pages := live["pages"].([]any)
			if live["visitors"] != visitors || live["pageviews"] != pageviews || visitors > 0 && pages[0].(map[string]any)["visitors"] != top {
				return fmt.Errorf("%v", live)
			}
			return nil
		})
	}
	want(s, 0, 0, 0)
	for n := range 30 {
		s.send(item(fmt.Sprintf("live-%d", n), fmt.Sprintf("visitor-%d", n%10), fmt.Sprintf("/%d", n%2), time.Now()))
	}
	want(s, 10, 30, 5)
	s.send(item("old", "somebody", "/", time.Now().Add(-time.Hour)))
	s.settled()
	want(s, 10, 30, 5)
	s.stopped()
	again := startServer(t, dir, nil)
	want(again, 10, 30, 5)
	again.send(item("new", "newcomer", "/1", time.Now()))
	want(again, 11, 31, 6)
}
