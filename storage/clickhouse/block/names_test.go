package block

import (
	"testing"
	"time"

	"svc/domain/event"
)

// TestNamesOfPageViews asserts that the queries and svc agree on the names of page views and of interactive events.
func TestNamesOfPageViews(t *testing.T) {
	db := open(t)
	for _, name := range []string{event.PageView, "$pageview", event.IdentifyEvent, event.AliasEvent, event.EngagementName, "signup", ""} {
		b := db.NewBlock()
		at := time.UnixMilli(1.78e12)
		b.Append(&event.Row{Event: event.Event{ID: name, Name: name, Ts: at, ReceivedAt: at, DistinctID: name + "!", SessionID: name}, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
		insert(t, db, name+".", 1, b)
		var deeds event.SessionDeeds
		err := db.Sessions(deadline(t), event.SessionsQuery{Since: at, Within: time.Hour, Open: 100}, func(s event.OpenSession) {
			if s.ID == name {
				deeds = s.Deeds
			}
		}, func(event.SessionName) {})
		if err != nil {
			t.Fatal(err)
		}
		if (deeds == event.OnePageview) != event.IsPageview(name) || (deeds == event.Interaction) != event.IsInteractive(name) {
			t.Errorf("%q: the deeds are %b", name, deeds)
		}
	}
	if got := ask[int64](t, db, "SELECT sum(pageviews) FROM traffic"); got != 2 {
		t.Errorf("the view counts %d page views, want 2", got)
	}
}
