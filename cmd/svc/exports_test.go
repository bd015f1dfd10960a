package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/importer"
	"svc/storage/clickhouse/clickhousetest"
)

// export requests an export and waits until it is ready; it returns its answer.
func (s *server) export(t *testing.T, token, spec string) map[string]any {
	t.Helper()
	got := s.call("POST", appPath+"/exports", token, []byte(spec), nil)
	if got.status != 201 {
		t.Fatalf("asking for an export %s: %d %s", spec, got.status, got.body)
	}
	return s.ready(t, token, object(t, got.body)["id"].(string))
}

// ready waits until an export is ready.
func (s *server) ready(t *testing.T, token, id string) (one map[string]any) {
	t.Helper()
	eventually(t, "the export is ready", func() error {
		if one = object(t, s.call("GET", appPath+"/exports/"+id, token, nil, nil).body); one["status"] != "ready" {
			return fmt.Errorf("%v", one)
		}
		return nil
	})
	return one
}

// fetch fetches a link without credentials.
func (s *server) fetch(link any) answer {
	parsed, err := url.Parse(link.(string))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.call("GET", parsed.RequestURI(), "", nil, nil)
}

// linesOf decodes lines of JSON.
func linesOf(t *testing.T, body []byte) (lines []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(body) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		lines = append(lines, one)
	}
	return lines
}

// TestExportsHoldWhatListsShow exports a person, events and people, and compares them with the lists. Exports are
// masked for callers that see masked data. Their links cannot be forged. Erased people are absent, also from files that
// were ready before.
func TestExportsHoldWhatListsShow(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_ERASURE_DELAY": "1s", "SVC_LOG_RETENTION": "1h"})
	ids := s.plant(t)
	s.send(item("other-1", "somebody", "/a,b", time.Now().Add(-time.Hour)))
	s.settled()
	viewer := s.viewerToken(t)
	events := s.export(t, s.boot.Token, `{"kind":"events"}`)
	if got, want := linesOf(t, s.fetch(events["url"]).body), s.feed(); fmt.Sprint(got) != fmt.Sprint(want) || events["rows"] != float64(len(want)) {
		t.Errorf("the file holds %v\nthe feed %v", got, want)
	}
	named := s.export(t, s.boot.Token, `{"kind":"events","name":"checkout","from":"2020-01-01T00:00:00Z"}`)
	if got := linesOf(t, s.fetch(named["url"]).body); len(got) != 1 || got[0]["name"] != "checkout" {
		t.Errorf("events of a name: %v", got)
	}
	people := s.export(t, s.boot.Token, `{"kind":"people","format":"csv"}`)
	table, err := csv.NewReader(bytes.NewReader(s.fetch(people["url"]).body)).ReadAll()
	if rows := s.get(appPath + "/people")["data"].([]any); err != nil || len(table) != len(rows)+1 || table[2][0] != rows[1].(map[string]any)["id"] {
		t.Errorf("people: %v %v, not %v", err, table, rows)
	}
	parquet := s.fetch(s.export(t, s.boot.Token, `{"kind":"people","format":"parquet"}`)["url"])
	if !bytes.HasPrefix(parquet.body, []byte("PAR1")) || !bytes.HasSuffix(parquet.body, []byte("PAR1")) || !strings.HasSuffix(parquet.header.Get("Content-Disposition"), `.parquet"`) {
		t.Errorf("the Parquet file: %v %d bytes", parquet.header, len(parquet.body))
	}
	s.exportedPerson(t, ids["person"], viewer)
	s.linksOfExports(t, events, viewer)
	masked := s.export(t, viewer, `{"kind":"people"}`)
	if file := s.fetch(masked["url"]); len(shownIn(file.body)) > 0 || len(linesOf(t, file.body)) != 2 {
		t.Errorf("a masked file: %s", file.body)
	}
	if s.rowsOfExports(t) == 0 {
		t.Error("no row of an export holds a planted text before the erasure")
	}
	s.erase(t, ids["person"])
	for _, one := range []map[string]any{events, people, masked} {
		if got := s.fetch(one["url"]); got.status != 404 {
			t.Errorf("a file of before the erasure: %d %s", got.status, got.body)
		}
	}
	if one := s.get(appPath + "/exports/" + events["id"].(string)); one["status"] != "withdrawn" || one["url"] != nil {
		t.Errorf("the export of before: %v", one)
	}
	again := s.export(t, s.boot.Token, `{"kind":"events"}`)
	if got := s.fetch(again["url"]); len(shownIn(got.body)) > 0 || len(linesOf(t, got.body)) != 1 {
		t.Errorf("events after the erasure: %s", got.body)
	}
	eventually(t, "no row of an export holds a planted text", func() error {
		if rows := s.rowsOfExports(t); rows > 0 {
			return fmt.Errorf("%d do", rows)
		}
		return nil
	})
}

