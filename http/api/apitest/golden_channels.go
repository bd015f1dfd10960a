package apitest

// channelSteps lists the requests about channels. alertSteps uses two of them.
func channelSteps() []step {
	const channels = "/console/api/v1/apps/acme/web/channels"
	return []step{
		{name: "console.channels.create", as: session, method: "POST", path: channels, body: `{"name":"Pager","kind":"webhook","url":"https://acme.example/hook"}`, keep: map[string]string{"hook": "id"}},
		{name: "console.channels.create-email", as: session, method: "POST", path: channels, body: `{"name":"Mail","kind":"email","to":["ops@acme.example"]}`, keep: map[string]string{"mail": "id"}},
		{name: "console.channels.create-invalid", as: session, method: "POST", path: channels, body: `{"name":"","kind":"slack","url":"http://10.0.0.1/"}`},
		{name: "console.channels.create-unknown", as: session, method: "POST", path: channels, body: `{"name":"x","kind":"pigeon"}`},
		{name: "console.channels.create-email-invalid", as: session, method: "POST", path: channels, body: `{"name":"x","kind":"email","to":["a@b.example","nobody"]}`},
		{name: "console.channels.list", as: session, method: "GET", path: channels},
		{name: "console.channels.test", as: session, method: "POST", path: channels + "/{mail}/test"},
		{name: "channels.list", as: viewer, method: "GET", path: "/api/v1/apps/acme/web/channels"},
		{name: "channels.test", as: owner, method: "POST", path: "/api/v1/apps/acme/web/channels/{mail}/test"},
		{name: "channels.test-viewer", as: viewer, method: "POST", path: "/api/v1/apps/acme/web/channels/{mail}/test"},
		{name: "console.channels.test-missing", as: session, method: "POST", path: channels + "/chn_1/test"},
	}
}

// destinationSteps lists the requests about destinations. A destination without a credential receives nothing.
func destinationSteps() []step {
	const console, manage = "/console/api/v1/apps/acme/web/destinations", "/api/v1/apps/acme/web/destinations"
	return []step{
		{name: "destinations.list-empty", as: viewer, method: "GET", path: manage},
		{name: "console.destinations.create", as: session, method: "POST", path: console, body: `{"kind":"webhook","name":"Shop","mapping":[{"event":"purchase","destinationEvent":"Purchase","valueProperty":"total","currency":"eur"}],"config":{"url":"https://acme.example/hook"}}`, keep: map[string]string{"destination": "id"}},
		{name: "console.destinations.create-platform", as: session, method: "POST", path: console, body: `{"kind":"meta_capi","name":"Ads","enabled":false,"environments":["staging"],"config":{"pixelId":"123456"}}`, keep: map[string]string{"platform": "id"}},
		{name: "console.destinations.create-invalid", as: session, method: "POST", path: console, body: `{"kind":"google_ads","name":"","environments":["moon"],"mapping":[{"event":"a","currency":"x"},{"event":"a"}],"config":{"customerId":"x","url":"http://10.0.0.1/"}}`},
		{name: "console.destinations.create-private", as: session, method: "POST", path: console, body: `{"kind":"webhook","name":"Inside","config":{"url":"http://169.254.169.254/"}}`},
		{name: "console.destinations.update", as: session, method: "PATCH", path: console + "/{destination}", body: `{"name":"Shop 2","enabled":false}`},
		{name: "console.destinations.update-empty", as: session, method: "PATCH", path: console + "/{destination}", body: `{}`},
		{name: "console.destinations.update-missing", as: session, method: "PATCH", path: console + "/dst_1", body: `{"name":"x"}`},
		{name: "console.destinations.credential", as: session, method: "PUT", path: console + "/{destination}/credential", body: `{"credential":"a signing secret"}`},
		{name: "console.destinations.credential-short", as: session, method: "PUT", path: console + "/{destination}/credential", body: `{"credential":"short"}`},
		{name: "destinations.list", as: viewer, method: "GET", path: manage},
		{name: "destinations.test", as: owner, method: "POST", path: manage + "/test/{platform}"},
		{name: "destinations.test-missing", as: owner, method: "POST", path: manage + "/test/dst_1"},
		{name: "destinations.test-forbidden", as: viewer, method: "POST", path: manage + "/test/{platform}"},
		{name: "destinations.deliveries", as: viewer, method: "GET", path: manage + "/{destination}/deliveries?status=parked"},
		{name: "destinations.deliveries-invalid", as: viewer, method: "GET", path: manage + "/{destination}/deliveries?status=lost"},
		{name: "destinations.replay", as: owner, method: "POST", path: manage + "/{destination}/replay", body: `{}`},
		{name: "destinations.replay-missing", as: owner, method: "POST", path: manage + "/{destination}/replay", body: `{"deliveryId":"dlv_1"}`},
		{name: "console.destinations.delete", as: session, method: "DELETE", path: console + "/{platform}"},
		{name: "console.destinations.delete-again", as: session, method: "DELETE", path: console + "/{platform}"},
	}
}

