package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const errorsPath = appPath + "/errors"

// report sends errors of production and expects all accepted.
func (s *server) report(items ...map[string]any) {
	s.t.Helper()
	body, err := json.Marshal(items)
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.call("POST", "/api/v1/errors", s.boot.Keys["production"].Public, body, nil)
	if got.status != 202 || object(s.t, got.body)["accepted"] != float64(len(items)) {
		s.t.Fatalf("reporting %d errors: %d %s", len(items), got.status, got.body)
	}
}

// listed returns the issues of a list, and its counts.
func (s *server) listed(query string) (rows []map[string]any, counts map[string]any) {
	s.t.Helper()
	page := s.get(errorsPath + "?" + query)
	for _, row := range page["data"].([]any) {
		rows = append(rows, row.(map[string]any))
	}
	return rows, page["counts"].(map[string]any)
}

// has waits until the list of a status contains one issue with a number of occurrences.
func (s *server) has(status string, events float64) map[string]any {
	s.t.Helper()
	var found map[string]any
	eventually(s.t, fmt.Sprintf("one issue is %s with %v occurrences", status, events), func() error {
		rows, counts := s.listed("status=" + status)
		if len(rows) != 1 || rows[0]["status"] != status || rows[0]["eventCount"] != events || counts[status] != 1.0 || counts["all"] != 1.0 {
			return fmt.Errorf("%v %v", rows, counts)
		}
		found = rows[0]
		return nil
	})
	return found
}

func (s *server) patch(id, body string) map[string]any {
	s.t.Helper()
	got := s.call("PATCH", errorsPath+"/"+id, s.boot.Token, []byte(body), nil)
	if got.status != 200 {
		s.t.Fatalf("PATCH %s: %d %s", body, got.status, got.body)
	}
	return object(s.t, got.body)
}

func cartError(id, visitor string, order int) map[string]any {
	return map[string]any{
		"id": id, "name": "TypeError", "message": fmt.Sprintf("order %d of %s@example.com is empty", order, visitor), "distinctId": visitor, "release": "shop@1.2.0",
		"stack":       fmt.Sprintf("TypeError: order is empty\n    at Cart.checkout (https://shop.example/assets/index-BxT3k9aZ.js:1:%d)\n    at async submit (https://shop.example/assets/index-BxT3k9aZ.js:2:9)", order),
		"breadcrumbs": []map[string]any{{"timestamp": "2026-11-20T10:00:00.000Z", "category": "ui.click", "message": "button#buy"}},
		"tags":        map[string]any{"plan": "pro", "beta": true, "cells": 3}, "extra": map[string]any{"cart": map[string]any{"items": []int{1, 2}}},
		"request": map[string]any{"method": "POST", "url": "https://shop.example/api/checkout", "status": 500}, "handled": false, "mechanism": "onerror",
		"url": "https://shop.example/checkout?step=2",
	}
}

// TestAnIssueLives sends errors, lists, resolves, and sends again, across a restart.
func TestAnIssueLives(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	s.report(cartError("e1", "ada", 17), cartError("e2", "bob", 18), cartError("e2", "bob", 18))
	row := s.has("open", 2)
	id := row["id"].(string)
	if row["title"] != "TypeError: order 18 of bob@example.com is empty" || row["culprit"] != "Cart.checkout (/assets/index.js)" || row["userCount"] != 2.0 ||
		row["releaseFirst"] != "shop@1.2.0" || row["level"] != "error" || !strings.HasPrefix(row["fingerprint"].(string), "v3-") {
		t.Errorf("row %v", row)
	}
	s.settled() // the tables of one insert are filled one after another
	if spark := s.has("open", 2)["spark"].([]any); len(spark) != 7 || spark[6].(float64)+spark[5].(float64) != 2 {
		t.Errorf("spark %v", spark)
	}
	if got := s.patch(id, `{"status":"resolved"}`); got["previousStatus"] != "open" || got["status"] != "resolved" || got["id"] != id || got["title"] != row["title"] {
		t.Errorf("resolving: %v", got)
	}
	s.has("resolved", 2)
	s.report(cartError("e1", "ada", 17)) // a duplicate is not an occurrence
	s.settled()
	s.has("resolved", 2)
	s.report(cartError("e3", "ada", 19))
	s.has("regressed", 3)
	s.patch(id, `{"status":"ignored"}`)
	s.report(cartError("e4", "ada", 19))
	s.has("ignored", 4)
	if got := s.patch(id, `{"status":"resolved","resolvedInRelease":"shop@1.3.0"}`); got["previousStatus"] != "ignored" {
		t.Errorf("resolving: %v", got)
	}
	s.report(cartError("e5", "ada", 20)) // of an older release
	s.settled()
	s.has("resolved", 5)
	s.stopped()

	again := startServer(t, dir, nil)
	again.has("resolved", 5)
	fixed := cartError("e6", "eve", 21)
	fixed["release"] = "shop@1.3.0"
	again.report(fixed)
	again.has("regressed", 6)
	if got := again.patch(id, `{"status":"unresolved"}`); got["previousStatus"] != "regressed" || got["status"] != "open" {
		t.Errorf("reopening: %v", got)
	}
	again.inFull(id)
}

