package main

import (
	"encoding/json"
	"testing"

	"svc"
	"svc/http/api/apitest"
	"svc/storage/clickhouse/block"
)

// appendErrors appends the suite's errors to a block as an intake would.
func appendErrors(t *testing.T, n *node, app svc.Application, block *block.Block) {
	t.Helper()
	encode := func(value any) []byte {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	environment := app.Environments[0].Number
	for _, occurrence := range apitest.FixtureErrors(n.now()) {
		fingerprint := svc.Fingerprint(&occurrence, nil)
		block.AppendOccurrence(&svc.OccurrenceRow{
			Occurrence: occurrence, EnvironmentNumber: environment, Issue: svc.IssueNumber(environment, fingerprint), Fingerprint: fingerprint,
			FramesJSON: encode(occurrence.Frames), BreadcrumbsJSON: encode(occurrence.Breadcrumbs), TagsJSON: encode(occurrence.Tags),
			RetentionDays: uint32(app.RetentionDays),
		})
	}
}