// rowsOfExports counts the stored rows of exports that contain a planted text. They are compressed, so the files cannot
// be searched for the texts.
func (s *server) rowsOfExports(t *testing.T) (rows uint64) {
	t.Helper()
	for _, word := range planted {
		rows += clickhousetest.Ask[uint64](t, s.node.db.StateStore.Conn(), "SELECT countIf(position(line, '"+word+"') > 0) FROM export_rows")
	}
	return rows
}

// exportedPerson compares the export of a person with the dossier and the timeline.
func (s *server) exportedPerson(t *testing.T, person, viewer string) {
	t.Helper()
	path := appPath + "/people/" + person + "/export"
	got := s.call("GET", path, s.boot.Token, nil, nil)
	lines := linesOf(t, got.body)
	entries := s.get(appPath + "/people/" + person + "/timeline?limit=200")["data"].([]any)
	if got.header.Get("Content-Type") != "application/x-ndjson" || len(lines) != len(entries)+1 || lines[0]["kind"] != "person" {
		t.Fatalf("the export of a person: %v %s", got.header, got.body)
	}
	if dossier := s.get(appPath + "/people/" + person); fmt.Sprint(lines[0]["data"].(map[string]any)["traits"]) != fmt.Sprint(dossier["traits"]) || len(shownIn(got.body)) != len(planted) {
		t.Errorf("the person: %v, not %v", lines[0], dossier)
	}
	for i, entry := range entries {
		if fmt.Sprint(lines[i+1]) != fmt.Sprint(entry) {
			t.Errorf("entry %d: %v, not %v", i, lines[i+1], entry)
		}
	}
	if refused := s.call("GET", path, viewer, nil, nil); refused.status != 403 || len(shownIn(refused.body)) > 0 {
		t.Errorf("a viewer exports: %d %s", refused.status, refused.body)
	}
}