// inFull reads all data of the issue.
func (s *server) inFull(id string) {
	t := s.t
	t.Helper()
	detail := s.get(errorsPath + "/" + id)
	if detail["eventCount"] != 6.0 || detail["userCount"] != 3.0 || len(detail["daily"].([]any)) != 30 || detail["assignee"] != nil || detail["regressedAt"] == nil {
		t.Errorf("detail %v", detail)
	}
	releases := detail["releases"].([]any)
	if len(releases) != 2 || releases[0].(map[string]any)["release"] != "shop@1.3.0" || releases[1].(map[string]any)["eventCount"] != 5.0 {
		t.Errorf("releases %v", releases)
	}
	tags := map[string]any{}
	for _, tag := range detail["tags"].([]any) {
		tags[tag.(map[string]any)["key"].(string)] = tag.(map[string]any)["values"]
	}
	if !reflect.DeepEqual(tags["plan"], []any{map[string]any{"value": "pro", "count": 6.0}}) || tags["handled"] == nil || tags["beta"] == nil {
		t.Errorf("tags %v", tags)
	}
	overview := s.get(errorsPath + "/overview?range=24h")
	if !reflect.DeepEqual(overview["totals"], map[string]any{"events": 6.0, "issues": 1.0, "users": 3.0}) || overview["newIssues"] != 1.0 || overview["regressedIssues"] != 1.0 ||
		len(overview["noisiest"].([]any)) != 1 {
		t.Errorf("overview %v", overview)
	}
	page := s.get(errorsPath + "/" + id + "/events?limit=4")
	rows := page["data"].([]any)
	if len(rows) != 4 || rows[0].(map[string]any)["id"] != "e6" || page["nextCursor"] == nil {
		t.Errorf("events %v", page)
	}
	if rest := s.get(errorsPath + "/" + id + "/events?limit=4&cursor=" + page["nextCursor"].(string))["data"].([]any); len(rest) != 2 {
		t.Errorf("the second page %v", rest)
	}
	one := s.get(errorsPath + "/" + id + "/events/e3")
	want := map[string]any{"file": "https://shop.example/assets/index-BxT3k9aZ.js", "function": "Cart.checkout", "line": 1.0, "column": 19.0, "inApp": true, "unmapped": "no source map was uploaded for it"}
	if frames := one["frames"].([]any); len(frames) != 2 || !reflect.DeepEqual(frames[0], want) {
		t.Errorf("frames %v", frames)
	}
	if one["handled"] != false || one["mechanism"] != "onerror" || one["path"] != "/checkout" || !reflect.DeepEqual(one["tags"], map[string]any{"plan": "pro", "beta": "true", "cells": "3"}) ||
		!reflect.DeepEqual(one["request"], map[string]any{
			"method": "POST", "url": "https://shop.example/api/checkout", "status": 500.0, "query": nil, "headers": map[string]any{}, "data": nil,
		}) ||
		fmt.Sprint(one["extra"]) != "map[cart:map[items:[1 2]]]" || one["issueId"] != id || one["distinctId"] != "ada" {
		t.Errorf("occurrence %v", one)
	}
	for _, path := range []string{id + "/events/none", "iss_0000000000000/events/e3", id + "/events/e3?env=staging", "overviews", "iss_x"} {
		if got := s.call("GET", errorsPath+"/"+path, s.boot.Token, nil, nil); got.status != 404 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestIssuesMergeAndPart checks that a merged issue counts and regresses as one.
func TestIssuesMergeAndPart(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	report := func(word, id string) {
		s.report(map[string]any{"name": "Timeout", "message": "the " + word + " is slow", "id": id, "distinctId": "u"})
	}
	report("shop", "a1")
	report("till", "b1")
	report("till", "b2")
	ids := map[string]string{}
	eventually(t, "two issues are listed", func() error {
		rows, _ := s.listed("sort=count")
		if len(rows) != 2 || rows[0]["eventCount"] != 2.0 {
			return fmt.Errorf("%v", rows)
		}
		ids["till"], ids["shop"] = rows[0]["id"].(string), rows[1]["id"].(string)
		return nil
	})
	session := s.session()
	merge := func(verb, root, part string, status int) {
		t.Helper()
		got := s.call("POST", "/console/api/v1/apps/acme/web/errors/"+root+"/"+verb, session, []byte(`{"issueIds":["`+part+`"]}`), nil)
		if got.status != status {
			t.Fatalf("%s %s %s: %d %s, want %d", verb, root, part, got.status, got.body, status)
		}
	}
	merge("merge", ids["shop"], ids["shop"], 409)
	merge("merge", ids["shop"], "iss_0000000000000", 400)
	merge("merge", ids["shop"], ids["till"], 200)
	merge("merge", ids["shop"], ids["till"], 200)
	if row := s.has("open", 3); row["id"] != ids["shop"] || row["userCount"] != 1.0 {
		t.Errorf("merged: %v", row)
	}
	s.patch(ids["till"], `{"status":"resolved"}`) // the old address stands for the merged issue
	s.has("resolved", 3)
	report("till", "b3")
	s.has("regressed", 4)
	if page := s.get(errorsPath + "/" + ids["shop"] + "/events"); len(page["data"].([]any)) != 4 {
		t.Errorf("events %v", page)
	}
	merge("unmerge", ids["shop"], ids["till"], 200)
	merge("unmerge", ids["shop"], ids["till"], 404)
	rows, counts := s.listed("status=all&sort=count")
	if len(rows) != 2 || rows[0]["id"] != ids["till"] || rows[0]["eventCount"] != 3.0 || rows[0]["status"] != "open" || rows[1]["status"] != "regressed" ||
		counts["open"] != 1.0 || counts["regressed"] != 1.0 {
		t.Errorf("unmerged: %v %v", rows, counts)
	}
}

// TestBadErrorsAreAnswered is the table of invalid error input.
func TestBadErrorsAreAnswered(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	public := s.boot.Keys["production"].Public
	deep := strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)
	for _, c := range []struct {
		name, path, body string
		status           int
		contains         string
	}{
		{"nothing said", "/errors", `{"distinctId":"u"}`, 400, "missing_value"},
		{"unknown level", "/errors", `{"name":"x","level":"awful"}`, 400, "invalid_value"},
		{"frames no list", "/errors", `{"name":"x","frames":{}}`, 400, "invalid_type"},
		{"line no number", "/errors", `{"name":"x","frames":[{"line":"1"}]}`, 400, "invalid_type"},
		{"fingerprint no list", "/errors", `{"name":"x","fingerprint":"y"}`, 400, "invalid_type"},
		{"long fingerprint", "/errors", `{"name":"x","fingerprint":["` + strings.Repeat(`a","`, 20) + `"]}`, 400, "too_many"},
		{"extra no object", "/errors", `{"name":"x","extra":[1]}`, 400, "not an object"},
		{"status no status", "/errors", `{"name":"x","request":{"status":70000}}`, 400, "invalid_value"},
		{"long id", "/errors", `{"name":"x","id":"` + strings.Repeat("i", 201) + `"}`, 400, "too_long"},
		{"NUL in the id", "/errors", `{"name":"x","id":"a\u0000"}`, 400, "NUL"},
		{"too old", "/errors", `{"name":"x","ts":"2001-01-01T00:00:00Z"}`, 400, "too_old"},
		{"no time", "/errors", `{"name":"x","ts":"noon"}`, 400, "ISO 8601"},
		{"no JSON", "/errors", `{"name":`, 400, "invalid_json"},
		{"beside a good event", "/batch", `{"items":[{"type":"event","name":"ok","distinctId":"u"},{"type":"error"},{"type":"error","message":"m"}]}`, 202, `"accepted":2,"rejected":[{"index":1`},
		{"a list", "/errors", `[{"message":"m"},{"message":"m"}]`, 202, `"accepted":2`},
		{"nobody", "/errors", `{"message":"nobody","id":"n"}`, 202, `"accepted":1`},
		{"deep extra", "/errors", `{"message":"nobody","id":"deep","extra":` + deep + `}`, 202, `"accepted":1`},
		{"long extra", "/errors", `{"message":"nobody","id":"long","extra":{"a":"` + strings.Repeat("a", 17<<10) + `"}}`, 202, `"accepted":1`},
		{"NUL in the message", "/errors", `{"message":"nob\u0000ody","id":"nul"}`, 202, `"accepted":1`},
		{"frames without end", "/errors", `{"message":"nobody","id":"frames","frames":[` + strings.Repeat(`{"file":"a.go","function":"f","line":1,"inApp":false},`, 5000) + `{"file":"z.go"}]}`, 202, `"accepted":1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.call("POST", "/api/v1"+c.path, public, []byte(c.body), nil)
			if got.status != c.status || !strings.Contains(string(got.body), c.contains) {
				t.Errorf("%d %s, want %d with %q", got.status, got.body, c.status, c.contains)
			}
		})
	}
	s.settled()
	rows, _ := s.listed("q=NOBODY&sort=count")
	if len(rows) != 2 || rows[0]["eventCount"] != 4.0 || rows[0]["userCount"] != 0.0 {
		t.Fatalf("issues %v", rows)
	}
	id := rows[0]["id"].(string)
	for event, want := range map[string]string{"deep": "map[_dropped:too_deep]", "long": "map[_dropped:too_large]", "nul": "map[]"} {
		if one := s.get(errorsPath + "/" + id + "/events/" + event); fmt.Sprint(one["extra"]) != want || one["message"] != "nobody" {
			t.Errorf("%s: %v", event, one)
		}
	}
	if frames := s.get(errorsPath + "/" + rows[1]["id"].(string) + "/events/frames")["frames"].([]any); len(frames) != 100 || frames[99].(map[string]any)["file"] != "z.go" {
		t.Errorf("%d frames", len(frames))
	}
}
