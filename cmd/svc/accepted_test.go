package main

import (
	"fmt"
	"testing"
	"time"

	"svc/actors/live"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/report"
)

// TestReportsHoldWhatWasAccepted (F6) reads the numbers of a report right after visitors were accepted. The server of the test
// stores blocks seldom.
func TestReportsHoldWhatWasAccepted(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_FLUSH_INTERVAL": "5s"})
	app, _ := s.node.collectors.Application(domain.AppRef{Org: "acme", App: "web"})
	environment, found := app.Environment("production")
	if !found {
		t.Fatal("the environment is not known")
	}
	r := report.Report{App: app.Ref(), Spec: report.Spec{Kind: report.Weekly, Environment: environment.Slug, Number: environment.Number}}
	for round := range 3 {
		now := time.Now()
		var items []map[string]any
		for n := range 40 {
			items = append(items, item(fmt.Sprint("page-", round, "-", n), fmt.Sprint("visitor-", round, "-", n), "/", now))
		}
		s.send(items...)
		period := report.Period{From: now.In(app.Location()).AddDate(0, 0, -1).Format(time.DateOnly), To: now.In(app.Location()).Format(time.DateOnly)}
		content, err := reportTraffic{s.node, &live.Presence{Actors: s.node.cluster}}.ReportContent(t.Context(), app, &r, period)
		if want := uint64(40 * (round + 1)); err != nil || content.Overview.Current.Visitors != want {
			t.Errorf("round %d: %v visitors, want %d (%v)", round, content.Overview.Current.Visitors, want, err)
		}
	}
}

// TestExportsAndCampaignsHoldWhatWasAccepted requests an export and sends a campaign right after people were accepted.
// The server of the test rarely stores blocks.
func TestExportsAndCampaignsHoldWhatWasAccepted(t *testing.T) {
	const people = 60
	mail := startMail(t, nil)
	env := mailed(mail)
	env["SVC_FLUSH_INTERVAL"] = "2s"
	s := startServer(t, t.TempDir(), env)
	o := s.operators(t)
	id := o.approved(t, `{"name":"Spring","subject":"Hello","html":"<p>Hello</p>","ratePerSecond":500}`)
	accept := func(round int) {
		t.Helper()
		var items []map[string]any
		for n := range people {
			person := fmt.Sprintf("person-%d-%d", round, n)
			items = append(items,
				item("page-"+person, person, "/", time.Now()),
				map[string]any{"type": "identify", "id": "identify-" + person, "distinctId": person, "traits": map[string]any{"email": person + "@acme.example"}},
			)
		}
		s.send(items...)
	}
	// The clock of a client may be ahead of the server's.
	s.send(item("ahead", "ahead", "/", time.Now().Add(event.FutureTolerance-time.Minute)))
	accept(0)
	o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
	if stats := s.completed(t, id); stats["sent"] != float64(people) {
		t.Errorf("F6: the campaign was sent to %v, want %d", stats, people)
	}
	for round, export := range []struct {
		kind string
		rows float64
	}{{"events", 2*2*people + 1}, {"people", 3*people + 1}} { // a page and an identification of each person
		accept(round + 1)
		if one := s.export(t, s.boot.Token, fmt.Sprintf(`{"kind":%q}`, export.kind)); one["rows"] != export.rows {
			t.Errorf("F6: the export of %s has %v rows, want %v", export.kind, one["rows"], export.rows)
		}
	}
}
