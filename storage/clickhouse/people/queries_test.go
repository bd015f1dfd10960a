package people

import (
	"strings"
	"testing"
	"time"

	"svc"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/state"
)

// TestQueriesExplain has the engine plan every query.
func TestQueriesExplain(t *testing.T) {
	conn := clickhousetest.Open(t)
	kept, err := state.Open(clickhousetest.Deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(kept)
	if err != nil {
		t.Fatal(err)
	}
	rank := newRank(svc.PersonQuery{Search: "ada", SearchMasked: true, Stage: svc.StageLead, Tags: []string{"vip", "new"}})
	rank.text(db.queries, "persons.Rank", true) // names the facts
	args := rank.args.With(environmentArgs(7)).With(clickhouse.Args{
		"limit": 1, "first_page": true, "after_began": int64(0), "after_person": uint64(0), "persons": []uint64{1}, "visitor": uint64(1), "visitors": []uint64{1},
		"owners": []string{"x"}, "low": uint64(1), "high": uint64(2), "now": time.Now(),
		"from": []int64{0}, "until": []int64{1}, "before_ms": int64(1), "before_id": "", "scanned": uint32(1),
	})
	clickhousetest.Explain(t, conn, db.queries, map[string]clickhouse.Args{"": args}, func(name, text string) string {
		switch {
		case name == "persons.Rank", name == "persons.Count":
			return rank.text(db.queries, name, true)
		case strings.HasPrefix(text, "SELECT"):
			return strings.NewReplacer("$(split)", "true", "$(columns)", "1", "$(source)", "profiles").Replace(text)
		}
		return ""
	})
}
