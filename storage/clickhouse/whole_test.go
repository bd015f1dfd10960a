package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"svc"
)

// TestWhatTheFeedShowsIsCounted inserts blocks of many rows, two of them of a visitor of its own,
// and asks for the overview as soon as the feed shows these two.
func TestWhatTheFeedShowsIsCounted(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	environment := production()
	window := svc.Window{From: now.Add(-24 * time.Hour), To: now.Add(time.Hour), Location: time.UTC}
	const blocks = 60
	failed := make(chan error, 1)
	go func() {
		for n := range uint64(blocks) {
			b := hourly(t, db, now.Add(-2100*time.Hour), 2000)
			for i := range 2 {
				one := row(environment.Number, now, fmt.Sprintf("mine%d-%d", n, i), fmt.Sprintf("visitor%d", n), fmt.Sprintf("session%d", n))
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
			events, _, err := db.List(deadline(t), svc.EventQuery{Environment: environment, Search: fmt.Sprintf("visitor%d", n), Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if len(events) == 2 {
				break
			}
		}
		got, err := db.Overview(deadline(t), svc.AnalyticsScope{Environment: environment, Window: window}, nil)
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

func TestReadsBeginBesideNoInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &underWay{}
		u.begin(1)
		go func() {
			time.Sleep(restTime / 2)
			u.end(1, true)
		}()
		began, reads := time.Now(), 0
		read := func(context.Context) (int, error) {
			if reads++; reads == 1 { // an insert comes between
				u.begin(2)
				u.end(2, true)
			}
			return reads, nil
		}
		if got, err := whole(t.Context(), u, read); got != 2 || err != nil || time.Since(began) != restTime/2 {
			t.Errorf("%d reads after %s, %v", got, time.Since(began), err)
		}

		u.begin(3) // never ends
		began, reads = time.Now(), 1
		if got, _ := whole(t.Context(), u, read); got != 2 || time.Since(began) != restTime {
			t.Errorf("%d reads after %s beside an insert that does not end", got, time.Since(began))
		}
		slow := func(context.Context) (int, error) {
			reads++
			time.Sleep(2 * quickTime)
			u.begin(4)
			u.end(4, true)
			return reads, nil
		}
		reads = 0
		if got, _ := whole(t.Context(), u, slow); got != 1 {
			t.Errorf("a slow read was done %d times", got)
		}
	})
}

func TestBlocksThatFailedStayHidden(t *testing.T) {
	u := &underWay{}
	hidden := func() string {
		blocks, _ := u.blocks()
		return fmt.Sprint(blocks)
	}
	away := errors.New("the store is away")
	if err := u.insert(7, func() error { return away }); !errors.Is(err, away) || hidden() != "[7]" {
		t.Errorf("%v, hidden %s", err, hidden())
	}
	_ = u.insert(7, func() error { return nil })
	if hidden() != "[]" {
		t.Errorf("a block that was repeated is hidden: %s", hidden())
	}
	_ = u.insert(8, func() error { return away })
	_ = u.insert(9, func() error { return nil })
	if hidden() != "[]" {
		t.Errorf("another generation has gone past the block: %s", hidden())
	}
}
