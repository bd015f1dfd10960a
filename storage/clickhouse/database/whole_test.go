package database_test

import (
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/storage/clickhouse/clickhousetest"
)

// TestWhatTheFeedShowsIsCounted inserts blocks of many rows. Two of the rows belong to a visitor of their own. It reads
// the overview as soon as the feed shows these two.
func TestWhatTheFeedShowsIsCounted(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	environment := clickhousetest.Production()
	window := domain.Window{From: now.Add(-24 * time.Hour), To: now.Add(time.Hour), Location: time.UTC}
	const blocks = 60
	failed := make(chan error, 1)
	go func() {
		for n := range uint64(blocks) {
			b := hourly(t, db, now.Add(-2100*time.Hour), 2000)
			for i := range 2 {
				one := clickhousetest.Row(environment.Number, now, fmt.Sprintf("mine%d-%d", n, i), fmt.Sprintf("visitor%d", n), fmt.Sprintf("session%d", n))
				one.EnvironmentNumber, one.Bounce = environment.Number, 0
				b.Append(one)
			}
			if err := db.Insert(t.Context(), fmt.Sprintf("t%d", n), n+1, b); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	torn := 0
	for n := range blocks {
		for {
			events, _, err := db.List(deadline(t), analytics.EventQuery{Environment: environment, Search: fmt.Sprintf("visitor%d", n), Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 2 {
				break
			}
		}
		got, err := db.Overview(deadline(t), analytics.Scope{Environment: environment, Window: window}, nil)
		if err != nil {
			t.Fatal(err)
		}
		least := uint64(n + 1)
		if c := got.Current; c.Visitors < least || c.UniqueVisitors < least || c.Sessions < least || c.Pageviews < 2*least || c.Events < 2*least {
			torn++
			t.Logf("%d visitors are shown, the overview has %+v", least, c)
		}
	}
	if torn > 0 {
		t.Errorf("%d of %d overviews lack a part of what the feed showed", torn, blocks)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}
