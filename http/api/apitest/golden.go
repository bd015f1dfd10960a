package apitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/domain"
)

// Open returns a fresh world; every call of Run opens one.
type Open func(t *testing.T) World

// step is one request of the golden suite and the name of its golden file. Names in braces in path and body are
// replaced by values of earlier answers.
type step struct {
	name   string
	as     func(World) domain.Secret
	method string
	path   string
	body   string
	header map[string]string
	// keep names members of the answer, by path, that later steps use.
	keep map[string]string
	// served is true if only the real server answers.
	served bool
	// until is a text that the final answer contains; the request is repeated until then.
	until string
	// frames is the number of frames to read from a stream; its golden file is a transcript.
	frames int
}

func nobody(World) domain.Secret    { return "" }
func owner(w World) domain.Secret   { return w.Owner }
func viewer(w World) domain.Secret  { return w.Viewer }
func session(w World) domain.Secret { return w.Session }

// steps lists the requests in order; later ones see the changes of earlier ones.
func steps() []step {
	return slices.Concat(
		meSteps(), manageSteps(), installSteps(), served(readSteps()), goalSteps(), funnelSteps(), errorSteps(), errorActivitySteps(), served(metricSteps()), monitorSteps(), channelSteps(), alertSteps(), silenceSteps(), markSteps(),
		decisionSteps(), served(companySteps()), served(dropOffSteps()), served(peopleSteps()), served(segmentSteps()), served(exportSteps()), served(reportSteps()), served(erasureSteps()), served(flagSteps()), served(destinationSteps()), served(campaignSteps()), served(connectorSteps()), served(revenueSteps()), consoleSteps(), served(shareSteps()), served(telemetrySteps()), assistantSteps(),
	)
}

// served marks steps of nouns without a fake: only the real server answers them.
func served(steps []step) []step {
	for i := range steps {
		steps[i].served = true
	}
	return steps
}

// readSteps lists the requests of the reads other than overview and timeseries.
func readSteps() []step {
	const analytics = "/api/v1/apps/acme/web/analytics"
	return []step{
		{name: "analytics.breakdown", as: owner, method: "GET", path: analytics + "/breakdown?dimension=path&limit=1", keep: map[string]string{"rank": "nextCursor"}},
		{name: "analytics.breakdown-next", as: owner, method: "GET", path: analytics + "/breakdown?dimension=path&limit=1&cursor={rank}"},
		{name: "analytics.breakdown-foreign-cursor", as: owner, method: "GET", path: analytics + "/breakdown?dimension=event&cursor={rank}"},
		{name: "analytics.breakdown-own-filter", as: owner, method: "GET", path: analytics + "/breakdown?dimension=path&search=PRIC&filter=path:/&filter=source:direct&range=12m&env=production"},
		{name: "apps.create-unknown-member", as: owner, method: "POST", path: "/api/v1/orgs/acme/apps", body: `{"name":"Web","plattform":"ios"}`},
		{name: "analytics.overview-unknown-parameter", as: owner, method: "GET", path: analytics + "/overview?rnage=30d"},
		{name: "goals.list-unknown-env", as: owner, method: "GET", path: "/api/v1/apps/acme/web/goals?env=moon"},
		{name: "analytics.breakdown-unknown-dimension", as: owner, method: "GET", path: analytics + "/breakdown?dimension=shoe"},
		{name: "analytics.breakdown-invalid", as: owner, method: "GET", path: analytics + "/breakdown?limit=0&range=8d&filter=shoe:9"},
		{name: "analytics.breakdown-property", as: owner, method: "GET", path: analytics + "/breakdown?dimension=property.plan"},
		{name: "analytics.breakdown-property-invalid", as: owner, method: "GET", path: analytics + "/breakdown?dimension=property."},
		{name: "analytics.retention", as: owner, method: "GET", path: analytics + "/retention?range=custom:2026-03-02..2026-03-20"},
		{name: "analytics.retention-event", as: owner, method: "GET", path: analytics + "/retention?range=custom:2026-01-01..2026-05-31&cohortBy=month&event=signup&filter=country:DE"},
		{name: "analytics.retention-invalid", as: owner, method: "GET", path: analytics + "/retention?cohortBy=day&filter=path"},
		{name: "analytics.activeUsers", as: owner, method: "GET", path: analytics + "/active-users?range=24h"},
		{name: "analytics.activeUsers-filtered", as: owner, method: "GET", path: analytics + "/active-users?range=yesterday&filter=path:/pricing"},
		{name: "analytics.activeUsers-invalid", as: owner, method: "GET", path: analytics + "/active-users?env=moon&includeBots=maybe"},
		{name: "analytics.live-unacceptable", as: owner, method: "GET", path: analytics + "/live", header: map[string]string{"Accept": "text/html"}},
	}
}

