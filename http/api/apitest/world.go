// Package apitest has in-memory fakes of the API's ports and the golden suite that every implementation of them must
// pass. The fakes store everything in maps under one lock, take their clock as an argument, and follow the contracts of
// the ports.
package apitest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-faster/city"

	manual "svc/docs"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/annotation"
	"svc/domain/connector"
	"svc/domain/conversation"
	"svc/domain/event"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/issue"
	"svc/domain/monitor"
	"svc/domain/occurrence"
	"svc/domain/person"
	"svc/domain/signin"
	"svc/http/api/accounts"
	"svc/http/api/alerting"
	"svc/http/api/analytics"
	"svc/http/api/apps"
	"svc/http/api/assistant"
	"svc/http/api/campaigns"
	"svc/http/api/destinations"
	"svc/http/api/exports"
	"svc/http/api/flags"
	"svc/http/api/issues"
	"svc/http/api/metrics"
	"svc/http/api/people"
	"svc/http/api/reports"
	"svc/http/api/revenue"
	"svc/http/api/telemetry"
	"svc/http/docs"
	"svc/http/route"
)

// World is a running service with the content that the golden suite expects. The organization acme has the application
// web (all modules but ai, events as in Fixture). The organization globex has the application shop, which no member of
// acme may see.
type World struct {
	Handler http.Handler
	// Server is set if Handler is the real server, which answers the steps of every noun.
	Server bool
	// Owner is a personal token of Ada, the owner of acme, with all scopes. Viewer is a token of Vic, a viewer. Reader
	// is a token of Ada with the scope read alone. Organization is a token of acme, minted by Ada. Session is Ada's
	// console session.
	Owner, Viewer, Reader, Organization, Session domain.Secret
}

// Memory is the in-memory implementation of the ports that tests of the gates, of tools and of MCP
// need: accounts, applications, goals, issues, alerting, the assistant, and the events of Fixture.
// Other nouns have no fake: the golden suite of the real server shows their answers.
type Memory struct {
	now func() time.Time

	mu         sync.Mutex
	ids        uint64
	orgs       map[string]*organization
	users      map[string]domain.User
	tokens     map[string]*heldToken
	apps       map[domain.AppRef]*heldApp
	events     []event.Event
	errors     []occurrence.Occurrence
	decided    map[issueRef]issue.State
	activities map[issueRef]issue.Activities
	audit      []domain.AuditRow
	ledger     []domain.LedgerEntry
	claims     map[string]*claim
	meters     map[string]*domain.Meter
	limit      int
	docs       *docs.Library

	passkeys   map[string][]conversation.Passkey
	ceremonies map[string]conversation.Ceremony
	sessions   []heldSession
	signIns    map[string][]signin.SignIn
}

type organization struct {
	domain.Organization
	members []domain.Member
	// invited contains the open invitations, by e-mail address.
	invited map[string]signin.Invitation
}

type heldToken struct {
	token domain.Token
	owner domain.TokenOwner
}

type heldApp struct {
	app         domain.Application
	keys        []domain.IngestKey
	goals       []goal.Goal
	funnels     []funnel.Funnel
	monitors    []monitor.Row
	rules       []alert.Row
	channels    []alert.Channel
	silences    []alert.Silence
	annotations []annotation.Annotation
}

type claim struct {
	body   [sha256.Size]byte
	sealed []byte
	// running is true if a request under the key has not finished.
	running bool
}

// Noon is the instant of the tests.
func Noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// NewMemory returns an empty implementation with a clock.
func NewMemory(now func() time.Time) *Memory {
	library, err := docs.Open(manual.Documentation)
	if err != nil {
		panic(err) // The pages are part of the binary.
	}
	if err := library.Describe(nil); err != nil {
		panic(err)
	}
	return &Memory{
		passkeys: map[string][]conversation.Passkey{}, ceremonies: map[string]conversation.Ceremony{}, signIns: map[string][]signin.SignIn{},
		docs: library, now: now, orgs: map[string]*organization{}, users: map[string]domain.User{}, tokens: map[string]*heldToken{},
		decided: map[issueRef]issue.State{}, activities: map[issueRef]issue.Activities{},
		apps: map[domain.AppRef]*heldApp{}, claims: map[string]*claim{}, meters: map[string]*domain.Meter{},
	}
}

// Ports are the ports of all packages of routes.
type Ports struct {
	Accounts  accounts.Ports
	Apps      apps.Ports
	Analytics analytics.Ports
	Issues    issues.Ports
	Metrics   metrics.Ports
	Alerting  alerting.Ports
	People    people.Ports
	Exports   exports.Ports
	Reports   reports.Ports
	Revenue   revenue.Ports
	Assistant assistant.Ports
	Telemetry telemetry.Ports
	Flags     flags.Ports
	// Destinations and campaigns have no fake.
	Destinations destinations.Ports
	Campaigns    campaigns.Ports
	Docs         *docs.Library
}

// Routes returns the gated rows of the service.
func (p *Ports) Routes() []route.Route {
	return slices.Concat(
		accounts.Routes(p.Accounts), apps.Routes(p.Apps), analytics.Routes(p.Analytics), issues.Routes(p.Issues), metrics.Routes(p.Metrics),
		alerting.Routes(p.Alerting), people.Routes(p.People), exports.Routes(p.Exports), reports.Routes(p.Reports), revenue.Routes(p.Revenue), assistant.Routes(p.Assistant), telemetry.Routes(p.Telemetry), flags.Routes(p.Flags), destinations.Routes(p.Destinations), campaigns.Routes(p.Campaigns), p.Docs.Routes(),
	)
}

// Routes returns the gated rows of the service, for tests that do not serve them.
func Routes() []route.Route { return new(Ports).Routes() }

