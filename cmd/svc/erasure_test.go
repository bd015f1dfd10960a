package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/http/route"
)

// erase erases a person and returns the answer.
func (s *server) erase(t *testing.T, person string) map[string]any {
	t.Helper()
	got := s.call("DELETE", appPath+"/people/"+person, s.boot.Token, nil, nil)
	if got.status != 202 {
		t.Fatalf("erasing the person: %d %s", got.status, got.body)
	}
	return object(t, got.body)
}

// TestAnErasedPersonIsGone plants a person in every place where people leave traces, and erases the person. It searches
// for the texts in every answer at once, and in every file of the data directory after the bound. Numbers agree, and an
// id that sends again is another person.
func TestAnErasedPersonIsGone(t *testing.T) {
	dir := t.TempDir()
	env := mailed(refusesPlanted(t))
	env["SVC_ERASURE_DELAY"], env["SVC_LOG_RETENTION"] = "3s", "1h"
	s := startServer(t, dir, env)
	shortenOldParts(t, s)
	ids := s.plant(t)
	s.writesTo(t, 1)
	s.send(item("other-1", "somebody", "/account", time.Now().Add(-time.Hour)), item("other-2", "somebody", "/b", time.Now().Add(-time.Hour)))
	s.report(map[string]any{"name": "OtherError", "message": "of somebody", "distinctId": "somebody"})
	s.bill(t)
	s.settled()
	before := s.get(appPath + "/analytics/overview?range=24h")
	billed, customers := s.billed(t)
	if !slices.Equal(customers, []string{"plant-device", "somebody", planted["e-mail"]}) {
		t.Errorf("before the erasure the customers are %q", customers)
	}
	if got := s.call("DELETE", appPath+"/people/"+ids["person"], s.viewerToken(t), nil, nil); got.status != 403 {
		t.Fatalf("a viewer erases: %d %s", got.status, got.body)
	}
	if live := s.call("GET", appPath+"/analytics/live", s.boot.Token, nil, nil); len(shownIn(live.body)) == 0 {
		t.Errorf("the live view shows nothing of the person: %s", live.body)
	}
	answer := s.erase(t, ids["person"])
	if answer["status"] != "hidden" || answer["requestId"] == "" || answer["completesBy"] == nil {
		t.Errorf("the answer is %v", answer)
	}
	s.nowhereInAnswers(t, ids)
	hidden := s.billsNobody(t, billed)
	if got := s.call("DELETE", appPath+"/people/"+ids["person"], s.boot.Token, nil, nil); got.status != 404 {
		t.Errorf("an erased person is erased again: %d %s", got.status, got.body)
	}
	s.send(item("back", "plant-device", "/back", time.Now()))
	s.settled()
	eventually(t, "the id that sends again is a new person", func() error {
		rows := s.get(appPath + "/people?q=plant-device")["data"].([]any)
		if len(rows) != 1 || rows[0].(map[string]any)["events"] != 1.0 || rows[0].(map[string]any)["id"] == ids["person"] || rows[0].(map[string]any)["name"] != nil {
			return fmt.Errorf("%v", rows)
		}
		return nil
	})
	eventually(t, "the erasure is complete", func() error {
		rows := s.get(appPath + "/erasures")["data"].([]any)
		if row := rows[0].(map[string]any); len(rows) != 1 || row["status"] != "complete" {
			return fmt.Errorf("%v", rows)
		}
		return nil
	})
	removed := s.get(appPath + "/erasures")["data"].([]any)[0].(map[string]any)["removed"].(map[string]any)
	if removed["events"] != 6.0 || removed["occurrences"] != 1.0 || removed["ids"] != 2.0 {
		t.Errorf("removed: %v", removed)
	}
	s.numbersAgree(t, before)
	if stored := s.billsNobody(t, billed); !slices.Equal(stored, hidden) {
		t.Errorf("the customers are %q, before the rows were rewritten %q", stored, hidden)
	}
	eventuallyFiles(t, "no file but those of the log holds a planted text", func() error {
		for _, file := range filesWith(t, dir) {
			if !strings.HasPrefix(file, filepath.Join(dir, "log")) {
				return fmt.Errorf("%s does", file)
			}
		}
		return nil
	})
}

