package block

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/domain/revenue"
	"svc/protos"
)

func TestRecentIDs(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	insert(t, db, "1", 1, hourly(t, db, at, 10))
	insert(t, db, "2", 2, hourly(t, db, at.Add(10*time.Hour), 10))
	type named struct {
		thread uint64
		key    [2]uint64
	}
	// The rows are from before threads existed: a repetition may arrive in the thread of the visitor or of the session.
	name := func(thread, visitor, id string) named {
		number := protos.VisitorHash(7, thread)
		return named{number, protos.EventKey(7, number, visitor, id)}
	}
	former := []named{name("u3", "u3", "e8"), name("s8", "u3", "e8"), name("u4", "u4", "e9"), name("s9", "u4", "e9")}
	for _, c := range []struct {
		since  time.Time
		except uint64
		limit  int
		want   []named
	}{
		{at.Add(8 * time.Hour), 2, 100, former},
		{at.Add(18 * time.Hour), 99, 100, former},
		{at.Add(30 * time.Hour), 0, 100, nil},
	} {
		var got []named
		if err := db.RecentIDs(deadline(t), c.since, c.except, c.limit, func(thread uint64, key [2]uint64) {
			got = append(got, named{thread, key})
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("since %s except %d: got %v, want %v", c.since, c.except, got, c.want)
		}
	}
}

// TestRecentBillings reads the keys of billing items. Of several rates with the same key it must return the current
// one.
func TestRecentBillings(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	item := func(kind revenue.BillingKind, subject, id string, minute int, rate int64) revenue.BillingRow {
		return revenue.BillingRow{Environment: 7, Kind: kind, Subject: subject, ID: id, Ts: at, ReceivedAt: at.Add(time.Duration(minute) * time.Minute), Rate: rate}
	}
	for number, rows := range map[uint64][]revenue.BillingRow{
		1: {
			item(revenue.BillingPayment, "p1", "p1", 0, 0), item(revenue.BillingSubscription, "a", "1", 1, 0), item(revenue.BillingRate, "EUR", "USD2026-01-01", 2, 11),
			item(revenue.BillingRate, "EUR", "USD2026-01-01", 3, 12), item(revenue.BillingRefund, "old", "old", -90, 0),
		},
		2: {item(revenue.BillingPayment, "p2", "p2", 4, 0), item(revenue.BillingRate, "EUR", "USD2026-01-01", 5, 13)},
	} {
		b := db.NewBlock()
		for n := range rows {
			b.AppendBilling(&rows[n])
		}
		insert(t, db, fmt.Sprint("billing", number), number, b)
	}
	type named struct {
		subject uint64
		name    [2]uint64
	}
	name := func(kind revenue.BillingKind, subject, id string) named {
		return named{protos.VisitorHash(7, subject), protos.BillingKey(7, string(kind), subject, id)}
	}
	got := map[named]int64{}
	err := db.RecentBillings(deadline(t), at.Add(-time.Hour), 2, 100, func(subject uint64, key [2]uint64, rate int64) { got[named{subject, key}] = rate })
	want := map[named]int64{name(revenue.BillingPayment, "p1", "p1"): 0, name(revenue.BillingSubscription, "a", "1"): 0, name(revenue.BillingRate, "EUR", "USD2026-01-01"): 12}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v (%v)", got, want, err)
	}
}
