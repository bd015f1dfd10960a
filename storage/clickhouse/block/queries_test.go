package block

import (
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clickhousetest.Explain(t, db.conn, db.queries, map[string]clickhouse.Args{
		"letters": {"environment": uint64(7), "limit": 1, "ids": []string{}},
		"state":   {"environments": []uint64{7}, "since": now, "until": now, "block": uint64(1)},
		"trial":   {"database": "x", "prefix": "x"},
	}, nil)
}
