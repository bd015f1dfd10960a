package main

import (
	"svc/domain"
	"svc/http/api/apitest"
	"svc/storage/clickhouse/block"
)

// appendMetrics appends the suite's metric points to a block as an intake would.
func appendMetrics(n *node, app domain.Application, block *block.Block) {
	for _, point := range apitest.FixtureMetrics(n.now()) {
		point.Environment, point.RetentionDays = app.Environments[0].Number, uint32(app.RetentionDays)
		block.AppendMetric(&point)
	}
}
