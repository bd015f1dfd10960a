package flags

import (
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	args := clickhouse.Args{
		"environment": uint64(7), "flag": "nav", "from": now, "to": now, "linked": []uint64{}, "linked_since": [][]int64{}, "linked_persons": [][]uint64{},
		"goal_path": []bool{true}, "goal_match": []string{"/"}, "goal_open": []bool{false},
	}
	own := clickhouse.Queries{}
	for _, name := range []string{"counts.Days", "counts.Recent", "exposures.Persons", "exposures.Count", "exposures.Conversions"} {
		own[name] = store.queries[name]
	}
	clickhousetest.Explain(t, conn, own, map[string]clickhouse.Args{"": args}, nil)
}
