package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/occurrence"
	"svc/http/sentry"
)

// storeAsBefore stores an event as the previous version did: under the issue of the former grouping. It returns that
// issue's id.
func (s *server) storeAsBefore(payload string, at time.Time) string {
	s.t.Helper()
	app, err := s.node.apps.Get(s.t.Context(), domain.AppRef{Org: "acme", App: "web"})
	if err != nil {
		s.t.Fatal(err)
	}
	event, err := sentry.ParseEvent([]byte(payload))
	if err != nil {
		s.t.Fatal(err)
	}
	o := event.Occurrence()
	o.Normalise()
	environment := app.Environments[0].Number
	fingerprint := occurrence.FormerFingerprint(o, nil)
	o.ID, o.Ts, o.ReceivedAt = "before-"+fingerprint, at, at
	frames, err := json.Marshal(o.Frames)
	if err != nil {
		s.t.Fatal(err)
	}
	number := occurrence.IssueNumber(environment, fingerprint)
	block := s.node.db.NewBlock()
	block.AppendOccurrence(&occurrence.Row{
		Occurrence: *o, EnvironmentNumber: environment, Issue: number, Fingerprint: fingerprint, FramesJSON: frames, RetentionDays: uint32(app.RetentionDays),
	})
	if err := s.node.db.Insert(s.t.Context(), o.ID, uint64(at.UnixNano()), block); err != nil {
		s.t.Fatal(err)
	}
	return occurrence.IssueID(number)
}

// TestIssuesOfTheFormerGroupingGoOn starts with an issue that combined two faults. After the upgrade, the first fault
// to occur continues it, with its resolution and its id. The other one is a separate issue.
func TestIssuesOfTheFormerGroupingGoOn(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	java := func(id int, class string) string {
		return fmt.Sprintf(`{"event_id":"%032d","platform":"java","exception":{"values":[{"type":"NumberFormatException","value":"For input string: \"x\"","stacktrace":{"frames":[
			{"module":"com.acme.%s","function":"handle","filename":"%s.java","lineno":12},
			{"module":"java.lang.Integer","function":"parseInt","filename":"Integer.java","lineno":652},
			{"module":"java.lang.NumberFormatException","function":"forInputString","filename":"NumberFormatException.java","lineno":67}]}}]}}`, id, class, class)
	}
	old := s.storeAsBefore(java(1, "Orders"), time.Now().Add(-time.Hour))
	if got := s.call("PATCH", errorsPath+"/"+old, s.boot.Token, []byte(`{"status":"resolved"}`), nil); got.status != 200 {
		t.Fatalf("resolving: %d %s", got.status, got.body)
	}
	send := func(payload string) {
		t.Helper()
		if got := s.envelope([]byte("{}\n{\"type\":\"event\"}\n" + compact(t, payload))); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	rows := func() map[string]map[string]any {
		listed, _ := s.listed("status=all")
		found := map[string]map[string]any{}
		for _, row := range listed {
			found[row["id"].(string)] = row
		}
		return found
	}
	send(java(2, "Orders"))
	eventually(t, "the old issue goes on", func() error {
		if found := rows(); len(found) != 1 || found[old] == nil || found[old]["eventCount"] != 2.0 || found[old]["status"] != "regressed" {
			return fmt.Errorf("the issues are %v", found)
		}
		return nil
	})
	send(java(3, "Orders"))
	send(java(4, "Customers"))
	eventually(t, "the other fault is an issue of its own", func() error {
		found := rows()
		if len(found) != 2 || found[old]["eventCount"] != 3.0 {
			return fmt.Errorf("the issues are %v", found)
		}
		for id, row := range found {
			if id != old && (row["culprit"] != "handle (com.acme.Customers)" || row["eventCount"] != 1.0) {
				return fmt.Errorf("the new issue is %v", row)
			}
		}
		return nil
	})
	if detail := s.get(errorsPath + "/" + old); detail["culprit"] != "handle (com.acme.Orders)" {
		t.Errorf("the old issue is %v", detail)
	}
}

// compact writes a payload on one line, as envelopes want it.
func compact(t *testing.T, payload string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(payload), &value); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
