package apitest

// goalSteps lists the requests about goals.
func goalSteps() []step {
	const app = "/api/v1/apps/acme/web"
	return []step{
		{name: "goals.create", as: owner, method: "POST", path: app + "/goals", body: `{"name":" Signup ","kind":"event","match":"signup","value":12.5}`, keep: map[string]string{"goal": "id"}},
		{name: "goals.create-path", as: owner, method: "POST", path: app + "/goals", body: `{"name":"Pricing","kind":"path","match":"/pri*"}`},
		{name: "goals.create-duplicate", as: owner, method: "POST", path: app + "/goals", body: `{"name":"Other","kind":"event","match":"signup"}`},
		{name: "goals.create-invalid", as: owner, method: "POST", path: app + "/goals", body: `{"name":"","kind":"click","match":"","value":-1}`},
		{name: "goals.create-incomplete", as: owner, method: "POST", path: app + "/goals", body: `{"value":"much"}`},
		{name: "goals.create-unreadable", as: owner, method: "POST", path: app + "/goals", body: `{"name":"Signup",`},
		{name: "goals.create-viewer", as: viewer, method: "POST", path: app + "/goals", body: `{"name":"Other","kind":"event","match":"x"}`},
		{name: "goals.list", as: viewer, method: "GET", path: app + "/goals"},
		{name: "goals.list-page", as: owner, method: "GET", path: app + "/goals?limit=1", keep: map[string]string{"goals": "nextCursor"}},
		{name: "goals.list-next", as: owner, method: "GET", path: app + "/goals?limit=1&cursor={goals}"},
		{name: "goals.list-foreign-cursor", as: owner, method: "GET", path: app + "/funnels?cursor={goals}"},
		{name: "analytics.overview-goals", as: owner, method: "GET", path: app + "/analytics/overview"},
		{name: "analytics.timeseries-conversions", as: owner, method: "GET", path: app + "/analytics/timeseries?metric=conversions"},
		{name: "events.names-goals", as: owner, method: "GET", path: app + "/events/names"},
		{name: "analytics.goals", as: owner, method: "GET", path: app + "/analytics/goals"},
		{name: "analytics.goals-page", as: owner, method: "GET", path: app + "/analytics/goals?limit=1", keep: map[string]string{"counts": "nextCursor"}},
		{name: "analytics.goals-next", as: owner, method: "GET", path: app + "/analytics/goals?limit=1&cursor={counts}"},
		{name: "analytics.goals-filtered", as: owner, method: "GET", path: app + "/analytics/goals?range=12m&filter=path:/&env=production"},
		{name: "analytics.goals-invalid", as: owner, method: "GET", path: app + "/analytics/goals?env=moon&range=8d&filter=shoe:9&filter=path:"},
		{name: "goals.update", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{"name":" Sign-up ","value":20}`},
		{name: "goals.update-match", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{"kind":"path","match":"/welcome*"}`},
		{name: "goals.update-duplicate", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{"kind":"path","match":"/pri*"}`},
		{name: "goals.update-invalid", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{"name":"","kind":"click","match":"/a*b","value":-1}`},
		{name: "goals.update-empty", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{}`},
		{name: "goals.update-missing", as: owner, method: "PATCH", path: app + "/goals/goal_1", body: `{"name":"Other"}`},
		{name: "goals.update-foreign", as: owner, method: "PATCH", path: "/api/v1/apps/globex/shop/goals/{goal}", body: `{"name":"Other"}`},
		{name: "goals.update-viewer", as: viewer, method: "PATCH", path: app + "/goals/{goal}", body: `{"name":"Other"}`},
		{name: "goals.update-back", as: owner, method: "PATCH", path: app + "/goals/{goal}", body: `{"name":"Signup","kind":"event","match":"signup","value":12.5}`},
		{name: "goals.delete", as: owner, method: "DELETE", path: app + "/goals/{goal}"},
		{name: "goals.delete-again", as: owner, method: "DELETE", path: app + "/goals/{goal}"},
		{name: "goals.delete-foreign", as: owner, method: "DELETE", path: "/api/v1/apps/globex/shop/goals/{goal}"},
		{name: "analytics.goals-deleted", as: owner, method: "GET", path: app + "/analytics/goals"},
		{name: "goals.list-deleted", as: owner, method: "GET", path: app + "/goals"},
	}
}

// funnelSteps lists the requests about funnels.
func funnelSteps() []step {
	const app = "/api/v1/apps/acme/web"
	checkout := `{"name":"Checkout","windowHours":24,"steps":[{"kind":"path","match":"/*"},{"kind":"event","match":"signup","filters":[` +
		`{"property":"property.plan","op":"in","value":["pro",1,true]},{"property":"country","op":"eq","value":"DE"},{"property":"value","op":"exists","value":false}]},{"kind":"path","match":"/pricing"}]}`
	long := `{"name":"","windowHours":2161,"steps":[{"kind":"click","match":""},{"match":"a","kind":"event","filters":[{"property":"shoe","op":"like","value":9},{"property":"property.","op":"in","value":"x"}]}]}`
	return []step{
		{name: "funnels.create", as: owner, method: "POST", path: app + "/funnels", body: checkout, keep: map[string]string{"funnel": "id"}},
		{name: "funnels.create-defaults", as: owner, method: "POST", path: app + "/funnels", body: `{"name":"Short","steps":[{"kind":"path","match":"/"},{"kind":"event","match":"signup"}]}`, keep: map[string]string{"short": "id"}},
		{name: "funnels.create-invalid", as: owner, method: "POST", path: app + "/funnels", body: long},
		{name: "funnels.create-one-step", as: owner, method: "POST", path: app + "/funnels", body: `{"name":"One","windowHours":0,"steps":[{"kind":"path","match":"/"}]}`},
		{name: "funnels.create-types", as: owner, method: "POST", path: app + "/funnels", body: `{"name":7,"windowHours":1.5,"steps":[{"kind":1,"match":"/","filters":{}},3]}`},
		{name: "funnels.list", as: viewer, method: "GET", path: app + "/funnels?limit=1", keep: map[string]string{"funnels": "nextCursor"}},
		{name: "funnels.list-next", as: viewer, method: "GET", path: app + "/funnels?limit=1&cursor={funnels}"},
		{name: "funnels.get", as: viewer, method: "GET", path: app + "/funnels/{funnel}"},
		{name: "funnels.get-missing", as: owner, method: "GET", path: app + "/funnels/fun_1"},
		{name: "funnels.get-foreign", as: owner, method: "GET", path: "/api/v1/apps/globex/shop/funnels/{funnel}"},
		{name: "funnels.results", as: viewer, method: "GET", path: app + "/funnels/{funnel}/results"},
		{name: "funnels.results-capped", as: owner, method: "GET", path: app + "/funnels/{funnel}/results?range=12m"},
		{name: "funnels.results-unfiltered", as: owner, method: "GET", path: app + "/funnels/{short}/results?range=12m&env=staging"},
		{name: "funnels.results-missing", as: owner, method: "GET", path: app + "/funnels/fun_1/results"},
		{name: "funnels.results-invalid", as: owner, method: "GET", path: app + "/funnels/{funnel}/results?env=moon&range=8d&includeBots=maybe"},
		{name: "funnels.results-breakdown", as: viewer, method: "GET", path: app + "/funnels/{short}/results?range=12m&breakdown=source"},
		{name: "funnels.results-breakdown-property", as: viewer, method: "GET", path: app + "/funnels/{funnel}/results?range=12m&breakdown=property.plan"},
		{name: "funnels.results-breakdown-invalid", as: owner, method: "GET", path: app + "/funnels/{funnel}/results?breakdown=entry_path"},
		{name: "funnels.update", as: owner, method: "PUT", path: app + "/funnels/{funnel}", body: `{"name":" Shorter ","steps":[{"kind":"path","match":"/pricing"},{"kind":"event","match":"signup","filters":[{"property":"country","op":"eq","value":"DE"}]}]}`},
		{name: "funnels.update-invalid", as: owner, method: "PUT", path: app + "/funnels/{funnel}", body: `{"name":"","windowHours":2161,"steps":[{"kind":"click","match":""}]}`},
		{name: "funnels.update-missing", as: owner, method: "PUT", path: app + "/funnels/fun_1", body: `{"name":"Short","steps":[{"kind":"path","match":"/"},{"kind":"event","match":"signup"}]}`},
		{name: "funnels.update-foreign", as: owner, method: "PUT", path: "/api/v1/apps/globex/shop/funnels/{funnel}", body: `{"name":"Short","steps":[{"kind":"path","match":"/"},{"kind":"event","match":"signup"}]}`},
		{name: "funnels.delete", as: owner, method: "DELETE", path: app + "/funnels/{funnel}"},
		{name: "funnels.delete-again", as: owner, method: "DELETE", path: app + "/funnels/{funnel}"},
	}
}

// flagSteps lists the requests of feature flags.
func flagSteps() []step {
	const flags = "/api/v1/apps/acme/web/flags"
	const checkout = `{"name":"Checkout","description":"One page less.","kind":"multivariate","variants":[{"key":"control","weight":50},{"key":"fast","weight":50,"value":{"steps":1}}],` +
		`"rules":[{"conditions":[{"field":"trait.plan","op":"in","value":["beta","pro"]}],"variant":"fast","rolloutPercent":100}],"environments":{"production":{"enabled":true,"rolloutPercent":50}}}`
	const nav = `{"name":"Navigation","kind":"boolean","environments":{"staging":{"enabled":true}},"prerequisites":[{"flag":"checkout","variant":"fast"}]}`
	return []step{
		{name: "flags.list-empty", as: owner, method: "GET", path: flags},
		{name: "flags.put-new", as: owner, method: "PUT", path: flags + "/checkout", body: checkout},
		{name: "flags.put-another", as: owner, method: "PUT", path: flags + "/nav", body: nav},
		{name: "flags.put", as: owner, method: "PUT", path: flags + "/nav", body: nav, header: map[string]string{"If-Match": `"1"`}},
		{name: "flags.put-stale", as: owner, method: "PUT", path: flags + "/nav", body: nav, header: map[string]string{"If-Match": `"1"`}},
		{name: "flags.put-weights", as: owner, method: "PUT", path: flags + "/a", body: `{"name":"A","kind":"multivariate","variants":[{"key":"a","weight":49},{"key":"b","weight":50}]}`},
		{name: "flags.put-invalid", as: owner, method: "PUT", path: flags + "/A!", body: `{"name":"","kind":"multivariate","variants":[{"key":"a","weight":50},{"key":"a","weight":50}],"rules":[{"conditions":[{"field":"mood","op":"like","value":1}],"variant":"c"}],"environments":{"moon":{"enabled":true}},"bucketBy":"mood"}`},
		{name: "flags.put-unknown-member", as: owner, method: "PUT", path: flags + "/a", body: `{"name":"A","kind":"boolean","environmints":{}}`},
		{name: "flags.put-reserved", as: owner, method: "PUT", path: flags + "/new", body: `{"name":"New","kind":"boolean"}`},
		{name: "flags.put-cycle", as: owner, method: "PUT", path: flags + "/checkout", body: `{"name":"Checkout","kind":"boolean","prerequisites":[{"flag":"nav","variant":"on"}]}`},
		{name: "flags.put-forbidden", as: viewer, method: "PUT", path: flags + "/a", body: `{"name":"A","kind":"boolean"}`},
		{name: "flags.get", as: owner, method: "GET", path: flags + "/checkout"},
		{name: "flags.get-missing", as: owner, method: "GET", path: flags + "/nothing"},
		{name: "flags.list", as: viewer, method: "GET", path: flags + "?env=staging"},
		{name: "flags.list-invalid", as: owner, method: "GET", path: flags + "?env=moon&includeArchived=maybe&limit=0"},
		{name: "flags.preview", as: owner, method: "POST", path: flags + "/checkout/preview", body: `{"distinctId":"u1","context":{"plan":"beta"}}`},
		{name: "flags.preview-rollout", as: owner, method: "POST", path: flags + "/checkout/preview", body: `{"distinctId":"u1","context":{"plan":"free"}}`},
		{name: "flags.preview-disabled", as: owner, method: "POST", path: flags + "/nav/preview", body: `{"distinctId":"u1"}`},
		{name: "flags.preview-invalid", as: owner, method: "POST", path: flags + "/nav/preview?env=moon", body: `{"distinctId":"","context":[]}`},
		{name: "flags.preview-missing", as: owner, method: "POST", path: flags + "/nothing/preview", body: `{"distinctId":"u1"}`},
		{name: "flags.archive", as: owner, method: "DELETE", path: flags + "/nav"},
		{name: "flags.archive-again", as: owner, method: "DELETE", path: flags + "/nav"},
		{name: "flags.archive-missing", as: owner, method: "DELETE", path: flags + "/nothing"},
		{name: "flags.list-archived", as: owner, method: "GET", path: flags + "?includeArchived=true&limit=1"},
		{name: "flags.put-restored", as: owner, method: "PUT", path: flags + "/nav", body: nav},
		{name: "flags.history", as: owner, method: "GET", path: flags + "/nav/history?limit=2"},
		{name: "flags.history-missing", as: owner, method: "GET", path: flags + "/nothing/history"},
		{name: "flags.results", as: owner, method: "GET", path: flags + "/checkout/results?range=custom:2026-03-02..2026-03-20"},
		{name: "flags.results-missing", as: owner, method: "GET", path: flags + "/nothing/results"},
	}
}

// markSteps lists the requests about annotations, exclusions, journeys and web vitals.
func markSteps() []step {
	const app = "/api/v1/apps/acme/web"
	return []step{
		{name: "annotations.put", as: owner, method: "POST", path: app + "/annotations", body: `{"title":"Sale","kind":"campaign","at":"2026-01-10T12:00:00Z","environment":"production"}`, keep: map[string]string{"mark": "id"}},
		{name: "annotations.put-second", as: owner, method: "POST", path: app + "/annotations", body: `{"title":"Seen on TV","text":"At eight","at":"2026-01-20T20:00:00Z"}`},
		{name: "annotations.put-invalid", as: owner, method: "POST", path: app + "/annotations", body: `{"title":"","kind":"war"}`},
		{name: "annotations.put-unknown-env", as: owner, method: "POST", path: app + "/annotations", body: `{"title":"x","environment":"moon"}`},
		{name: "annotations.update", as: owner, method: "POST", path: app + "/annotations", body: `{"id":"{mark}","title":"Autumn sale","environment":null}`},
		{name: "annotations.update-missing", as: owner, method: "POST", path: app + "/annotations", body: `{"id":"release:1.0","title":"x"}`},
		{name: "annotations.list", as: viewer, method: "GET", path: app + "/annotations?limit=1&range=custom:2026-01-01..2026-01-31", keep: map[string]string{"marks": "nextCursor"}},
		{name: "annotations.list-next", as: viewer, method: "GET", path: app + "/annotations?limit=1&range=custom:2026-01-01..2026-01-31&cursor={marks}"},
		{name: "annotations.list-past", as: viewer, method: "GET", path: app + "/annotations?range=custom:2020-01-01..2020-01-31"},
		{name: "annotations.delete", as: owner, method: "DELETE", path: app + "/annotations/{mark}"},
		{name: "annotations.delete-again", as: owner, method: "DELETE", path: app + "/annotations/{mark}"},
		{name: "exclusions.put", as: owner, method: "PUT", path: app + "/exclusions", body: `{"items":[{"kind":"hostname","value":"*.staging.acme.example","label":"Staging"},{"kind":"path","value":"/admin/*"},{"kind":"user_agent","value":"Pingdom"}]}`},
		{name: "exclusions.put-invalid", as: owner, method: "PUT", path: app + "/exclusions", body: `{"items":[{"kind":"address","value":"0.0.0.0/0"},{"kind":"country","value":"DE"},{"id":"exc_1"},{"kind":"path","value":"admin"}]}`},
		{name: "exclusions.put-unknown-member", as: owner, method: "PUT", path: app + "/exclusions", body: `{"items":[],"mode":"on"}`},
		{name: "exclusions.list", as: viewer, method: "GET", path: app + "/exclusions"},
		{name: "exclusions.put-none", as: owner, method: "PUT", path: app + "/exclusions", body: `{"items":[]}`},
		{name: "analytics.journeys-invalid", as: viewer, method: "GET", path: app + "/analytics/journeys?from=shoe:9&steps=9&limit=99"},
		{name: "analytics.journeys-no-start", as: viewer, method: "GET", path: app + "/analytics/journeys"},
		{name: "analytics.vitals-invalid", as: viewer, method: "GET", path: app + "/analytics/vitals?by=moon&cursor=x"},
	}
}
