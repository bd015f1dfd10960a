package main

import (
	"encoding/json"
	"testing"

	"svc/domain"
	"svc/domain/occurrence"
	"svc/http/api/apitest"
	"svc/storage/clickhouse/block"
)

// appendErrors appends the suite's errors to a block as an intake would.
func appendErrors(t *testing.T, n *node, app domain.Application, block *block.Block) {
	t.Helper()
	encode := func(value any) []byte {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	environment := app.Environments[0].Number
	for _, o := range apitest.FixtureErrors(n.now()) {
		fingerprint := occurrence.Fingerprint(&o, nil)
		block.AppendOccurrence(&occurrence.Row{
			Occurrence: o, EnvironmentNumber: environment, Issue: occurrence.IssueNumber(environment, fingerprint), Fingerprint: fingerprint,
			FramesJSON: encode(o.Frames), BreadcrumbsJSON: encode(o.Breadcrumbs), TagsJSON: encode(o.Tags),
			RetentionDays: uint32(app.RetentionDays),
		})
	}
}
