package metrics

import (
	"strings"
	"testing"
	"time"

	"svc/domain/metric"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	args := LabelArgs([]metric.Label{{Key: "k", Value: "v"}}).With(clickhouse.BucketArgs([]time.Time{now})).With(clickhouse.Args{
		"environment": uint64(7), "name": "", "from": now, "to": now, "all": false, "group_by": "k", "parts": []string{"v"}, "limit": 1,
		"vitals": metric.Vitals(), "since": now, "until": now, "path": "", "device": "", "first_page": true, "after_count": uint64(0), "after_part": "",
	})
	clickhousetest.Explain(t, db.conn, db.queries, map[string]clickhouse.Args{"": args}, func(name, text string) string {
		quantiles := db.queries["metrics.Sketched"]
		if strings.HasPrefix(name, "metrics.Point") {
			quantiles = db.queries["metrics.Exact"]
		}
		return strings.NewReplacer("$(quantiles)", quantiles, "$(totals)", "metric_hours", "$(grouping)", "GROUPING SETS ((bucket, part), (part))").Replace(text)
	})
}
