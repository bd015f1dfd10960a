package apitest

// decisionSteps lists the requests about signing in, passkeys and approval queues.
func decisionSteps() []step {
	const sessions = "/console/api/v1/sessions"
	return []step{
		{name: "console.sessions.challenge-spent", as: nobody, method: "POST", path: sessions + "/challenge", body: `{"link":"svc_lnk_spent"}`},
		{name: "console.sessions.create-empty", as: nobody, method: "POST", path: sessions, body: `{}`},
		{name: "console.sessions.create-spent", as: nobody, method: "POST", path: sessions, body: `{"link":"svc_lnk_spent"}`},
		{name: "console.sessions.create-made-up", as: nobody, method: "POST", path: sessions, body: `{"ceremony":"AAAA","credential":{}}`},
		{name: "console.sessions.delete", as: nobody, method: "DELETE", path: sessions},
		{name: "console.me.sessions.list", as: session, method: "GET", path: "/console/api/v1/me/sessions"},
		{name: "console.me.sessions.end-missing", as: session, method: "DELETE", path: "/console/api/v1/me/sessions/tok_9"},
		{name: "console.me.sessions.endOthers", as: session, method: "DELETE", path: "/console/api/v1/me/sessions"},
		{name: "console.me.signins.list", as: session, method: "GET", path: "/console/api/v1/me/signins"},
		{name: "console.demo.get", as: session, method: "GET", path: "/console/api/v1/demo/99", served: true},
		{name: "console.demo.get-signed-out", as: nobody, method: "GET", path: "/console/api/v1/demo/0", served: true},
		{name: "console.passkeys.list", as: session, method: "GET", path: "/console/api/v1/me/passkeys"},
		{name: "console.passkeys.register-invalid", as: session, method: "POST", path: "/console/api/v1/me/passkeys", body: `{"name":" ","ceremony":"cer_1","credential":{}}`},
		{name: "console.passkeys.register-over", as: session, method: "POST", path: "/console/api/v1/me/passkeys", body: `{"name":"Phone","ceremony":"cer_1","credential":{}}`},
		{name: "console.passkeys.remove-missing", as: session, method: "DELETE", path: "/console/api/v1/me/passkeys/key_1"},
		{name: "console.approvals.list", as: session, method: "GET", path: "/console/api/v1/orgs/acme/approvals"},
		{name: "console.approvals.list-invalid", as: session, method: "GET", path: "/console/api/v1/orgs/acme/approvals?status=sent"},
		{name: "console.approvals.approve-no-reason", as: session, method: "POST", path: "/console/api/v1/orgs/acme/approvals/act_1/approve", body: `{}`},
		{name: "console.approvals.approve-missing", as: session, method: "POST", path: "/console/api/v1/orgs/acme/approvals/act_1/approve", body: `{"reason":"yes"}`},
		{name: "console.approvals.reject-missing", as: session, method: "POST", path: "/console/api/v1/orgs/acme/approvals/act_1/reject", body: `{"reason":"no"}`},
	}
}
