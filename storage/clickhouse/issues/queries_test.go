package issues

import (
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var search clickhouse.Clause
	search.Add(db.queries["issues.Search"], "search", "x")
	args := search.Args().With((&merges{}).arguments()).With(stateArguments(1, now)).With(clickhouse.BucketArgs([]time.Time{now})).With(clickhouse.Args{
		"environment": uint64(7), "limit": 1, "since_ms": int64(0), "first_page": true, "prefix": "", "from": now, "to": now, "since": now, "until": now, "email": clickhouse.ShapePattern,
	})
	clickhousetest.Explain(t, db.conn, db.queries, map[string]clickhouse.Args{
		"": args,
		"issues": {
			"environments": []uint64{1}, "owners": []string{""}, "issues": []uint64{1}, "status": "open", "release": "", "level": "error", "after_rank": int64(0), "after_issue": uint64(0),
			"sample": 10, "per_tag": 10, "block": uint64(1), "partitions": 3, "owned": []int{1},
		},
		"occurrences": {"issues": []uint64{1}, "before_ts": now, "before_id": "", "before_tie": uint64(1), "id": "", "hidden": []uint64{}, "sample": 1},
		"releases":    {"releases": []string{"1.0"}, "environments": []uint64{1}, "session_metric": "x", "search": "", "after_ms": int64(0), "after_word": ""},
		"sourceMaps":  {"app": "", "keys": []string{}, "prefix": "", "after_ms": int64(0), "after_word": ""},
		"uploads":     {"org": "", "sums": []string{}, "sha1": ""},
	}, func(_, text string) string {
		return clickhouse.Bind(bindRank(text, db.queries["issues.KeyUsers"], search), search)
	})
}