// meSteps lists the requests about the caller.
func meSteps() []step {
	return []step{
		{name: "me.get", as: owner, method: "GET", path: "/api/v1/me"},
		{name: "me.get-organization", as: func(w World) domain.Secret { return w.Organization }, method: "GET", path: "/api/v1/me"},
		{name: "me.get-reader", as: func(w World) domain.Secret { return w.Reader }, method: "GET", path: "/api/v1/me"},
		{name: "me.get-no-token", as: func(World) domain.Secret { return "" }, method: "GET", path: "/api/v1/me"},
		{name: "me.listTokens", as: owner, method: "GET", path: "/api/v1/me/tokens"},
		{name: "me.revokeToken-missing", as: owner, method: "DELETE", path: "/api/v1/me/tokens/tok_0"},
		{name: "orgs.list", as: owner, method: "GET", path: "/api/v1/orgs"},
	}
}

// manageSteps lists the requests about applications, keys, reads and the documentation.
func manageSteps() []step {
	const app = "/api/v1/apps/acme/web"
	return []step{
		{name: "apps.list", as: owner, method: "GET", path: "/api/v1/orgs/acme/apps"},
		{name: "apps.get", as: owner, method: "GET", path: app},
		{name: "apps.get-missing", as: owner, method: "GET", path: "/api/v1/apps/acme/nothing"},
		{name: "apps.create", as: owner, method: "POST", path: "/api/v1/orgs/acme/apps", body: `{"name":"Web","platform":"ios"}`},
		{name: "apps.create-conflict", as: owner, method: "POST", path: "/api/v1/orgs/acme/apps", body: `{"name":"Web","slug":"web"}`},
		{name: "apps.create-invalid", as: owner, method: "POST", path: "/api/v1/orgs/acme/apps", body: `{"slug":"New!","platform":"vax","url":"web","modules":["ai","x"],"timezone":"Mars/Base"}`},
		{name: "apps.list-page", as: owner, method: "GET", path: "/api/v1/orgs/acme/apps?limit=1", keep: map[string]string{"cursor": "nextCursor"}},
		{name: "apps.list-next", as: owner, method: "GET", path: "/api/v1/orgs/acme/apps?limit=1&cursor={cursor}"},
		{name: "apps.update", as: owner, method: "PATCH", path: "/api/v1/apps/acme/web-2", body: `{"name":"Phone","timezone":"Asia/Tokyo","allowedOrigins":["HTTPS://Example.com:443/x","*","https://example.com"],"retentionDays":30}`},
		{name: "apps.update-empty", as: owner, method: "PATCH", path: app, body: `{}`},
		{name: "apps.update-invalid", as: owner, method: "PATCH", path: app, body: `{"name":7,"allowedOrigins":["nowhere"],"modules":["ai"],"retentionDays":0}`},
		{name: "apps.update-stale", as: owner, method: "PATCH", path: app, body: `{"name":"Web"}`, header: map[string]string{"If-Match": `"999"`}},
		{name: "keys.create", as: owner, method: "POST", path: app + "/keys", body: `{"kind":"public","environment":"staging","label":"Site"}`, keep: map[string]string{"key": "id"}},
		{name: "keys.create-invalid", as: owner, method: "POST", path: app + "/keys", body: `{"kind":"open","environment":"moon"}`},
		{name: "keys.list", as: owner, method: "GET", path: app + "/keys?limit=1"},
		{name: "keys.revoke", as: owner, method: "DELETE", path: app + "/keys/{key}"},
		{name: "keys.revoke-again", as: owner, method: "DELETE", path: app + "/keys/{key}"},
		{name: "analytics.overview", as: owner, method: "GET", path: app + "/analytics/overview"},
		{name: "analytics.overview-filtered", as: owner, method: "GET", path: app + "/analytics/overview?range=12m&filter=path:/pricing&env=production"},
		{name: "analytics.overview-invalid", as: owner, method: "GET", path: app + "/analytics/overview?env=moon&range=8d&filter=shoe:9&filter=path:&filter=&includeBots=maybe"},
		{name: "analytics.timeseries", as: owner, method: "GET", path: app + "/analytics/timeseries?metric=events"},
		{name: "analytics.timeseries-too-fine", as: owner, method: "GET", path: app + "/analytics/timeseries?range=90d&interval=hour"},
		{name: "analytics.timeseries-filtered", as: owner, method: "GET", path: app + "/analytics/timeseries?metric=pageviews&interval=day&range=7d&filter=path:/&filter=path:/pricing"},
		{name: "analytics.timeseries-invalid", as: owner, method: "GET", path: app + "/analytics/timeseries?metric=money&interval=year&range=custom:2026-02-30..2026-03-01&filter=path"},
		{name: "analytics.live", as: owner, method: "GET", path: app + "/analytics/live"},
		{name: "analytics.live-stream", as: owner, method: "GET", path: app + "/analytics/live", header: map[string]string{"Accept": "text/event-stream"}, frames: 1},
		{name: "events.list", as: owner, method: "GET", path: app + "/events?limit=2", keep: map[string]string{"feed": "nextCursor"}},
		{name: "events.list-next", as: owner, method: "GET", path: app + "/events?limit=2&cursor={feed}"},
		{name: "events.list-foreign-cursor", as: owner, method: "GET", path: app + "/events?name=signup&cursor={feed}"},
		{name: "events.list-one", as: owner, method: "GET", path: app + "/events?id=evt_05"},
		{name: "events.list-none", as: owner, method: "GET", path: app + "/events?id=evt_05&name=signup&env=production"},
		{name: "events.list-invalid", as: owner, method: "GET", path: app + "/events?limit=0&env=moon&cursor=x"},
		{name: "events.list-masked", as: viewer, method: "GET", path: app + "/events?limit=2"},
		{name: "events.list-masked-search", as: viewer, method: "GET", path: app + "/events?search=ada%40acme"},
		{name: "docs.list", as: owner, method: "GET", path: "/api/v1/docs?limit=1"},
		{name: "docs.get", as: owner, method: "GET", path: "/api/v1/docs/errors"},
		{name: "docs.get-missing", as: owner, method: "GET", path: "/api/v1/docs/no/Such/page"},
		{name: "events.names", as: owner, method: "GET", path: app + "/events/names?filter=event:signup"},
		{name: "events.names-page", as: owner, method: "GET", path: app + "/events/names?limit=1&range=12m", keep: map[string]string{"names": "nextCursor"}},
		{name: "events.names-next", as: owner, method: "GET", path: app + "/events/names?limit=1&range=12m&cursor={names}"},
		{name: "events.properties", as: owner, method: "GET", path: app + "/events/properties?name=signup"},
		{name: "events.properties-page", as: viewer, method: "GET", path: app + "/events/properties?limit=1&range=12m", keep: map[string]string{"properties": "nextCursor"}},
		{name: "events.properties-next", as: viewer, method: "GET", path: app + "/events/properties?limit=1&range=12m&cursor={properties}"},
		{name: "events.properties-search", as: viewer, method: "GET", path: app + "/events/properties?search=PLA"},
		{name: "events.properties-invalid", as: owner, method: "GET", path: app + "/events/properties?range=8d&filter=shoe:9"},
		{name: "events.properties-foreign-cursor", as: owner, method: "GET", path: app + "/events/properties?cursor={names}"},
		{name: "events.names-invalid", as: owner, method: "GET", path: app + "/events/names?range=8d&filter=shoe:9&filter=event:"},
	}
}

