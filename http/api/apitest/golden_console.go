package apitest

// decisionSteps lists the requests about approval queues and passkeys.
func decisionSteps() []step {
	return []step{
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
