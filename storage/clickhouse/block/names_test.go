package block

import (
	"testing"
	"time"

	"svc"
)

// TestNamesOfPageViews asserts that the queries and svc agree on the names of page views and of interactive events.
func TestNamesOfPageViews(t *testing.T) {
	db := open(t)
	for _, name := range []string{svc.PageView, "$pageview", svc.IdentifyEvent, svc.AliasEvent, svc.EngagementName, "signup", ""} {
		b := db.NewBlock()
		at := time.UnixMilli(1.78e12)
		b.Append(&svc.EventRow{Event: svc.Event{ID: name, Name: name, Ts: at, ReceivedAt: at, DistinctID: name + "!", SessionID: name}, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
		insert(t, db, name+".", 1, b)
		var deeds svc.SessionDeeds
		err := db.Sessions(deadline(t), svc.SessionsQuery{Since: at, Within: time.Hour, Open: 100}, func(s svc.OpenSession) {
			if s.ID == name {
				deeds = s.Deeds
			}
		}, func(svc.SessionName) {})
		if err != nil {
			t.Fatal(err)
		}
		if (deeds == svc.OnePageview) != svc.IsPageview(name) || (deeds == svc.Interaction) != svc.IsInteractive(name) {
			t.Errorf("%q: the deeds are %b", name, deeds)
		}
	}
	if got := ask[int64](t, db, "SELECT sum(pageviews) FROM traffic"); got != 2 {
		t.Errorf("the view counts %d page views, want 2", got)
	}
}
