package people_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/segment"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// TestEventsOfASegmentAreFoundTwoWays compares the condition that names the visitors of a segment with the one that
// finds them in each statement, on random histories with shared devices. A condition with names reads no table, so it
// costs as much as any other filter.
func TestEventsOfASegmentAreFoundTwoWays(t *testing.T) {
	for seed := range seeds(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			db, rows := open(t), history(rand.New(rand.NewPCG(seed, 8)), 200)
			block := db.blocks.NewBlock()
			for i := range rows {
				block.Append(&rows[i])
			}
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block-1", 1, block); err != nil {
				t.Fatal(err)
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			now, some := rows[len(rows)-1].Ts.Add(time.Hour), 0
			for _, one := range atoms(now) {
				segment := define(t, `{"all":[`+one.text+`]}`)
				named, reads := eventsOf(t, db, &segment, now)
				if reads {
					t.Errorf("%s: the condition reads tables", one.text)
				}
				db.LookAmong(500, 0)
				found, reads := eventsOf(t, db, &segment, now)
				db.LookAmong(500, 8192)
				if !reads || !slices.Equal(named, found) {
					t.Errorf("%s: %v with names, %v without", one.text, named, found)
				}
				if len(named) > 0 && len(named) < len(rows) {
					some++
				}
			}
			if some < 5 {
				t.Errorf("%d segments have some of the events", some)
			}
		})
	}
}

// eventsOf returns the ids of the events of the people in a segment, and whether the condition reads tables.
func eventsOf(t *testing.T, db *testDB, segment *segment.Segment, now time.Time) (ids []string, reads bool) {
	t.Helper()
	condition, args, err := db.EventsOf(clickhousetest.Deadline(t), environment, segment, now)
	if err != nil {
		t.Fatal(err)
	}
	query := "SELECT arraySort(groupArray(id)) FROM events WHERE environment = {environment:UInt64} AND " + condition
	return clickhousetest.Ask[[]string](t, db.conn, query, args.With(clickhouse.Args{"environment": environment})), strings.Contains(condition, "FROM")
}
