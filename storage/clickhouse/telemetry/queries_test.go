package telemetry

import (
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	store, conn := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clickhousetest.Explain(t, conn, store.queries, map[string]clickhouse.Args{
		"usage":       {"environment": uint64(7), "environments": []uint64{7}, "since": "2026-11-20"},
		"cardinality": {"environment": uint64(7), "since": at, "limit": 1, "names": []string{"a"}, "narrow": []string{"a"}, "share": 1, "labels": 1, "besides": "", "events": 1},
	}, nil)
}