// consoleSteps lists the requests of the console and of paths without a row.
func consoleSteps() []step {
	const console = "/console/api/v1"
	return []step{
		{name: "console.orgs.list", as: session, method: "GET", path: console + "/orgs"},
		{name: "console.orgs.create", as: session, method: "POST", path: console + "/orgs", body: `{"name":"Initech Ltd."}`},
		{name: "console.orgs.rename", as: session, method: "PATCH", path: console + "/orgs/initech-ltd", body: `{"name":"Initech"}`},
		{name: "console.members.put", as: session, method: "PUT", path: console + "/orgs/initech-ltd/members/Bob@Initech.example", body: `{"role":"member","name":"Bob"}`},
		{name: "console.members.list", as: session, method: "GET", path: console + "/orgs/initech-ltd/members"},
		{name: "console.invitations.create", as: session, method: "POST", path: console + "/orgs/initech-ltd/invitations", body: `{"email":"Vic@acme.example","role":"viewer"}`},
		{name: "console.invitations.create-invalid", as: session, method: "POST", path: console + "/orgs/initech-ltd/invitations", body: `{"email":"nobody","role":"king"}`},
		{name: "console.invitations.create-member", as: session, method: "POST", path: console + "/orgs/initech-ltd/invitations", body: `{"email":"ada@acme.example","role":"viewer"}`},
		{name: "console.invitations.list", as: session, method: "GET", path: console + "/me/invitations"},
		{name: "console.invitations.accept-missing", as: session, method: "POST", path: console + "/me/invitations/globex/accept"},
		{name: "console.invitations.decline-missing", as: session, method: "DELETE", path: console + "/me/invitations/nothing"},
		{name: "console.members.put-last-owner", as: session, method: "PUT", path: console + "/orgs/initech-ltd/members/ada@acme.example", body: `{"role":"viewer"}`},
		{name: "console.members.remove", as: session, method: "DELETE", path: console + "/orgs/initech-ltd/members/bob@initech.example"},
		{name: "console.members.remove-last-owner", as: session, method: "DELETE", path: console + "/orgs/initech-ltd/members/ada@acme.example"},
		{name: "console.tokens.create", as: session, method: "POST", path: console + "/me/tokens", body: `{"name":"laptop","scopes":["read"]}`, keep: map[string]string{"token": "id"}},
		{name: "console.tokens.create-invalid", as: session, method: "POST", path: console + "/me/tokens", body: `{"scopes":["fly"],"expiresAt":"2001-01-01T00:00:00Z"}`},
		{name: "console.tokens.list", as: session, method: "GET", path: console + "/me/tokens"},
		{name: "console.tokens.revoke", as: session, method: "DELETE", path: console + "/me/tokens/{token}"},
		{name: "console.orgTokens.create", as: session, method: "POST", path: console + "/orgs/initech-ltd/tokens", body: `{"name":"ci","scopes":["read","write"],"expiresAt":null}`, keep: map[string]string{"ci": "id"}},
		{name: "console.orgTokens.list", as: session, method: "GET", path: console + "/orgs/initech-ltd/tokens"},
		{name: "console.orgTokens.adopt", as: session, method: "POST", path: console + "/orgs/initech-ltd/tokens/{ci}/adopt"},
		{name: "console.orgTokens.adopt-missing", as: session, method: "POST", path: console + "/orgs/initech-ltd/tokens/tok_0/adopt"},
		{name: "console.orgTokens.revoke", as: session, method: "DELETE", path: console + "/orgs/initech-ltd/tokens/{ci}"},
		{name: "console.apps.delete", as: session, method: "DELETE", path: console + "/apps/acme/web"},
		{name: "console.orgs.delete", as: session, method: "DELETE", path: console + "/orgs/initech-ltd"},
		{name: "console.ledger.list", as: session, method: "GET", path: console + "/orgs/initech-ltd/ledger?limit=2", keep: map[string]string{"entry": "nextCursor"}},
		{name: "console.ledger.list-next", as: session, method: "GET", path: console + "/orgs/initech-ltd/ledger?limit=2&cursor={entry}"},
		{name: "console.ledger.list-kind", as: session, method: "GET", path: console + "/orgs/acme/ledger?kind=key.revoked"},
		{name: "console.ledger.check", as: session, method: "GET", path: console + "/orgs/initech-ltd/ledger/check"},
		{name: "no-such-path", as: owner, method: "GET", path: "/api/v1/nothing/"},
		{name: "method-not-allowed", as: owner, method: "DELETE", path: "/api/v1/orgs/acme/apps"},
	}
}

