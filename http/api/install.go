package api

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"text/template"

	"svc"
	"svc/http"
)

// installQuery asks for the first lines of an application.
type installQuery struct {
	appPath
	Framework   string `query:"framework" doc:"nextjs where it is absent." enum:"nextjs,react,node,html,express,hono"`
	Environment string `query:"environment" doc:"production where it is absent." enum:"production,staging,development"`
	PrivacyMode string `query:"privacyMode" doc:"persistent where it is absent; ephemeral keeps nothing on the device and waits for consent." enum:"persistent,ephemeral"`
}

// installGuide is what to put where. It holds no key: those are shown once, when they
// are made.
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

// The words of privacyMode.
const (
	modePersistent = "persistent"
	modeEphemeral  = "ephemeral"
)

// snippetSource is a template and the file that it becomes; server code is left out
// where nothing may outlive a visit.
type snippetSource struct {
	title, language, file string
	server                bool
}

//go:embed snippets
var snippetFiles embed.FS

// snippetSources lists the files of a framework.
func snippetSources(framework string) []snippetSource {
	server := snippetSource{"svc.mjs", "javascript", "server.mjs", true}
	switch framework {
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
			{"lib/svc.js", "javascript", "browser.js", false},
			{"app/page-views.jsx", "jsx", "next.jsx", false},
			{"instrumentation.js", "javascript", "instrumentation.js", true},
		}
	}
}

// parsedSnippets are the templates, read once.
var parsedSnippets = template.Must(template.ParseFS(snippetFiles, "snippets/*")) //nolint:gochecknoglobals // never changed

// Check fills in what is absent, and says what there is where a word is unknown.
func (q *installQuery) Check(*http.Call) (problems []svc.FieldError) {
	for _, word := range []struct {
		field, what string
		value       *string
		allowed     []string // the first one is meant where none is given
	}{
		{"framework", "framework", &q.Framework, []string{"nextjs", "react", "node", "html", "express", "hono"}},
		{"environment", "environment", &q.Environment, svc.EnvironmentSlugs()},
		{"privacyMode", "privacy mode", &q.PrivacyMode, []string{modePersistent, modeEphemeral}},
	} {
		if *word.value = cmp.Or(*word.value, word.allowed[0]); !slices.Contains(word.allowed, *word.value) {
			problems = append(problems, unknownWord(word.field, word.what, *word.value, word.allowed))
		}
	}
	onServers := !slices.ContainsFunc(snippetSources(q.Framework), func(s snippetSource) bool { return !s.server })
	if q.PrivacyMode == modeEphemeral && onServers {
		problems = append(problems, svc.FieldError{Field: "privacyMode", Code: "invalid_value", Message: "ephemeral is for html, react and nextjs."})
	}
	return problems
}

// guide answers with what to put where.
func (a apps) guide(_ context.Context, call *http.Call, in installQuery) (installGuide, error) {
	guide := installGuide{
		Framework: in.Framework, Environment: in.Environment, PrivacyMode: in.PrivacyMode, Host: call.Origin(),
	}
	guide.DocsURL = guide.Host + "/api/v1/docs"
	guide.PublicKeyPrefix = svc.KeyPrefix(svc.KeyPublic, guide.Environment)
	public, secret := guide.PublicKeyPrefix+"_YOUR_KEY", svc.KeyPrefix(svc.KeySecret, guide.Environment)
	if guide.PrivacyMode == modePersistent {
		guide.SecretKeyPrefix = &secret
	}
	for _, env := range call.App.Environments {
		if env.Slug == guide.Environment {
			guide.DSN = sentryDSN(guide.Host, public, env)
		}
	}
	values := map[string]any{
		"Host": guide.Host, "PublicKey": public, "SecretKey": secret + "_YOUR_KEY", "Environment": guide.Environment,
		"DSN": guide.DSN, "Ephemeral": guide.PrivacyMode == modeEphemeral,
	}
	for _, source := range snippetSources(guide.Framework) {
		if source.server && guide.PrivacyMode == modeEphemeral {
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
