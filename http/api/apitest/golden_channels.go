package apitest

// channelSteps lists the requests about channels, of which alertSteps uses two.
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
