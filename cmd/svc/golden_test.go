package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/signin"
	"svc/http/api/apitest"
	"svc/storage/clickhouse/block"
)

// The real server gives exactly the answers of the golden files, so the results of the handlers' own tests with fakes
// are true of actors and store.
func TestGoldenAnswersOfTheRealServer(t *testing.T) {
	n := openNode(t)
	apitest.Run(t, func(t *testing.T) apitest.World {
		t.Helper()
		return fill(t, n)
	})
	n.leftWithChanges(t)
}

// leftWithChanges expects that every ledger entry was saved together with its change. An entry that was recorded
// afterwards has no id, and a crash before that would lose it. The exceptions are sessions, whose organization is known
// only when they are open, and tests of destinations, which change nothing.
func (n *node) leftWithChanges(t *testing.T) {
	t.Helper()
	entries, more, err := n.db.LedgerEntries(t.Context(), "acme", "", 0, 1000)
	if err != nil || more || len(entries) == 0 {
		t.Fatalf("%d entries, more: %t, %v", len(entries), more, err)
	}
	for i := range entries {
		if one := &entries[i]; one.ID == "" && one.Kind != "session.opened" && one.Kind != "destination.tested" {
			t.Errorf("%s was recorded after the change: %s", one.Kind, one.Metadata)
		}
	}
}

// openNode starts a node without the content of the first start, at noon.
func openNode(t *testing.T) *node {
	t.Helper()
	config, err := settings.Load(func(name string) (string, bool) {
		value, set := map[string]string{
			"SVC_HTTP_ADDR": "127.0.0.1:0", "SVC_ADMIN_ADDR": "127.0.0.1:0", "SVC_DATA_DIR": t.TempDir(), "SVC_PARTITIONS": "4",
			"SVC_PUBLIC_URL": "https://svc.example", "SVC_RATE_LIMIT": "600",
		}[name]
		return value, set
	})
	if err != nil {
		t.Fatal(err)
	}
	logs := &lockedBuffer{}
	n := newNode(config, slog.New(slog.NewTextHandler(logs, nil)))
	n.now = sinceNoon(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	if err := n.open(ctx); err != nil {
		cancel()
		t.Fatal(errors.Join(err, n.close()))
	}
	go func() { ended <- runParts(ctx, n.parts(), n.logger) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.close()); err != nil {
			t.Errorf("ending the server: %v", err)
		}
		if t.Failed() {
			t.Log(logs.String())
		}
	})
	eventually(t, "the node owns the partitions", func() error {
		if n.ownership.Partitions() < config.Partitions {
			return errors.New("it does not yet")
		}
		return nil
	})
	return n
}

// TestBlocksAreStoredSoonerWhileSomebodyFollows opens a stream of an application, and before that reads data that
// belong to no stream.
func TestBlocksAreStoredSoonerWhileSomebodyFollows(t *testing.T) {
	n := openNode(t)
	world := fill(t, n)
	server := httptest.NewServer(n.handler)
	defer server.Close()
	for _, read := range []struct {
		path, accept string
		interval     time.Duration
	}{
		{"/api/v1/me", "application/json", 4 * n.config.FlushInterval},
		{"/api/v1/apps/acme/web/analytics/live", "text/event-stream", n.config.FlushInterval},
	} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+read.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+world.Reader.Reveal())
		request.Header.Set("Accept", read.accept)
		response, err := server.Client().Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: %v, %v", read.path, response, err)
		}
		eventually(t, "blocks are stored as GET "+read.path+" needs them", func() error {
			if interval := n.sinks.Interval(); interval != read.interval {
				return fmt.Errorf("every %s, want %s", interval, read.interval)
			}
			return nil
		})
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sinceNoon returns a clock that starts at noon of the last Sunday before today, and runs: 12:00 UTC in winter, and the
// same hour of the application's zone in summer. So days and weeks begin at the same places of the fixture at any time
// of the test.
func sinceNoon(t *testing.T) func() time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	day := started.UTC().AddDate(0, 0, -1)
	noon := time.Date(day.Year(), day.Month(), day.Day()-int(day.Weekday()), 13, 0, 0, 0, zone)
	return func() time.Time { return noon.Add(time.Since(started)) }
}