// linksOfExports tries forged links.
func (s *server) linksOfExports(t *testing.T, export map[string]any, viewer string) {
	t.Helper()
	link, err := url.Parse(export["url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	tampered := func(change func(path *string, query url.Values)) string {
		copied, query := *link, link.Query()
		change(&copied.Path, query)
		copied.RawQuery = query.Encode()
		return copied.String()
	}
	for name, other := range map[string]string{
		"another code":        tampered(func(_ *string, q url.Values) { q.Set("code", strings.Repeat("A", len(q.Get("code")))) }),
		"no code":             tampered(func(_ *string, q url.Values) { q.Del("code") }),
		"a later end":         tampered(func(_ *string, q url.Values) { q.Set("until", "9999999999") }),
		"another run":         tampered(func(_ *string, q url.Values) { q.Set("run", "1") }),
		"another application": tampered(func(path *string, _ url.Values) { *path = strings.Replace(*path, "/web/", "/other/", 1) }),
	} {
		if got := s.fetch(other); got.status != 404 {
			t.Errorf("a link with %s: %d %s", name, got.status, got.body)
		}
	}
	if one := object(t, s.call("GET", appPath+"/exports/"+export["id"].(string), viewer, nil, nil).body); one["url"] != nil || one["masked"] != false {
		t.Errorf("a viewer gets a link to a file that is not masked: %v", one)
	}
}

// TestAnExportImportsElsewhere imports the export of one environment into others, each file twice, and expects the same
// people: with the same counters from events, with the same ids and traits from the table.
func TestAnExportImportsElsewhere(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	s.plant(t)
	at := time.Now().Add(-2 * time.Hour)
	s.send(
		item("i-1", "ada", "/", at), item("i-2", "old-ada", "/x?utm_source=news", at.Add(time.Minute)),
		map[string]any{"type": "alias", "id": "i-3", "distinctId": "ada", "previousId": "old-ada", "ts": at.Add(2 * time.Minute).Format(time.RFC3339Nano)},
		map[string]any{"type": "event", "id": "i-4", "name": "order", "distinctId": "ada", "value": 12.5, "currency": "EUR", "properties": map[string]any{"items": []int{1}}, "ts": at.Add(3 * time.Minute).Format(time.RFC3339Nano)},
	)
	s.settled()
	bring := func(what, spec, env, name string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, s.fetch(s.export(t, s.boot.Token, spec)["url"]).body, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var out, notices bytes.Buffer
			err := importer.Run(t.Context(), []string{what, file, "--url", s.boot.URL, "--bootstrap", filepath.Join(dir, "bootstrap.json"), "--env", env}, &out, &notices)
			if err != nil || !strings.Contains(out.String(), "rejected   0\n") {
				t.Fatalf("importing %s: %v\n%s\n%s", name, err, out.String(), notices.String())
			}
		}
		s.settled()
	}
	bring("events", `{"kind":"events"}`, "staging", "events.ndjson")
	bring("people", `{"kind":"people","format":"csv"}`, "development", "people.csv")
	identity := []string{"id", "distinctId", "email", "name", "company", "traits"}
	counted := append([]string{"distinctIds", "sessions", "events", "pageviews", "firstSource", "lastSource", "firstUrl", "firstSeenAt", "lastSeenAt", "lifecycleStage"}, identity...)
	want := s.get(appPath + "/people")["data"].([]any)
	if len(want) != 2 {
		t.Fatalf("%d people: %v", len(want), want)
	}
	for env, members := range map[string][]string{"staging": counted, "development": identity} {
		eventually(t, "the people of "+env+" are there", func() error {
			if got := s.get(appPath + "/people?env=" + env)["data"].([]any); len(got) != len(want) {
				return fmt.Errorf("%d people", len(got))
			}
			return nil
		})
		for _, one := range want {
			person := one.(map[string]any)
			got := s.get(appPath + "/people/" + person["id"].(string) + "?env=" + env)
			for _, member := range members {
				if fmt.Sprint(got[member]) != fmt.Sprint(person[member]) {
					t.Errorf("%s: %s of %v is %v, not %v", env, member, person["distinctId"], got[member], person[member])
				}
			}
		}
	}
}

// TestAnExportImportsIntoAnotherOrganization exports the events of visitors from several places and with several clients, also
// unknown ones and bots, and expects the same breakdowns in another organization (N2).
func TestAnExportImportsIntoAnotherOrganization(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	at := time.Now().Add(-2 * time.Hour)
	items := []map[string]any{}
	for n, context := range []map[string]any{
		{"ip": "193.99.144.80", "userAgent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36", "screen": "1280x720", "locale": "de-DE"},
		{"ip": "8.8.8.8", "userAgent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", "library": "shop/1.0"},
		{"ip": "8.8.8.8", "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", "campaign": map[string]any{"source": "Partner", "medium": "cpc", "name": "autumn", "term": "shoes", "content": "b"}},
		{"ip": "127.0.0.1", "userAgent": "-"},
		{"ip": "212.58.244.20", "userAgent": "Googlebot/2.1 (+http://www.google.com/bot.html)"},
		{"place": map[string]any{"country": "JP", "region": "Kansai", "city": "Osaka"}, "client": map[string]any{"device": "tv", "browser": "Couch", "browserVersion": "1.2", "os": "Sofa", "osVersion": "3"}, "userAgent": "-"},
	} {
		for view := range n + 1 {
			one := item(fmt.Sprintf("v-%d-%d", n, view), fmt.Sprintf("visitor-%d", n), fmt.Sprintf("/p/%d", view), at.Add(time.Duration(view)*time.Minute))
			one["context"] = context
			items = append(items, one)
		}
	}
	s.send(items...)
	s.settled()
	g, beta := guests{t, s}, "/api/v1/apps/beta/shop"
	g.must("orgs", "create", "--name", "Beta", "--owner", "owner@acme.example")
	owner := g.signedIn("owner@acme.example")
	owner.ask(201, "POST", "/api/v1/orgs/beta/apps", `{"name":"Shop","slug":"shop","platform":"web"}`)
	key := owner.ask(201, "POST", beta+"/keys", `{"kind":"secret","environment":"production","label":"Server"}`)["key"].(string)
	file := filepath.Join(dir, "events.ndjson")
	if err := os.WriteFile(file, s.fetch(s.export(t, s.boot.Token, `{"kind":"events"}`)["url"]).body, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var out, notices bytes.Buffer
		if err := importer.Run(t.Context(), []string{"events", file, "--url", s.boot.URL, "--key", key}, &out, &notices); err != nil || !strings.Contains(out.String(), "rejected   0\n") {
			t.Fatalf("%v\n%s\n%s", err, out.String(), notices.String())
		}
		s.settled()
	}
	if rows := s.get(appPath + "/analytics/breakdown?range=24h&dimension=country")["data"].([]any); len(rows) != 3 {
		t.Fatalf("the countries are %v", rows)
	}
	for _, dimension := range []string{"country", "region", "city", "browser", "os", "device", "source", "medium", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "path", "entry_path"} {
		query := "/analytics/breakdown?range=24h&includeBots=true&dimension=" + dimension
		if got, want := fmt.Sprint(owner.ask(200, "GET", beta+query, "")), fmt.Sprint(owner.ask(200, "GET", appPath+query, "")); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", dimension, got, want)
		}
	}
}

