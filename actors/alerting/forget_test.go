package alerting

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"svc/domain/alert"
)

// TestForgetBlanksWhatQuotesAPerson has a rule with an incident, a waiting notice, and earlier stored incidents and
// notices. All of them quote a person, and one incident belongs to another environment.
func TestForgetBlanksWhatQuotesAPerson(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	quoting := func(id, environment string, status alert.IncidentStatus) alert.Incident {
		return alert.Incident{ID: id, Environment: environment, Status: status, Title: "News — new issue: no Ada Lovelace", Labels: map[string]string{"user": "ADA LOVELACE", "plan": "pro"}}
	}
	blank := func(incident alert.Incident) alert.Incident {
		incident.Title, incident.Labels = "News — new issue: no [erased]", map[string]string{"user": "[erased]", "plan": "pro"}
		return incident
	}
	open := quoting("inc_3", "production", alert.IncidentOpen)
	a := versioned{}.activate(t, now)
	a.rules["rul_1"] = alert.Rule{ID: "rul_1", Number: 1}
	a.states["rul_1"] = alert.State{State: alert.Firing, Incident: &open}
	a.states["rul_2"] = alert.State{State: alert.OK}
	a.deliveries["dlv_1"] = alert.Delivery{ID: "dlv_1", Notice: alert.Notice{Event: alert.NoticeOpen, Incident: open}}
	stored := func(kind, id string, value any) quotation {
		payload, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return quotation{kind, id, payload}
	}
	before, elsewhere := quoting("inc_1", "production", alert.IncidentResolved), quoting("inc_2", "staging", alert.IncidentResolved)
	message := forgetPerson{Environment: "production", Words: []string{"Ada Lovelace"}, Quotations: []quotation{
		stored(kindIncident, "inc_1", before), stored(kindIncident, "inc_2", elsewhere),
		stored(kindIncident, "inc_3", quoting("inc_3", "production", alert.IncidentResolved)), // older than the version in the actor
		stored(kindNotice, "inc_1.ntc_1", alert.NoticeRecord{ID: "ntc_1", IncidentID: "inc_1", State: alert.NoticeFailed, Answer: "500 no Ada Lovelace"}),
		stored(kindNotice, "inc_3.ntc_2", alert.NoticeRecord{ID: "ntc_2", IncidentID: "inc_3", State: alert.NoticeWaiting, Answer: "500 no Ada Lovelace"}),
	}}
	outcome, err := a.onForget(now, message)
	if err != nil || outcome.Answer != 4 {
		t.Fatalf("%d texts, want 4: %v", outcome.Answer, err)
	}
	got := map[string]any{}
	for _, write := range outcome.Writes {
		got[write.Kind+" "+write.ID] = write.Value
	}
	want := map[string]any{
		kindAlertState + " rul_1": storedState{State: alert.State{State: alert.Firing, Incident: new(blank(open))}},
		kindIncident + " inc_3":   blank(open),
		kindDelivery + " dlv_1":   alert.Delivery{ID: "dlv_1", Notice: alert.Notice{Event: alert.NoticeOpen, Incident: blank(open)}},
		kindIncident + " inc_1":   blank(before),
		kindNotice + " inc_1.ntc_1": alert.NoticeRecord{
			ID: "ntc_1", IncidentID: "inc_1", State: alert.NoticeFailed, Answer: "500 no [erased]",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the writes are\n%+v\nwant\n%+v", got, want)
	}
	if again, err := a.onForget(now, forgetPerson{Environment: "production", Words: message.Words}); err != nil || again.Answer != 0 || len(again.Writes) > 0 {
		t.Errorf("repeated, it changes %d texts: %v", again.Answer, err)
	}
}
