package apitest

// installSteps request the guide of every framework, and the refused cases.
func installSteps() []step {
	const install = "/api/v1/apps/acme/web/install"
	return []step{
		{name: "apps.install", as: owner, method: "GET", path: install},
		{name: "apps.install-html", as: owner, method: "GET", path: install + "?framework=html&environment=staging"},
		{name: "apps.install-html-ephemeral", as: owner, method: "GET", path: install + "?framework=html&privacyMode=ephemeral"},
		{name: "apps.install-nextjs-ephemeral", as: owner, method: "GET", path: install + "?privacyMode=ephemeral"},
		{name: "apps.install-react", as: owner, method: "GET", path: install + "?framework=react"},
		{name: "apps.install-node", as: owner, method: "GET", path: install + "?framework=node&environment=development"},
		{name: "apps.install-express", as: owner, method: "GET", path: install + "?framework=express"},
		{name: "apps.install-hono", as: owner, method: "GET", path: install + "?framework=hono"},
		{name: "apps.install-node-ephemeral", as: owner, method: "GET", path: install + "?framework=node&privacyMode=ephemeral"},
		{name: "apps.install-unknown", as: owner, method: "GET", path: install + "?framework=rails&environment=qa&privacyMode=none"},
	}
}

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
