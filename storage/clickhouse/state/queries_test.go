package state

import (
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	makeFormerJournal(t, db, 1)
	clickhousetest.Explain(t, db.conn, db.queries, map[string]clickhouse.Args{
		"":         {"limit": 1, "org": ""},
		"audit":    {"app": "", "operation": "", "user_id": "", "token_id": "", "since": now, "until": now, "before_at": now, "before_id": ""},
		"entities": {"owner": "", "owners": []string{""}, "kind": "", "kinds": []string{""}, "prefix": ""},
		"ledger":   {"kind": "", "before": uint64(1), "ids": []string{""}},
		"removals": {"identities": []string{""}, "prefixes": []string{""}},
	}, nil)
}
