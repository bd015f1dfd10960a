package apitest

import "svc/domain"

// errorSteps lists the requests of error tracking.
func errorSteps() []step {
	const app, console = "/api/v1/apps/acme/web", "/console/api/v1/apps/acme/web"
	organization := func(w World) domain.Secret { return w.Organization }
	return []step{
		{name: "errors.list", as: owner, method: "GET", path: app + "/errors", keep: map[string]string{"issue": "data.0.id", "timeout": "data.1.id"}},
		{name: "errors.list-page", as: owner, method: "GET", path: app + "/errors?limit=1&sort=count", keep: map[string]string{"issues": "nextCursor"}},
		{name: "errors.list-next", as: owner, method: "GET", path: app + "/errors?limit=1&sort=count&cursor={issues}"},
		{name: "errors.list-foreign-cursor", as: owner, method: "GET", path: app + "/errors?sort=users&cursor={issues}"},
		{name: "errors.list-invalid", as: owner, method: "GET", path: app + "/errors?status=closed&sort=loudest&limit=0&env=moon"},
		{name: "errors.list-release", as: owner, method: "GET", path: app + "/errors?release=1.1.0&status=all"},
		{name: "errors.list-empty", as: owner, method: "GET", path: app + "/errors?status=regressed"},
		{name: "errors.list-masked", as: viewer, method: "GET", path: app + "/errors?limit=1"},
		{name: "errors.list-masked-search", as: viewer, method: "GET", path: app + "/errors?q=ada%40acme"},
		{name: "errors.overview", as: owner, method: "GET", path: app + "/errors/overview?range=7d"},
		{name: "errors.overview-invalid", as: owner, method: "GET", path: app + "/errors/overview?range=12m"},
		{name: "errors.get", as: owner, method: "GET", path: app + "/errors/{issue}"},
		{name: "errors.get-masked", as: viewer, method: "GET", path: app + "/errors/{timeout}"},
		{name: "errors.get-missing", as: owner, method: "GET", path: app + "/errors/iss_0000000000000"},
		{name: "errors.get-other-environment", as: owner, method: "GET", path: app + "/errors/{issue}?env=staging"},
		{name: "errors.events", as: owner, method: "GET", path: app + "/errors/{issue}/events?limit=2", keep: map[string]string{"occurrences": "nextCursor"}},
		{name: "errors.events-next", as: owner, method: "GET", path: app + "/errors/{issue}/events?limit=2&cursor={occurrences}"},
		{name: "errors.events-masked", as: viewer, method: "GET", path: app + "/errors/{issue}/events?limit=1"},
		{name: "errors.event", as: owner, method: "GET", path: app + "/errors/{issue}/events/occ_04"},
		{name: "errors.event-masked", as: viewer, method: "GET", path: app + "/errors/{issue}/events/occ_04"},
		{name: "errors.event-of-another-issue", as: owner, method: "GET", path: app + "/errors/{timeout}/events/occ_04"},
		{name: "errors.event-of-another-environment", as: owner, method: "GET", path: app + "/errors/{issue}/events/occ_04?env=development"},
		{name: "errors.event-missing", as: owner, method: "GET", path: app + "/errors/{issue}/events/occ_99"},
		{name: "errors.update", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"status":"resolved","resolvedInRelease":"1.2.0"}`},
		{name: "errors.update-organization", as: organization, method: "PATCH", path: app + "/errors/{timeout}", body: `{"status":"ignored","ignoreUntil":"2199-01-01T00:00:00Z"}`},
		{name: "errors.update-unresolved", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"status":"unresolved"}`},
		{name: "errors.update-unassign", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"assigneeId":null}`},
		{name: "errors.update-empty", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{}`},
		{name: "errors.update-unknown-field", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"mood":"bad"}`},
		{name: "errors.update-regressed", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"status":"regressed"}`},
		{name: "errors.update-invalid", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"status":"closed","resolvedInRelease":"1","ignoreUntil":"2001-01-01T00:00:00Z"}`},
		{name: "errors.update-wrong-types", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"status":1,"assigneeId":[],"ignoreUntil":"noon"}`},
		{name: "errors.update-stranger", as: owner, method: "PATCH", path: app + "/errors/{issue}", body: `{"assigneeId":"usr_stranger"}`},
		{name: "errors.update-missing", as: owner, method: "PATCH", path: app + "/errors/iss_0000000000000", body: `{"status":"open"}`},
		{name: "console.errors.merge", as: session, method: "POST", path: console + "/errors/{issue}/merge", body: `{"issueIds":["{timeout}"]}`},
		{name: "console.errors.merge-itself", as: session, method: "POST", path: console + "/errors/{issue}/merge", body: `{"issueIds":["{issue}"]}`},
		{name: "console.errors.merge-unknown", as: session, method: "POST", path: console + "/errors/{issue}/merge", body: `{"issueIds":["iss_0000000000000"]}`},
		{name: "console.errors.merge-nothing", as: session, method: "POST", path: console + "/errors/{issue}/merge", body: `{"issueIds":[]}`},
		{name: "errors.get-merged", as: owner, method: "GET", path: app + "/errors/{timeout}"},
		{name: "console.errors.unmerge", as: session, method: "POST", path: console + "/errors/{issue}/unmerge", body: `{"issueIds":["{timeout}"]}`},
		{name: "console.errors.unmerge-again", as: session, method: "POST", path: console + "/errors/{issue}/unmerge", body: `{"issueIds":["{timeout}"]}`},
	}
}

