package apitest

import "svc/domain"

// telemetrySteps lists the requests of telemetry.
func telemetrySteps() []step {
	const telemetry = "/api/v1/apps/acme/web/telemetry"
	return []step{
		{name: "telemetry.get", as: viewer, method: "GET", path: telemetry + "?env=development"},
		{name: "telemetry.get-invalid", as: owner, method: "GET", path: telemetry + "?env=moon"},
		{name: "telemetry.get-no-token", as: func(World) domain.Secret { return "" }, method: "GET", path: telemetry},
		{name: "telemetry.cardinality", as: owner, method: "GET", path: telemetry + "/cardinality?days=30"},
		{name: "telemetry.cardinality-viewer", as: viewer, method: "GET", path: telemetry + "/cardinality?env=development"},
		{name: "telemetry.cardinality-invalid", as: owner, method: "GET", path: telemetry + "/cardinality?env=moon&days=31"},
		{name: "telemetry.update", as: owner, method: "POST", path: telemetry + "?env=development", body: `{"expectedRevision":0,"policy":{"events":{"monthlyBudget":1000000,"sampleRate":0.25,"dropBots":true},"metrics":{"labelDenylist":["pod","pod","ip"]},"overBudget":"sample","alerts":{"thresholds":[100,50]}}}`},
		{name: "telemetry.update-stale", as: owner, method: "POST", path: telemetry + "?env=development", body: `{"expectedRevision":0,"policy":{"events":{"enabled":false}}}`},
		{name: "telemetry.update-invalid", as: owner, method: "POST", path: telemetry + "?env=development", body: `{"expectedRevision":1,"policy":{"events":{"sampleRate":2,"monthlyBudget":-1},"overBudget":"explode","alerts":{"thresholds":[0]},"replay":"yes"}}`},
		{name: "telemetry.update-incomplete", as: owner, method: "POST", path: telemetry + "?env=development", body: `{"policy":{}}`},
		{name: "telemetry.update-channel", as: owner, method: "POST", path: telemetry + "?env=development", body: `{"expectedRevision":1,"policy":{"alerts":{"channelIds":["chn_unknown"]}}}`},
		{name: "telemetry.update-viewer", as: viewer, method: "POST", path: telemetry + "?env=development", body: `{"expectedRevision":1,"policy":{}}`},
		{name: "telemetry.get-updated", as: owner, method: "GET", path: telemetry + "?env=development"},
	}
}