// Ports returns the memory as the ports of the handlers.
func (m *Memory) Ports() *Ports {
	ai := m.assistant()
	return &Ports{
		Accounts: accounts.Ports{
			Organizations: m, Members: m, Invitations: m, Tokens: m, Passkeys: m, Sessions: m, Links: m, Seal: openSeal{}, Ledger: m,
			Limits: accounts.Limits{PerMinute: domain.DefaultPerMinute, AnalyticsPerMinute: domain.QueryPerMinute, ConcurrentQueries: domain.ConcurrentQueries},
		},
		Apps:      apps.Ports{Apps: m, Keys: m, Exclusions: marks{m}, Connectors: noConnectors{}},
		Analytics: analytics.Ports{Analytics: m, Presence: m, Events: feed{m}, Goals: m, Funnels: m, Results: m, Annotations: marks{m}, Releases: marks{m}},
		Issues:    issues.Ports{Issues: tracked{m}, Occurrences: tracked{m}, Changes: tracked{m}, People: m, Artifacts: tracked{m}},
		Alerting:  alerting.Ports{Monitors: m, Alerts: m, Incidents: m, Channels: m, Changes: watch{m}, Silences: watch{m}, Previews: watch{m}, Details: watch{m}, Checker: watch{m}},
		Assistant: assistant.Ports{Assistant: ai, Approvals: ai, Settings: ai, Tools: ai, Passkeys: m},
		Docs:      m.docs,
	}
}

// noConnectors is apps.Connectors of applications that have none.
type noConnectors struct{ apps.Connectors }

func (noConnectors) Connector(domain.AppRef) *connector.Connector { return nil }

// Config returns the configuration of a handler over the memory.
func (m *Memory) Config() route.Config {
	return route.Config{
		Routes: m.Ports().Routes(), Authority: m, Applications: m, Auditor: m, Replays: m, Ledger: m,
		Cursors: domain.NewCursors([]byte("test")), Now: m.now, PublicURL: "https://svc.example", Revision: "2026-11-20",
		ConcurrentQueries: domain.ConcurrentQueries, ConcurrentStreams: domain.ConcurrentStreams,
	}
}

// LimitRate switches a limit per token and minute on; zero switches it off.
func (m *Memory) LimitRate(perMinute int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = perMinute
}

// Audit returns the audit rows so far.
func (m *Memory) Audit() []domain.AuditRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]domain.AuditRow{}, m.audit...)
}

// Issue makes a token of an owner without the API.
func (m *Memory) Issue(t testing.TB, kind domain.TokenKind, owner domain.TokenOwner, scopes ...domain.Scope) domain.Secret {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, secret := m.mint(kind, owner, domain.TokenSpec{Name: string(kind), Scopes: scopes})
	return secret
}

// newID returns an id with a prefix; ids sort in the order of their making.
func (m *Memory) newID(prefix string) string {
	m.ids++
	return fmt.Sprintf("%s_%026d", prefix, m.ids)
}

// random returns bytes instead of random ones; they differ from call to call.
func (m *Memory) random() []byte {
	m.ids++
	sum := sha256.Sum256(fmt.Appendf(nil, "random %d", m.ids))
	return sum[:]
}

// Fill gives the memory the content of a World and returns the world with a handler over it.
func (m *Memory) Fill(t testing.TB) World {
	t.Helper()
	ada, vic, glo := m.person("ada@acme.example", "Ada"), m.person("vic@acme.example", "Vic"), m.person("glo@globex.example", "Glo")
	for _, org := range []struct {
		owner           domain.User
		name, app, slug string
	}{{ada, "Acme", "Web", "acme"}, {glo, "Globex", "Shop", "globex"}} {
		if _, err := m.CreateOrganization(t.Context(), org.owner, domain.OrgSpec{Name: org.name}); err != nil {
			t.Fatal(err)
		}
		spec := domain.AppSpec{Name: org.app, URL: "https://" + org.slug + ".example", Timezone: "Europe/Berlin", Modules: domain.Modules()[:8]}
		if _, err := m.Create(t.Context(), org.slug, spec); err != nil {
			t.Fatal(err)
		}
	}
	m.orgs["acme"].members = append(m.orgs["acme"].members, domain.Member{User: vic, Role: domain.RoleViewer, JoinedAt: m.now()})
	m.events, m.errors = Fixture(m.now()), FixtureErrors(m.now())
	for i := range m.errors {
		m.errors[i].PersonID = person.ID(city.CH64([]byte(m.errors[i].DistinctID)))
	}
	handler, err := route.New(m.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.NoteSignIn(t.Context(), ada, RefusedSignIn()); err != nil {
		t.Fatal(err)
	}
	_, session, err := m.OpenSession(t.Context(), signin.SessionSpec{Person: ada, By: signin.SessionOfOperator, Method: signin.SignInOperator})
	if err != nil {
		t.Fatal(err)
	}
	owner := domain.TokenOwner{User: ada}
	return World{
		Handler: handler,
		Owner:   m.Issue(t, domain.TokenPersonal, owner, domain.Scopes()...), Reader: m.Issue(t, domain.TokenPersonal, owner, domain.ScopeRead),
		Viewer:       m.Issue(t, domain.TokenPersonal, domain.TokenOwner{User: vic}, domain.Scopes()...),
		Organization: m.Issue(t, domain.TokenOrganization, domain.TokenOwner{User: ada, Org: "acme"}, domain.Scopes()...),
		Session:      session,
	}
}

// without returns a list without the items that match. If none matches, it fails with not_found; what names the items.
func without[T any](list []T, what string, matches func(T) bool) ([]T, error) {
	kept := slices.DeleteFunc(slices.Clone(list), matches)
	if len(kept) == len(list) {
		return list, domain.NotFound(what)
	}
	return kept, nil
}