// errorActivitySteps lists the requests about comments, activities, many issues, releases and source maps.
func errorActivitySteps() []step {
	const app = "/api/v1/apps/acme/web"
	return []step{
		{name: "errors.comment", as: owner, method: "POST", path: app + "/errors/{issue}/comments", body: `{"text":"Ask ada@acme.example."}`},
		{name: "errors.comment-empty", as: owner, method: "POST", path: app + "/errors/{issue}/comments", body: `{"text":""}`},
		{name: "errors.comment-missing", as: owner, method: "POST", path: app + "/errors/iss_0000000000000/comments", body: `{"text":"x"}`},
		{name: "errors.activity", as: owner, method: "GET", path: app + "/errors/{issue}/activity?limit=4", keep: map[string]string{"activities": "nextCursor"}},
		{name: "errors.activity-next", as: owner, method: "GET", path: app + "/errors/{issue}/activity?limit=4&cursor={activities}"},
		{name: "errors.activity-masked", as: viewer, method: "GET", path: app + "/errors/{issue}/activity?limit=1"},
		{name: "errors.updateMany", as: owner, method: "PATCH", path: app + "/errors", body: `{"ids":["{timeout}","iss_0000000000000","nothing","{timeout}"],"status":"resolved"}`},
		{name: "errors.updateMany-invalid", as: owner, method: "PATCH", path: app + "/errors?env=moon", body: `{"ids":[],"status":"regressed"}`},
		{name: "errors.updateMany-stranger", as: owner, method: "PATCH", path: app + "/errors", body: `{"ids":["{timeout}"],"assigneeId":"usr_stranger"}`},
		{name: "errors.updateMany-reopen", as: owner, method: "PATCH", path: app + "/errors", body: `{"ids":["{timeout}"],"status":"open"}`},
		{name: "errors.releases", as: owner, method: "GET", path: app + "/errors/releases?limit=1", served: true, keep: map[string]string{"releases": "nextCursor"}},
		{name: "errors.releases-next", as: owner, method: "GET", path: app + "/errors/releases?limit=1&cursor={releases}", served: true},
		{name: "errors.releases-search", as: viewer, method: "GET", path: app + "/errors/releases?q=1.1", served: true},
		{name: "errors.releases-foreign-cursor", as: owner, method: "GET", path: app + "/errors/releases?q=1&cursor={releases}", served: true},
		{name: "errors.artifacts", as: owner, method: "GET", path: app + "/errors/artifacts", served: true},
	}
}