// Run sends the requests of the golden suite to a world, validates each answer against the OpenAPI document that the
// world serves, and compares it with its golden file. The flag -update of the calling test, if it has one, rewrites the
// files.
func Run(t *testing.T, open Open) {
	world := open(t)
	_, router := Document(t, world.Handler)
	world.Handler = checked{t: t, handler: world.Handler, router: router}
	kept := []string{}
	for _, step := range steps() {
		if step.served && !world.Server {
			continue
		}
		t.Run(step.name, func(t *testing.T) {
			fill := strings.NewReplacer(kept...)
			request := httptest.NewRequestWithContext(t.Context(), step.method, fill.Replace(step.path), strings.NewReader(fill.Replace(step.body)))
			request.Host = "localhost" // Rows for people that are not signed in serve only names of the service.
			if secret := step.as(world); secret != "" {
				request.Header.Set("Authorization", "Bearer "+secret.Reveal())
			}
			if step.body != "" {
				request.Header.Set("Content-Type", "application/json")
			}
			for name, value := range step.header {
				request.Header.Set(name, value)
			}
			response := serve(world.Handler, request, step.frames)
			round := time.NewTicker(10 * time.Millisecond)
			defer round.Stop()
			for rounds := 0; step.until != "" && !strings.Contains(response.Body.String(), step.until) && rounds < 6000; rounds++ {
				<-round.C
				response = serve(world.Handler, request, step.frames)
			}
			for name, member := range step.keep {
				kept = append(kept, "{"+name+"}", textOf(t, response.Body.Bytes(), member))
			}
			compare(t, step.name, shown(t, step, response))
		})
	}
}