// TestAnExportGoesOnAfterAKill kills a server while it collects an export, and expects each event once in the file.
func TestAnExportGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	s := startChild(t, dir, nil)
	const events = 120_000
	at := time.Now().Add(-24 * time.Hour)
	for from := 0; from < events; from += 1000 {
		items := make([]map[string]any, 1000)
		for i := range items {
			n := from + i
			items[i] = item(fmt.Sprintf("e-%d", n), fmt.Sprintf("v-%d", n%997), "/p", at.Add(time.Duration(n)*100*time.Millisecond))
		}
		s.send(items...)
	}
	eventually(t, "everything is stored", func() error {
		if overview := fmt.Sprint(s.get(appPath + "/analytics/overview?range=7d")); !strings.Contains(overview, "pageviews:120000") {
			return fmt.Errorf("%s", overview)
		}
		return nil
	})
	got := s.call("POST", appPath+"/exports", s.boot.Token, []byte(`{"kind":"events"}`), nil)
	id := object(t, got.body)["id"].(string)
	for kills := 0; kills < 2; kills++ {
		begun := s.get(appPath + "/exports/" + id)["rows"]
		eventually(t, "a piece more is collected", func() error {
			if one := s.get(appPath + "/exports/" + id); one["rows"] == begun && one["status"] != "ready" {
				return fmt.Errorf("%v", one)
			}
			return nil
		})
		s.stopped()
		s = startChild(t, dir, nil)
	}
	one := s.ready(t, s.boot.Token, id)
	seen := map[string]bool{}
	for _, line := range linesOf(t, s.fetch(one["url"]).body) {
		seen[line["id"].(string)] = true
	}
	if len(seen) != events || one["rows"] != float64(events) {
		t.Errorf("%d events are in the file, %v rows", len(seen), one["rows"])
	}
}

// TestALinkEndsWithTheRightToIt removes the rights of a person with links to files: none of the links works at the next
// request.
func TestALinkEndsWithTheRightToIt(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.send(map[string]any{"type": "identify", "distinctId": "ada", "traits": map[string]any{"email": "ada@acme.example"}})
	s.settled()
	must := func(args ...string) map[string]any {
		t.Helper()
		answer, err := s.admin(args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return answer
	}
	must("members", "put", "--org", "acme", "--email", "bo@acme.example", "--role", "admin")
	token := must("tokens", "mint", "--email", "bo@acme.example", "--name", "files", "--scopes", "read,write,admin")["secret"].(string)
	people, events := s.export(t, token, `{"kind":"people"}`)["url"], s.export(t, s.viewerToken(t), `{"kind":"events"}`)["id"].(string)
	masked := s.ready(t, token, events)["url"]
	want := func(when string, plain, other int) {
		t.Helper()
		if got := s.fetch(people); got.status != plain {
			t.Errorf("%s, the file with personal data: %d %s, want %d", when, got.status, got.body, plain)
		}
		if got := s.fetch(masked); got.status != other {
			t.Errorf("%s, the masked file: %d %s, want %d", when, got.status, got.body, other)
		}
	}
	want("at first", 200, 200)
	must("members", "put", "--org", "acme", "--email", "bo@acme.example", "--role", "viewer")
	want("as a viewer", 404, 200)
	must("members", "remove", "--org", "acme", "--email", "bo@acme.example")
	want("after leaving", 404, 404)
}
