package apitest

// shareSteps lists the requests of the public page's settings.
func shareSteps() []step {
	const path = "/console/api/v1/apps/acme/web/share"
	return []step{
		{name: "console.share.get-unpublished", as: session, method: "GET", path: path},
		{name: "console.share.rotate-unpublished", as: session, method: "POST", path: path + "/rotate"},
		{name: "console.share.publish", as: session, method: "POST", path: path, body: `{"pages":true,"legacyLink":true}`},
		{name: "console.share.publish-again", as: session, method: "POST", path: path, body: `{}`},
		{name: "console.share.configure", as: session, method: "PATCH", path: path, body: `{"locations":true,"pages":false,"privatePaths":["/b*","/a"]}`},
		{name: "console.share.configure-empty", as: session, method: "PATCH", path: path, body: `{}`},
		{name: "console.share.configure-invalid", as: session, method: "PATCH", path: path, body: `{"pages":1,"privatePaths":["a","/*/b"]}`},
		{name: "console.share.get", as: session, method: "GET", path: path},
		{name: "console.share.rotate", as: session, method: "POST", path: path + "/rotate"},
		{name: "console.share.disable", as: session, method: "DELETE", path: path},
		{name: "console.share.disable-again", as: session, method: "DELETE", path: path},
	}
}