// textOf returns a text of an answer by its path: members and places in lists.
func textOf(t *testing.T, body []byte, name string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("the answer is no JSON: %s", body)
	}
	for part := range strings.SplitSeq(name, ".") {
		if list, isList := value.([]any); isList {
			at, err := strconv.Atoi(part)
			if err != nil || at >= len(list) {
				t.Fatalf("the answer has no element %s of %s: %s", part, name, body)
			}
			value = list[at]
			continue
		}
		object, _ := value.(map[string]any)
		value = object[part]
	}
	word, ok := value.(string)
	if !ok {
		t.Fatalf("the answer has no text member %s: %s", name, body)
	}
	return word
}

// shown writes an answer and replaces the parts that differ from run to run.
func shown(t *testing.T, step step, response *httptest.ResponseRecorder) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", step.method, step.path)
	if step.body != "" {
		fmt.Fprintln(&out, step.body)
	}
	fmt.Fprintf(&out, "\n%d %s\n", response.Code, http.StatusText(response.Code))
	for _, name := range []string{"Content-Type", "Location", "Link", "Etag", "Allow", "Www-Authenticate", "Retry-After"} {
		if value := response.Header().Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	if step.frames > 0 || response.Header().Get("Content-Type") == "application/x-ndjson" {
		out.WriteString("\n" + response.Body.String())
	} else if response.Body.Len() > 0 {
		var body bytes.Buffer
		if err := json.Indent(&body, response.Body.Bytes(), "", "  "); err != nil {
			t.Fatalf("the answer is no JSON: %s", response.Body)
		}
		out.WriteString("\n" + body.String())
	}
	return normalise(out.String())
}

// normalise replaces identifiers, secrets, cursors and times. A value of any other form stays and appears in the
// difference.
func normalise(text string) string {
	for _, rule := range []struct{ pattern, with string }{
		{domain.TokenPattern, "<secret>"},
		{`\b(app|env|key|tok|usr|org|req|ses|goal|fun|mon|rul|inc|chn|inv|seg|crm|sil|ann|era|exp|dst|rpt|bcn|cmp|sgn)_[0-9A-Z]{26}\b`, "<$1>"},
		{`whsec_[0-9A-Za-z+/]{43}=`, "<secret>"}, // This pattern comes first: its beginning can match the next one.
		{`whsec_[0-9A-Za-z]{38}\b`, "<secret>"},
		{`\bdlv_[0-9A-Za-z_-]{20}`, "<dlv>"},
		{`\biss_[0-9A-Z]{13}\b`, "<iss>"},
		{`"last4": "[0-9A-Za-z]{4}"`, `"last4": "<last4>"`},
		{`"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}(\d{6})?Z"`, `"<time>"`},
		{`"ingestId": "\d+"`, `"ingestId": "<number>"`},
		{`/sentry/\d+(["\\])`, `/sentry/<number>$1`},
		{`"[0-9a-f]{64}"`, `"<sha256>"`},
		{`"date": "\d{4}-\d{2}-\d{2}"`, `"date": "<date>"`},
		{`https?://[^"/]*/exports/[^"]*`, "<link>"},
		{`"bytes": \d+`, `"bytes": <bytes>`},
		{`"bytesPerSecond": \d+`, `"bytesPerSecond": <bytes>`},
		{`\b[0-9a-f]{24}\b`, "<share>"},
		{`"nextCursor": "[0-9A-Za-z_-]+"`, `"nextCursor": "<cursor>"`},
		{`cursor=[0-9A-Za-z_-]+`, "cursor=<cursor>"},
	} {
		text = regexp.MustCompile(rule.pattern).ReplaceAllString(text, rule.with)
	}
	return text
}

// compare compares a text with its golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(moduleRoot(t), "http", "api", "apitest", "testdata", name+".golden")
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the answer differs from %s:\n%s\nwant:\n%s", path, got, want)
	}
}

// moduleRoot finds the folder of go.mod above the tested package. This also works in a build with -trimpath, in which
// source files have no absolute paths.
func moduleRoot(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("no go.mod above the tested package")
		}
		folder = parent
	}
}
