package apitest

import (
	"strings"

	"svc/domain"
	"svc/domain/metric"
)

// metricSteps lists the requests of metrics.
func metricSteps() []step {
	const metrics = "/api/v1/apps/acme/web/metrics"
	return []step{
		{name: "metrics.names", as: owner, method: "GET", path: metrics + "/names"},
		{name: "metrics.names-page", as: owner, method: "GET", path: metrics + "/names?limit=1", keep: map[string]string{"names": "nextCursor"}},
		{name: "metrics.names-next", as: owner, method: "GET", path: metrics + "/names?limit=1&cursor={names}"},
		{name: "metrics.names-empty", as: owner, method: "GET", path: metrics + "/names?env=staging"},
		{name: "metrics.names-invalid", as: owner, method: "GET", path: metrics + "/names?env=moon&limit=0"},
		{name: "metrics.series", as: owner, method: "GET", path: metrics + "/series?name=checkout.duration"},
		{name: "metrics.series-points", as: owner, method: "GET", path: metrics + "/series?name=checkout.duration&agg=p95&range=6h&interval=1h"},
		{name: "metrics.series-rollups", as: owner, method: "GET", path: metrics + "/series?name=checkout.duration&agg=p95&range=30d&interval=1d"},
		{name: "metrics.series-labels", as: owner, method: "GET", path: metrics + "/series?name=orders&agg=sum&range=7d&interval=1d&label.plan=pro&label.plan=team&label.zone=eu"},
		{name: "metrics.series-groups", as: owner, method: "GET", path: metrics + "/series?name=orders&agg=sum&range=1h&interval=15m&groupBy=plan"},
		{name: "metrics.series-vital", as: viewer, method: "GET", path: metrics + "/series?name=LCP&agg=p75&range=24h&interval=1h&label.path=/cart"},
		{name: "metrics.series-quiet", as: owner, method: "GET", path: metrics + "/series?name=orders&agg=count&range=6h&interval=6h&label.plan=none"},
		{name: "metrics.series-unknown", as: owner, method: "GET", path: metrics + "/series?name=nothing&agg=count&range=6h&interval=6h"},
		{name: "metrics.series-too-fine", as: owner, method: "GET", path: metrics + "/series?name=orders&range=30d&interval=5m"},
		{name: "metrics.series-vital-all", as: viewer, method: "GET", path: metrics + "/series?name=LCP&agg=p75&range=90d"},
		{name: "metrics.series-max", as: owner, method: "GET", path: metrics + "/series?name=checkout.duration&agg=max&range=1h&interval=15m"},
		{name: "metrics.series-groups-rollups", as: owner, method: "GET", path: metrics + "/series?name=checkout.duration&agg=p50&range=7d&interval=1d&groupBy=plan"},
		{name: "metrics.series-too-fine-week", as: owner, method: "GET", path: metrics + "/series?name=orders&range=7d&interval=5m"},
		{name: "metrics.series-too-fine-quarter", as: owner, method: "GET", path: metrics + "/series?name=orders&range=90d&interval=1h"},
		{name: "metrics.series-unknown-interval", as: owner, method: "GET", path: metrics + "/series?name=orders&interval=2m"},
		{name: "metrics.series-repeated", as: owner, method: "GET", path: metrics + "/series?name=orders&name=LCP&label.plan=&groupBy=" + strings.Repeat("k", metric.MaxLabelKey+1)},
		{name: "metrics.series-no-token", as: func(World) domain.Secret { return "" }, method: "GET", path: metrics + "/series?name=orders"},
		{name: "metrics.names-foreign-cursor", as: owner, method: "GET", path: metrics + "/names?cursor=bm9wZQ"},
		{name: "metrics.series-invalid", as: owner, method: "GET", path: metrics + "/series?agg=median&range=2h&label.=x&env=moon"},
	}
}
