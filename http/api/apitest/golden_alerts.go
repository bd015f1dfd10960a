package apitest

// alertSteps lists the requests about alert rules, incidents and the end of channels.
func alertSteps() []step {
	const path, incidents, channels = "/api/v1/apps/acme/web/alerts", "/api/v1/apps/acme/web/incidents", "/console/api/v1/apps/acme/web/channels"
	rule := func(kind, condition, more string) string {
		return `{"name":"Rule","kind":"` + kind + `","threshold":1,"condition":` + condition + more + `}`
	}
	wrong := `{"name":"","kind":"metric","threshold":1,"comparator":"above","windowMinutes":0,"cooldownMinutes":10081,"severity":"bad","noData":"no","forMinutes":-1,"channelIds":["chn_1"],"condition":{"agg":"p42"}}`
	return []step{
		{
			name: "alerts.put", as: owner, method: "POST", path: path + "?env=staging", keep: map[string]string{"rule": "id"},
			body: rule("metric", `{"name":"latency","agg":"p95","labels":{"route":"/"},"path":"ignored"}`, `,"comparator":"gte","windowMinutes":10,"cooldownMinutes":0,"severity":"critical","forMinutes":3,"recoveryThreshold":0.5,"noData":"alert","enabled":false,"channelIds":["{hook}"]`),
		},
		{name: "alerts.put-uptime", as: owner, method: "POST", path: path, body: rule("uptime", `{"monitorId":"{watched}"}`, "")},
		{name: "alerts.put-unknown-monitor", as: owner, method: "POST", path: path, body: rule("uptime", `{"monitorId":"mon_1"}`, "")},
		{name: "alerts.put-vital", as: owner, method: "POST", path: path, body: rule("vital", `{"vital":"LCP","path":"/"}`, `,"enabled":false`)},
		{name: "alerts.put-error-rate", as: owner, method: "POST", path: path, body: rule("error_rate", `{"level":"error","per":"session"}`, `,"enabled":false`)},
		{name: "alerts.put-event-volume", as: owner, method: "POST", path: path, body: rule("event_volume", `{"name":"signup"}`, `,"comparator":"lt","enabled":false`)},
		{name: "alerts.put-new-issue", as: owner, method: "POST", path: path, body: `{"name":"New","kind":"new_issue"}`},
		{name: "alerts.put-invalid", as: owner, method: "POST", path: path, body: wrong},
		{name: "alerts.put-incomplete", as: owner, method: "POST", path: path + "?env=moon", body: `{}`},
		{name: "alerts.put-no-condition", as: owner, method: "POST", path: path, body: `{"name":"x","kind":"uptime","threshold":1}`},
		{name: "alerts.put-wrong-vital", as: owner, method: "POST", path: path, body: rule("vital", `{"vital":"FID"}`, "")},
		{name: "alerts.put-wrong-level", as: owner, method: "POST", path: path, body: rule("error_rate", `{"level":"loud","per":"user"}`, "")},
		{name: "alerts.put-types", as: owner, method: "POST", path: path, body: `{"name":1,"kind":2,"threshold":"3","condition":[],"channelIds":"x","recoveryThreshold":true}`},
		{name: "alerts.put-unknown-channel", as: owner, method: "POST", path: path, body: rule("new_issue", `{}`, `,"channelIds":["{hook}","chn_1"]`)},
		{name: "alerts.put-viewer", as: viewer, method: "POST", path: path, body: `{"name":"New","kind":"new_issue"}`},
		{name: "alerts.update", as: owner, method: "POST", path: path, body: `{"id":"{rule}","threshold":2,"recoveryThreshold":null}`},
		{name: "alerts.update-env", as: owner, method: "POST", path: path + "?env=development", body: `{"id":"{rule}"}`},
		{name: "alerts.update-kind", as: owner, method: "POST", path: path, body: `{"id":"{rule}","kind":"vital"}`},
		{name: "alerts.update-missing", as: owner, method: "POST", path: path, body: `{"id":"rul_1"}`},
		{name: "alerts.update-foreign", as: owner, method: "POST", path: "/api/v1/apps/globex/shop/alerts", body: `{"id":"{rule}"}`},
		{name: "console.channels.delete-in-use", as: session, method: "DELETE", path: channels + "/{hook}"},
		{name: "console.channels.delete", as: session, method: "DELETE", path: channels + "/{mail}"},
		{name: "console.channels.delete-again", as: session, method: "DELETE", path: channels + "/{mail}"},
		{name: "alerts.list", as: viewer, method: "GET", path: path + "?limit=2", keep: map[string]string{"alerts": "nextCursor"}},
		{name: "alerts.list-next", as: viewer, method: "GET", path: path + "?limit=2&cursor={alerts}"},
		{name: "alerts.list-staging", as: viewer, method: "GET", path: path + "?env=staging"},
		{name: "alerts.list-unknown-env", as: viewer, method: "GET", path: path + "?env=moon"},
		{name: "alerts.put-two-environments", as: owner, method: "POST", path: path + "?env=staging", body: `{"name":"New","kind":"new_issue","environment":"production"}`},
		{name: "alerts.update-environment", as: owner, method: "POST", path: path, body: `{"id":"{rule}","environment":"production"}`},
		{name: "alerts.delete", as: owner, method: "DELETE", path: path + "/{rule}"},
		{name: "alerts.delete-again", as: owner, method: "DELETE", path: path + "/{rule}"},
		{name: "incidents.list", as: viewer, method: "GET", path: incidents},
		{name: "incidents.list-unknown-env", as: viewer, method: "GET", path: incidents + "?env=moon"},
		{name: "incidents.list-invalid", as: viewer, method: "GET", path: incidents + "?status=closed"},
		{name: "console.incidents.acknowledge-missing", as: session, method: "POST", path: "/console" + incidents + "/inc_1/acknowledge"},
		{name: "console.incidents.resolve-missing", as: session, method: "POST", path: "/console" + incidents + "/inc_1/resolve"},
	}
}

