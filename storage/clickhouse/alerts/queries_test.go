package alerts

import (
	"maps"
	"strings"
	"testing"
	"time"

	"svc/domain/metric"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/metrics"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	own := maps.Clone(db.queries)
	maps.DeleteFunc(own, func(name, _ string) bool { return strings.HasPrefix(name, "metrics.") })
	clickhousetest.Explain(t, db.conn, own, map[string]clickhouse.Args{
		"":          metrics.LabelArgs([]metric.Label{{Key: "k", Value: "v"}}).With(clickhouse.Args{"environment": uint64(7), "since": now, "until": now}),
		"alerts":    {"step": uint32(1), "recent": uint64(1), "words": []string{""}, "name": "", "all": false, "width": uint32(60), "level": ""},
		"checks":    {"app": "", "monitor": "", "apps": []string{""}, "monitors": []string{""}, "buckets": []uint32{0}, "first_page": true, "before": now, "limit": 1},
		"incidents": {"owner": "", "search": "", "environment": "", "name": "", "limit": 1},
		"notices":   {"owner": "", "prefix": ""},
	}, func(_, text string) string {
		return strings.ReplaceAll(text, "$(bins)", db.queries["alerts.Bins"])
	})
}
