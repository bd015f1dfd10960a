package apitest

// monitorSteps lists the requests about monitors. The monitors are disabled, so that no check runs during the suite.
func monitorSteps() []step {
	const path = "/api/v1/apps/acme/web/monitors"
	whole := `{"name":" Site ","url":"https://acme.example/health","method":"POST","expectedStatus":204,"intervalSeconds":30,"timeoutMs":2000,"enabled":false,"bodyMatch":"ok","bodyAbsent":"error","confirmations":3}`
	wrong := `{"name":"","url":"http://169.254.169.254/latest/meta-data","method":"HEAD","expectedStatus":100,"intervalSeconds":29,"timeoutMs":99,"bodyMatch":"x","confirmations":0}`
	return []step{
		{name: "monitors.put", as: owner, method: "POST", path: path, body: whole, keep: map[string]string{"monitor": "id"}},
		{name: "monitors.put-defaults", as: owner, method: "POST", path: path, body: `{"name":"Short","url":"https://acme.example","enabled":false}`, keep: map[string]string{"watched": "id"}},
		{name: "monitors.put-invalid", as: owner, method: "POST", path: path, body: wrong},
		{name: "monitors.put-incomplete", as: owner, method: "POST", path: path, body: `{"method":"get"}`},
		{name: "monitors.put-types", as: owner, method: "POST", path: path, body: `{"name":7,"url":null,"expectedStatus":"200","enabled":1,"bodyMatch":false}`},
		{name: "monitors.put-viewer", as: viewer, method: "POST", path: path, body: whole},
		{name: "monitors.update", as: owner, method: "POST", path: path, body: `{"id":"{monitor}","name":"Front","bodyAbsent":null}`},
		{name: "monitors.update-env", as: owner, method: "POST", path: path + "?env=staging", body: `{"id":"{monitor}","name":"Front"}`},
		{name: "monitors.update-invalid", as: owner, method: "POST", path: path, body: `{"id":"{monitor}","url":"http://localhost/"}`},
		{name: "monitors.update-out-of-range", as: owner, method: "POST", path: path, body: `{"id":"{monitor}","timeoutMs":60001}`},
		{name: "monitors.update-missing", as: owner, method: "POST", path: path, body: `{"id":"mon_1","name":"x"}`},
		{name: "monitors.update-foreign", as: owner, method: "POST", path: "/api/v1/apps/globex/shop/monitors", body: `{"id":"{monitor}","name":"x"}`},
		{name: "monitors.list", as: viewer, method: "GET", path: path},
		{name: "monitors.list-page", as: owner, method: "GET", path: path + "?limit=1", keep: map[string]string{"monitors": "nextCursor"}},
		{name: "monitors.list-next", as: owner, method: "GET", path: path + "?limit=1&cursor={monitors}"},
		{name: "monitors.delete", as: owner, method: "DELETE", path: path + "/{monitor}"},
		{name: "monitors.delete-again", as: owner, method: "DELETE", path: path + "/{monitor}"},
	}
}