// connectorSteps lists the requests about the connector. It is switched off, so nothing is probed.
func connectorSteps() []step {
	const console, manage = "/console/api/v1/apps/acme/web/connector", "/api/v1/apps/acme/web"
	return []step{
		{name: "console.connector.probe-missing", as: session, method: "POST", path: console + "/probe"},
		{name: "console.connector.put-secretless", as: session, method: "PUT", path: console, body: `{"url":"https://acme.example/svc"}`},
		{name: "console.connector.put-invalid", as: session, method: "PUT", path: console, body: `{"url":"http://169.254.169.254/","secret":"too short"}`},
		{name: "console.connector.put-query", as: session, method: "PUT", path: console, body: `{"url":"https://acme.example/svc?key=1","secret":""}`},
		{name: "console.connector.put", as: session, method: "PUT", path: console, body: `{"url":"https://acme.example/svc/","secret":"0123456789abcdef0123456789abcdef","enabled":false}`},
		{name: "console.connector.put-again", as: session, method: "PUT", path: console, body: `{"url":"https://acme.example/handler","enabled":false}`},
		{name: "apps.get-connector", as: owner, method: "GET", path: manage},
		{name: "apps.get-connector-viewer", as: viewer, method: "GET", path: manage},
		{name: "console.connector.delete", as: session, method: "DELETE", path: console},
		{name: "console.connector.delete-again", as: session, method: "DELETE", path: console},
		{name: "apps.get-connector-deleted", as: owner, method: "GET", path: manage},
	}
}

// campaignSteps lists the requests about campaigns of a node without a mail server.
func campaignSteps() []step {
	const console, manage = "/console/api/v1/apps/acme/web/campaigns", "/api/v1/apps/acme/web/campaigns"
	return []step{
		{name: "campaigns.list-empty", as: viewer, method: "GET", path: manage},
		{name: "console.campaigns.create", as: session, method: "POST", path: console, body: `{"name":"Spring","subject":"Hello {{firstName|friend}}","text":"See https://acme.example/spring","ratePerSecond":50,"hourlyBudget":1000}`, keep: map[string]string{"campaign": "campaign.id"}},
		{name: "console.campaigns.create-push", as: session, method: "POST", path: console, body: `{"name":"Push","environment":"staging","channels":["push"],"subject":"Hi","text":"Hi"}`, keep: map[string]string{"push": "campaign.id"}},
		{name: "console.campaigns.create-invalid", as: session, method: "POST", path: console, body: `{"name":"","environment":"moon","channels":["pigeon"],"audience":{"kind":"segment","segmentId":"seg_0"},"ratePerSecond":9999,"hourlyBudget":-1,"from":{"name":"A","address":"a@elsewhere.example"},"replyTo":"nobody","subject":"{{secret}}","html":"<a href=\"/x\">x</a><script>1</script><a href=\"https://a.example/{{email}}\">y</a>"}`},
		{name: "console.campaigns.create-list-invalid", as: session, method: "POST", path: console, body: `{"name":"List","audience":{"kind":"list","personIds":["ada"]}}`},
		{name: "console.campaigns.create-forbidden", as: viewer, method: "POST", path: console, body: `{"name":"Spring"}`},
		{name: "console.campaigns.update", as: session, method: "PATCH", path: console + "/{campaign}", body: `{"html":"<p>Hello {{name}}, <a href=\"https://acme.example/spring\">look</a></p>","hourlyBudget":0}`, header: map[string]string{"If-Match": `"1"`}},
		{name: "console.campaigns.update-stale", as: session, method: "PATCH", path: console + "/{campaign}", body: `{"name":"Autumn"}`, header: map[string]string{"If-Match": `"1"`}},
		{name: "console.campaigns.update-empty", as: session, method: "PATCH", path: console + "/{campaign}", body: `{}`},
		{name: "console.campaigns.update-missing", as: session, method: "PATCH", path: console + "/cmp_1", body: `{"name":"x"}`},
		{name: "console.campaigns.submit-no-sender", as: session, method: "POST", path: console + "/{push}/submit"},
		{name: "console.campaigns.submit-missing", as: session, method: "POST", path: console + "/cmp_1/submit"},
		{name: "console.campaigns.decide-draft", as: session, method: "POST", path: console + "/{campaign}/decide", body: `{"decision":"return","revision":2,"reason":"No picture"}`},
		{name: "console.campaigns.decide-no-passkey", as: session, method: "POST", path: console + "/{campaign}/decide", body: `{"decision":"approve","revision":2}`},
		{name: "console.campaigns.decide-invalid", as: session, method: "POST", path: console + "/{campaign}/decide", body: `{"decision":"maybe","revision":0}`},
		{name: "console.campaigns.control-draft", as: session, method: "POST", path: console + "/{campaign}/control", body: `{"action":"cancel"}`},
		{name: "console.campaigns.control-invalid", as: session, method: "POST", path: console + "/{campaign}/control", body: `{"action":"schedule","at":"tomorrow"}`},
		{name: "console.campaigns.control-unknown", as: session, method: "POST", path: console + "/{campaign}/control", body: `{"action":"explode"}`},
		{name: "campaigns.list", as: viewer, method: "GET", path: manage + "?status=draft&limit=1"},
		{name: "campaigns.list-staging", as: viewer, method: "GET", path: manage + "?env=staging"},
		{name: "campaigns.list-invalid", as: viewer, method: "GET", path: manage + "?status=lost&env=moon&limit=0"},
		{name: "campaigns.list-foreign-cursor", as: viewer, method: "GET", path: manage + "?cursor=bm9wZQ"},
		{name: "campaigns.get", as: viewer, method: "GET", path: manage + "/{campaign}"},
		{name: "campaigns.get-missing", as: viewer, method: "GET", path: manage + "/cmp_1"},
	}
}