// bill sends billing items for the planted person under both ids, and for another person.
func (s *server) bill(t *testing.T) {
	t.Helper()
	item := `{"type":"subscription","id":"%s","ts":"%s","subscriptionId":"sub-%s","customerId":"%s","plan":"Team","status":"active","currency":"EUR","amountCents":%d,"interval":"month"}`
	ts := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	var items []string
	for n, customer := range []string{planted["e-mail"], "plant-device", "somebody"} {
		items = append(items, fmt.Sprintf(item, fmt.Sprint("bill-", n), ts, fmt.Sprint(n), customer, 1000*(n+1)))
	}
	payment := `{"type":"payment","ts":"` + ts + `","paymentId":"pay-1","customerId":"` + planted["e-mail"] + `","amountCents":1000,"currency":"EUR"}`
	got := s.call("POST", "/api/v1/revenue", s.boot.Keys["production"].Secret, []byte("["+strings.Join(append(items, payment), ",")+"]"), nil)
	if got.status != 202 {
		t.Fatalf("billing: %d %s", got.status, got.body)
	}
	eventually(t, "the items are counted", func() error {
		if totals := s.get(appPath + "/revenue/overview?range=7d")["totals"].(map[string]any); totals["mrrCents"] != 6000.0 || totals["paymentsCents"] != 1000.0 {
			return fmt.Errorf("%v", totals)
		}
		return nil
	})
}

// billed returns the headline of the revenue, and the paying customers of the movements, sorted.
func (s *server) billed(t *testing.T) (totals string, customers []string) {
	t.Helper()
	for _, row := range s.get(appPath + "/revenue/movements?range=7d")["data"].([]any) {
		customers = append(customers, row.(map[string]any)["customerId"].(string))
	}
	slices.Sort(customers)
	return fmt.Sprint(s.get(appPath + "/revenue/overview?range=7d")["totals"]), customers
}

// billsNobody fails if the erasure changed the revenue, or if the revenue names one of the erased ids. It returns the
// named customers.
func (s *server) billsNobody(t *testing.T, before string) []string {
	t.Helper()
	totals, customers := s.billed(t)
	if totals != before {
		t.Errorf("the revenue is %s, before the erasure %s", totals, before)
	}
	if len(customers) != 3 || !strings.HasPrefix(customers[0], "erased_") || !strings.HasPrefix(customers[1], "erased_") || customers[0] == customers[1] || customers[2] != "somebody" {
		t.Errorf("the customers are %q", customers)
	}
	return customers
}

// numbersAgree compares numbers that are counted in several ways.
func (s *server) numbersAgree(t *testing.T, before map[string]any) {
	t.Helper()
	eventually(t, "the numbers are those of the others", func() error {
		overview := s.get(appPath + "/analytics/overview?range=24h")
		if fmt.Sprint(overview) == fmt.Sprint(before) {
			return fmt.Errorf("the overview is as before: %v", overview)
		}
		names := map[string]any{}
		for _, row := range s.get(appPath + "/events/names?range=24h")["data"].([]any) {
			names[row.(map[string]any)["name"].(string)] = row.(map[string]any)["count"]
		}
		if fmt.Sprint(names) != "map[page_view:3]" {
			return fmt.Errorf("names %v", names)
		}
		if events := s.feed(); len(events) != 3 {
			return fmt.Errorf("%d events", len(events))
		}
		if text := fmt.Sprint(overview); !strings.Contains(text, "pageviews:3") || !strings.Contains(text, "visitors:2") {
			return fmt.Errorf("the overview is %v", overview)
		}
		return nil
	})
}

// nowhereInAnswers requests every reading row with the owner's token.
func (s *server) nowhereInAnswers(t *testing.T, ids map[string]string) {
	t.Helper()
	s.showsNobody(t, s.node.handler.Routes(), ids)
}

// showsNobody requests the reading rows among some rows.
func (s *server) showsNobody(t *testing.T, rows []route.Route, ids map[string]string) {
	t.Helper()
	for _, row := range rows {
		if row.Surface != route.Manage || row.Method != http.MethodGet {
			continue
		}
		for _, query := range append(maskedQuestions()[row.Operation], "") {
			got := s.call(row.Method, filled(row, ids)+"?"+query, s.boot.Token, nil, map[string]string{"Accept": "application/json"})
			if words := shownIn(got.body); len(words) > 0 {
				t.Errorf("%s %s shows %v: %s", row.Operation, query, words, excerpt(got.body))
			}
		}
	}
}

// shortenOldParts makes the engine drop replaced parts at once.
func shortenOldParts(t *testing.T, s *server) {
	t.Helper()
	var err error
	tables := []string{
		"events", "visits", "names", "newcomers", "profiles", "arrivals", "entries", "traits", "links", "aliases", "roots", "splits", "activations", "occurrences", "issues",
		"issue_users", "issue_releases", "event_counts", "traffic", "entities", "dead_letters", "deliveries", "billing",
	}
	for _, table := range tables {
		if err == nil {
			err = s.node.db.Exec(t.Context(), "ALTER TABLE "+table+" MODIFY SETTING old_parts_lifetime = 1", nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// filesWith returns the files below a folder that contain a planted text.
func filesWith(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the engine removes files meanwhile
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the engine removed it
		}
		for _, word := range planted {
			if bytes.Contains(content, []byte(word)) {
				found = append(found, path)
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