// silenceSteps lists the requests about silences, previews, and single monitors and incidents.
func silenceSteps() []step {
	const app, console = "/api/v1/apps/acme/web", "/console/api/v1/apps/acme/web"
	const window = `"startsAt":"2199-01-01T00:00:00Z","endsAt":"2199-01-02T00:00:00Z"`
	return []step{
		{name: "silences.put", as: owner, method: "POST", path: app + "/silences", body: `{"name":"Move","environment":"production","labels":{"route":"/"},` + window + `}`, keep: map[string]string{"silence": "id"}},
		{name: "silences.put-second", as: owner, method: "POST", path: app + "/silences", body: `{"name":"Second",` + window + `}`},
		{name: "silences.put-invalid", as: owner, method: "POST", path: app + "/silences", body: `{"name":"","ruleId":"rul_1","startsAt":"2199-01-01T00:00:00Z","endsAt":"2198-01-01T00:00:00Z"}`},
		{name: "silences.put-unknown-env", as: owner, method: "POST", path: app + "/silences", body: `{"name":"x","environment":"moon",` + window + `}`},
		{name: "silences.update", as: owner, method: "POST", path: app + "/silences", body: `{"id":"{silence}","name":"Moving","environment":null}`},
		{name: "silences.update-missing", as: owner, method: "POST", path: app + "/silences", body: `{"id":"sil_1"}`},
		{name: "silences.list", as: viewer, method: "GET", path: app + "/silences?limit=1", keep: map[string]string{"silences": "nextCursor"}},
		{name: "silences.list-next", as: viewer, method: "GET", path: app + "/silences?limit=1&cursor={silences}"},
		{name: "silences.delete", as: owner, method: "DELETE", path: app + "/silences/{silence}"},
		{name: "silences.delete-again", as: owner, method: "DELETE", path: app + "/silences/{silence}"},
		{name: "alerts.preview-incomplete", as: viewer, method: "POST", path: app + "/alerts/preview", body: `{"kind":"metric"}`},
		{name: "alerts.preview-invalid", as: viewer, method: "POST", path: app + "/alerts/preview", body: `{"kind":"event_volume","threshold":1,"comparator":"above"}`},
		{name: "alerts.preview-missing", as: viewer, method: "POST", path: app + "/alerts/preview", body: `{"id":"rul_1","threshold":1}`},
		{name: "alerts.preview-new-issue", as: viewer, method: "POST", path: app + "/alerts/preview?env=staging", body: `{"kind":"new_issue"}`},
		{name: "monitors.put-watched", as: owner, method: "POST", path: app + "/monitors", body: `{"name":"Quiet","url":"https://acme.example/quiet","enabled":false}`, keep: map[string]string{"quiet": "id"}},
		{name: "monitors.get-missing", as: viewer, method: "GET", path: app + "/monitors/mon_1"},
		{name: "monitors.checks", as: viewer, method: "GET", path: app + "/monitors/{quiet}/checks?range=90d&limit=1"},
		{name: "monitors.checks-invalid", as: viewer, method: "GET", path: app + "/monitors/{quiet}/checks?range=2h"},
		{name: "monitors.check-missing", as: owner, method: "POST", path: app + "/monitors/mon_1/check"},
		{name: "monitors.check-viewer", as: viewer, method: "POST", path: app + "/monitors/{quiet}/check"},
		{name: "incidents.get-missing", as: viewer, method: "GET", path: app + "/incidents/inc_1"},
		{name: "console.channels.update-missing", as: session, method: "PATCH", path: console + "/channels/chn_1", body: `{"name":"x"}`},
		{name: "console.channels.update-empty", as: session, method: "PATCH", path: console + "/channels/{hook}", body: `{}`},
		{name: "console.channels.update", as: session, method: "PATCH", path: console + "/channels/{hook}", body: `{"name":"Duty"}`},
	}
}
