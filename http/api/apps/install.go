package apps

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"slices"
	"text/template"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// installQuery requests the installation guide of an application.
type installQuery struct {
	api.AppPath
	Framework   framework          `query:"framework" doc:"What the code is written in."`
	Environment installEnvironment `query:"environment" doc:"The environment's slug."`
	PrivacyMode privacyMode        `query:"privacyMode" doc:"ephemeral keeps nothing on the device and waits for consent."`
}

// framework is the parameter framework.
type framework string

// Parse reads the framework.
func (f *framework) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := frameworkChoice().Parse(words)
	*f = framework(word)
	return problems
}

// Schema describes the parameter.
func (framework) Schema() route.Schema { return frameworkChoice().Schema() }

func frameworkChoice() api.Choice {
	return api.Choice{Field: "framework", What: "framework", Fallback: "nextjs", Allowed: []string{"nextjs", "react", "node", "html", "express", "hono"}}
}

// privacyMode is the parameter privacyMode.
type privacyMode string

// The words of privacyMode.
const (
	modePersistent privacyMode = "persistent"
	modeEphemeral  privacyMode = "ephemeral"
)

// Parse reads the mode.
func (m *privacyMode) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := privacyChoice().Parse(words)
	*m = privacyMode(word)
	return problems
}

// Schema describes the parameter.
func (privacyMode) Schema() route.Schema { return privacyChoice().Schema() }

func privacyChoice() api.Choice {
	return api.Choice{Field: "privacyMode", What: "privacy mode", Fallback: string(modePersistent), Allowed: api.Words([]privacyMode{modePersistent, modeEphemeral})}
}

// installEnvironment is the parameter env under its name in this route.
type installEnvironment struct{ api.Env }

// Parse finds the environment in the path's application.
func (e *installEnvironment) Parse(call *route.Call, words []string) []domain.FieldError {
	problems := e.Env.Parse(call, words)
	for i := range problems {
		problems[i].Field = "environment"
	}
	return problems
}

// installGuide lists the snippets for an application. It contains no key, because a key is shown once, when it is made.
type installGuide struct {
	Framework       string           `json:"framework"`
	Environment     string           `json:"environment"`
	PublicKeyPrefix string           `json:"publicKeyPrefix" doc:"How public keys of the environment begin."`
	SecretKeyPrefix *string          `json:"secretKeyPrefix" doc:"How secret keys of the environment begin; null where the mode is ephemeral."`
	Host            string           `json:"host" doc:"Where to send."`
	DocsURL         string           `json:"docsUrl"`
	PrivacyMode     string           `json:"privacyMode"`
	DSN             string           `json:"dsn" doc:"What an SDK of Sentry is given, with a placeholder for the key."`
	Snippets        []installSnippet `json:"snippets"`
}

type installSnippet struct {
	Title    string `json:"title" doc:"The name of the file."`
	Language string `json:"language"`
	Code     string `json:"code"`
}

// snippetSource is a template and its target file. Server code is omitted if nothing may outlive a visit.
type snippetSource struct {
	title, language, file string
	server                bool
}

//go:embed snippets
var snippetFiles embed.FS

// snippetSources lists the files of a framework.
func snippetSources(of framework) []snippetSource {
	server := snippetSource{"svc.mjs", "javascript", "server.mjs", true}
	switch of {
	case "html":
		return []snippetSource{{"index.html", "html", "page.html", false}}
	case "react":
		return []snippetSource{{"src/svc.js", "javascript", "browser.js", false}, {"src/main.jsx", "jsx", "react.jsx", false}}
	case "node":
		return []snippetSource{server, {"index.mjs", "javascript", "node.mjs", true}}
	case "express":
		return []snippetSource{server, {"app.mjs", "javascript", "express.mjs", true}}
	case "hono":
		return []snippetSource{server, {"index.mjs", "javascript", "hono.mjs", true}}
	default:
		return []snippetSource{
			{"lib/svc.js", "javascript", "calls.js", false},
			{"app/page-views.jsx", "jsx", "next.jsx", false},
			{"instrumentation.js", "javascript", "instrumentation.js", true},
		}
	}
}

// parsedSnippets are the templates, parsed once.
var parsedSnippets = template.Must(template.ParseFS(snippetFiles, "snippets/*")) //nolint:gochecknoglobals // never changed

// Check refuses the mode for frameworks that run on servers only.
func (q *installQuery) Check(*route.Call) []domain.FieldError {
	inBrowsers := slices.ContainsFunc(snippetSources(q.Framework), func(s snippetSource) bool { return !s.server })
	if q.PrivacyMode != modeEphemeral || inBrowsers {
		return nil
	}
	return []domain.FieldError{{Field: "privacyMode", Code: "unsupported_privacy_mode", Message: "ephemeral is for html, react and nextjs.", Allowed: []string{string(modePersistent)}}}
}

// guide answers with the snippets and their locations.
func (a apps) guide(_ context.Context, call *route.Call, in installQuery) (installGuide, error) {
	public, secret := domain.KeyPrefix(domain.KeyPublic, in.Environment.Slug), domain.KeyPrefix(domain.KeySecret, in.Environment.Slug)
	key, host := public+"_YOUR_KEY", call.Origin()
	guide := installGuide{
		Framework: string(in.Framework), Environment: in.Environment.Slug, PrivacyMode: string(in.PrivacyMode),
		PublicKeyPrefix: public, Host: host, DocsURL: host + "/docs", DSN: sentryDSN(host, key, in.Environment.Environment),
	}
	ephemeral := in.PrivacyMode == modeEphemeral
	if !ephemeral {
		guide.SecretKeyPrefix = &secret
	}
	values := map[string]any{
		"Host": host, "PublicKey": key, "SecretKey": secret + "_YOUR_KEY", "Environment": guide.Environment, "DSN": guide.DSN, "Ephemeral": ephemeral,
	}
	for _, source := range snippetSources(in.Framework) {
		if source.server && ephemeral {
			continue
		}
		var code bytes.Buffer
		if err := parsedSnippets.ExecuteTemplate(&code, source.file, values); err != nil {
			return installGuide{}, fmt.Errorf("writing the snippet %s: %w", source.file, err)
		}
		guide.Snippets = append(guide.Snippets, installSnippet{Title: source.title, Language: source.language, Code: code.String()})
	}
	return guide, nil
}
