package apitest

// assistantSteps lists the requests about the assistant. The module is off in the suite's applications; cmd/svc tests
// whole questions to a model.
func assistantSteps() []step {
	const (
		app     = "/api/v1/apps/acme/web/ai"
		settled = "/console/api/v1/orgs/acme/ai"
		console = "/console/api/v1/apps/acme/web/ai"
	)
	return []step{
		{name: "console.ai.get", as: session, method: "GET", path: settled},
		{name: "console.ai.putPolicy", as: session, method: "PUT", path: settled + "/policy", body: `{"deniedTools":["goals_create"],"deniedEffects":["external"],"maxScope":"read","monthlyBudget":1000}`},
		{name: "console.ai.putPolicy-invalid", as: session, method: "PUT", path: settled + "/policy", body: `{"deniedTools":["nope"],"maxScope":"fly","surprise":1}`},
		{name: "console.ai.putCredential-invalid", as: session, method: "PUT", path: settled + "/credential", body: `{"provider":"acme","key":"short"}`},
		{name: "console.ai.deleteCredential", as: session, method: "DELETE", path: settled + "/credential"},
		{name: "console.ai.allow", as: session, method: "PUT", path: settled + "/always/goals_create"},
		{name: "console.ai.allow-missing", as: session, method: "PUT", path: settled + "/always/nope"},
		{name: "console.ai.forbid", as: session, method: "DELETE", path: settled + "/always/goals_create"},
		{name: "ai.conversations-off", as: owner, method: "GET", path: app + "/conversations"},
		{name: "ai.conversation-off", as: owner, method: "GET", path: app + "/conversations/cnv_1"},
		{name: "ai.ask-off", as: owner, method: "POST", path: app + "/ask", body: `{"question":"How many?"}`},
		{name: "ai.actions-off", as: owner, method: "GET", path: app + "/actions"},
		{name: "ai.approve-off", as: owner, method: "POST", path: app + "/actions/act_1/approve", body: `{}`},
		{name: "ai.reject-off", as: owner, method: "POST", path: app + "/actions/act_1/reject", body: `{"reason":"no"}`},
		{name: "console.ai.ownActions-off", as: session, method: "GET", path: console + "/actions"},
		{name: "console.ai.challenge-off", as: session, method: "POST", path: console + "/actions/act_1/challenge"},
		{name: "console.ai.approve-off", as: session, method: "POST", path: console + "/actions/act_1/approve", body: `{"reason":"yes"}`},
		{name: "console.ai.actions-off", as: session, method: "GET", path: console + "/members/usr_1/actions"},
		{name: "console.ai.revoke-off", as: session, method: "POST", path: console + "/members/usr_1/actions/act_1/revoke"},
	}
}
