package demo

// Site is the address of the product. No other application has it, so it identifies a demo.
const Site = "https://harbor.example"

func entryPages() []weighted[string] {
	return []weighted[string]{{"/", 48}, {"/blog/plan-less", 14}, {"/blog/quiet-deploys", 11}, {"/docs", 9}, {"/pricing", 9}, {"/compare/boards", 6}, {"/changelog", 3}}
}

func sitePages() []weighted[string] {
	return []weighted[string]{{"/features", 22}, {"/pricing", 20}, {"/", 12}, {"/docs", 12}, {"/docs/api", 8}, {"/docs/imports", 6}, {"/customers", 8}, {"/about", 4}, {"/blog", 5}, {"/blog/plan-less", 3}}
}

func appPages() []weighted[string] {
	return []weighted[string]{{"/app/board", 42}, {"/app/inbox", 20}, {"/app/reports", 14}, {"/app/search", 10}, {"/app/members", 6}, {"/app/billing", 4}, {"/docs/api", 4}}
}

func givenNames() []weighted[string] {
	return same("Ada", "Amina", "Bruno", "Chiara", "Dario", "Elif", "Femi", "Greta", "Hana", "Ines", "Jonas", "Kofi", "Lena", "Mateo", "Noor", "Olga", "Priya", "Quentin", "Rosa", "Samir", "Tove", "Uma", "Viktor", "Wanda", "Yuki", "Zoe")
}

func familyNames() []weighted[string] {
	return same("Abe", "Berg", "Costa", "Diallo", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kaya", "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Rao", "Silva", "Tanaka", "Weber")
}

func companies() []weighted[string] {
	return same("Alder Works", "Basalt Labs", "Cobalt Freight", "Dune Studio", "Ember Health", "Fathom Foods", "Granite Bank", "Heron Media", "Iris Optics", "Juniper Energy", "Kestrel Air", "Lumen School", "Mistral Sport", "Nimbus Parts")
}

func same(values ...string) []weighted[string] {
	all := make([]weighted[string], len(values))
	for i, value := range values {
		all[i] = weighted[string]{value, 1}
	}
	return all
}

// addresses belong to many countries, by the database of locations.
func addresses() []weighted[string] {
	return []weighted[string]{
		{"193.99.144.80", 22},
		{"8.8.8.8", 22},
		{"212.58.244.20", 12},
		{"194.2.0.20", 9},
		{"213.154.224.1", 8},
		{"202.12.27.33", 6},
		{"130.239.18.10", 5},
		{"200.160.2.3", 5},
		{"14.139.60.10", 5},
		{"129.132.1.1", 3},
		{"131.130.1.11", 2},
		{"158.37.63.1", 1},
	}
}

func agents() []weighted[string] {
	return []weighted[string]{
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36", 36},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1", 24},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", 16},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", 12},
		{"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36", 12},
	}
}

func referrers() []weighted[string] {
	return []weighted[string]{
		{"", 34},
		{"https://www.google.com/", 28},
		{"https://news.ycombinator.com/", 6},
		{"https://github.com/", 8},
		{"https://www.bing.com/", 5},
		{"https://duckduckgo.com/", 5},
		{"https://www.linkedin.com/", 6},
		{"https://chatgpt.com/", 4},
		{"https://dev.to/", 2},
		{"https://www.reddit.com/", 2},
	}
}

func campaigns() []weighted[string] {
	return []weighted[string]{
		{"", 82},
		{"utm_source=newsletter&utm_medium=email&utm_campaign=autumn", 8},
		{"utm_source=podcast&utm_medium=audio&utm_campaign=launch", 4},
		{"utm_source=google&utm_medium=cpc&utm_campaign=boards", 6},
	}
}

func plans() []weighted[string] {
	return []weighted[string]{{"free", 62}, {"team", 28}, {"business", 10}}
}
