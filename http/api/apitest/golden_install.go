package apitest

// installSteps ask for the guide of every framework, and for what it refuses.
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