// fill gives a node the same content that apitest.Memory.Fill gives the fakes.
func fill(t *testing.T, n *node) apitest.World {
	t.Helper()
	ctx := t.Context()
	person := func(email, name string) domain.User {
		user, err := n.identity.User(ctx, email, name)
		if err != nil {
			t.Fatal(err)
		}
		return user
	}
	ada, vic, glo := person("ada@acme.example", "Ada"), person("vic@acme.example", "Vic"), person("glo@globex.example", "Glo")
	if err := n.identity.NoteSignIn(ctx, ada, apitest.RefusedSignIn()); err != nil {
		t.Fatal(err)
	}
	for _, org := range []struct {
		owner           domain.User
		name, app, slug string
	}{{ada, "Acme", "Web", "acme"}, {glo, "Globex", "Shop", "globex"}} {
		_, err := n.identity.CreateOrganization(ctx, org.owner, domain.OrgSpec{Name: org.name, Slug: org.slug})
		if err != nil {
			t.Fatal(err)
		}
		app, err := n.apps.Create(ctx, org.slug, domain.AppSpec{
			Name: org.app, Slug: domain.Slugify(org.app), Platform: "web", URL: "https://" + org.slug + ".example", Timezone: "Europe/Berlin", Modules: domain.Modules()[:8],
		})
		if err != nil {
			t.Fatal(err)
		}
		if org.slug == "acme" {
			store(t, n, app)
		}
	}
	if _, err := n.identity.PutMember(ctx, "acme", domain.RoleOwner, domain.MemberSpec{Email: vic.Email, Role: domain.RoleViewer}); err != nil {
		t.Fatal(err)
	}
	mint := func(kind domain.TokenKind, owner domain.TokenOwner, scopes ...domain.Scope) domain.Secret {
		_, secret, err := n.identity.MintToken(ctx, owner, domain.TokenSpec{Name: string(kind), Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	_, session, err := n.identity.OpenSession(ctx, signin.SessionSpec{Person: ada, By: signin.SessionOfOperator, Method: signin.SignInOperator})
	if err != nil {
		t.Fatal(err)
	}
	return apitest.World{
		Handler: n.handler, Server: true,
		Owner: mint(domain.TokenPersonal, domain.TokenOwner{User: ada}, domain.Scopes()...), Reader: mint(domain.TokenPersonal, domain.TokenOwner{User: ada}, domain.ScopeRead),
		Viewer:       mint(domain.TokenPersonal, domain.TokenOwner{User: vic}, domain.Scopes()...),
		Organization: mint(domain.TokenOrganization, domain.TokenOwner{User: ada, Org: "acme"}, domain.Scopes()...),
		Session:      session,
	}
}

// store inserts the suite's events as the stream would have, oldest first, each in the session of its session id.
func store(t *testing.T, n *node, app domain.Application) {
	t.Helper()
	block := n.db.NewBlock()
	sessions := map[string]*event.Session{}
	for _, e := range slices.Backward(apitest.Fixture(n.now())) {
		ts := e.Ts.UnixMilli()
		session := sessions[e.SessionID]
		if session == nil {
			session = &event.Session{ID: e.SessionID, Started: ts, First: ts, Last: ts}
			sessions[e.SessionID] = session
		}
		pageview := event.IsPageview(e.Name)
		delta := session.Add(event.SessionStep{TsMs: ts, Pageview: pageview, Interactive: !pageview})
		block.Append(&event.Row{
			Event: e, EnvironmentNumber: app.Environments[0].Number, SessionStartedMs: session.Started,
			Bounce: delta.Bounce, DurationMs: delta.DurationMs, RetentionDays: uint32(app.RetentionDays),
		})
	}
	appendPeople(n, app, block)
	appendErrors(t, n, app, block)
	appendMetrics(n, app, block)
	for _, row := range apitest.FixtureBilling(n.now()) {
		row.Environment = app.Environments[0].Number
		block.AppendBilling(&row)
	}
	if err := n.db.Insert(t.Context(), "golden", 1, block); err != nil {
		t.Fatal(err)
	}
	if err := n.db.UniteAll(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// appendPeople appends the suite's people, in the environment staging, each event as the beginning of a session.
func appendPeople(n *node, app domain.Application, block *block.Block) {
	environment, _ := app.Environment("staging")
	for _, e := range apitest.FixturePeople(n.now()) {
		block.Append(&event.Row{
			Event: e, EnvironmentNumber: environment.Number, SessionStartedMs: e.Ts.UnixMilli(), RetentionDays: uint32(app.RetentionDays),
		})
	}
}
