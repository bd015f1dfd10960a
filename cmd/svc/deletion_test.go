package main

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/firststart"
	"svc/domain"
	"svc/domain/signin"
	"svc/http/route"
	"svc/storage/clickhouse/clickhousetest"
)

// passkeySession opens a session of the first owner that counts as opened by a passkey.
func (s *server) passkeySession(t *testing.T) string {
	t.Helper()
	owner, err := s.node.identity.User(t.Context(), firststart.Owner, "")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.node.identity.OpenSession(t.Context(), signin.SessionSpec{Person: owner, By: signin.SessionOfPasskey})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

// keptOnDeletion are the tables without a column of environments or applications, with the reason why a deletion of an
// application leaves their rows. A new table is removed by its column environment or app, or gets a reason here.
func keptOnDeletion() map[string]string {
	return map[string]string{
		"entities": "by owner, see remains", "wakeups": "by owner", "ledger": "the organization's, and it stays", "upload_chunks": "the organization's",
		"export_rows": "by file; files of no export are dropped, and the search over all files holds that", "tallies": "numbers of requests that name nothing",
		"installation": "the service's", "refused_records": "records that name nothing", "state_journal": "what waits to be stored", "migrations": "the service's", "placement": "the service's",
	}
}

// remains counts the rows of an application in every table with rows of environments or applications, and lists the
// owners of entities below its address. It fails for an unknown table.
func (s *server) remains(t *testing.T, app domain.Application, address string) (found []string) {
	t.Helper()
	conn := s.node.db.StateStore.Conn()
	const columns = "SELECT groupArray(c.table) FROM system.columns AS c INNER JOIN system.tables AS t ON t.database = c.database AND t.name = c.table WHERE c.database = currentDatabase() AND endsWith(t.engine, 'MergeTree') AND NOT startsWith(c.table, 'audit') AND c.name = '%s'"
	known := keptOnDeletion()
	count := func(table, where string) {
		known[table] = "removed"
		if n := clickhousetest.Ask[uint64](t, conn, "SELECT count() FROM "+table+where); n > 0 {
			found = append(found, fmt.Sprint(table, " ", n))
		}
	}
	for _, table := range clickhousetest.Ask[[]string](t, conn, fmt.Sprintf(columns, "environment")) {
		for _, environment := range app.Environments {
			count(table, fmt.Sprintf(" WHERE environment = %d", environment.Number))
		}
	}
	for _, table := range clickhousetest.Ask[[]string](t, conn, fmt.Sprintf(columns, "app")) {
		count(table, fmt.Sprintf(" WHERE app IN ('%s', '%s')", address, app.ID))
	}
	count("person_folds", "")
	for _, table := range clickhousetest.Ask[[]string](t, conn, "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree') AND NOT startsWith(name, 'audit') AND NOT startsWith(name, '.')") {
		if known[table] == "" {
			t.Errorf("nobody decided what a deletion does to the table %s", table)
		}
	}
	return append(found, clickhousetest.Ask[[]string](t, conn, "SELECT groupUniqArray(concat(owner, ' ', kind)) FROM entities WHERE NOT deleted AND position(owner, '"+address+"') > 0 AND kind != 'application'")...)
}

// TestADeletedApplicationIsGone deletes an application in which a person left traces everywhere. At once its keys are
// refused and no answer shows any of its data. After the bound nothing is stored. A restart restores nothing.
func TestADeletedApplicationIsGone(t *testing.T) {
	dir := t.TempDir()
	env := watched()
	env["SVC_ERASURE_DELAY"], env["SVC_LOG_RETENTION"] = "300ms", "1h"
	maps.Copy(env, mailed(refusesPlanted(t)))
	s := startServer(t, dir, env)
	shortenOldParts(t, s)
	ids := s.plant(t)
	s.forwards(t)
	s.writesTo(t, 1)
	app, err := s.node.apps.Get(t.Context(), domain.AppRef{Org: "acme", App: "web"})
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		appPath + "/goals": `{"name":"Orders","kind":"event","match":"checkout"}`, appPath + "/monitors": `{"name":"Site","url":"https://acme.example/","enabled":false}`,
		appPath + "/alerts": `{"name":"Many","kind":"event_volume","threshold":5,"condition":{}}`, appPath + "/errors/" + ids["issue"] + "/comments": `{"text":"seen"}`,
	} {
		if got := s.call("POST", path, s.boot.Token, []byte(body), nil); got.status/100 != 2 {
			t.Fatalf("POST %s: %d %s", path, got.status, got.body)
		}
	}
	session := s.passkeySession(t)
	got := s.call("POST", "/console/api/v1/apps/acme/web/share", session, []byte(`{}`), nil)
	if got.status/100 != 2 {
		t.Fatalf("publishing: %d %s", got.status, got.body)
	}
	page, _ := object(t, got.body)["path"].(string)
	const path = "/console/api/v1/apps/acme/web"
	if got := s.call("DELETE", path, s.session(), nil, nil); got.status != 403 || object(t, got.body)["code"] != "passkey_required" {
		t.Errorf("a session without a passkey deletes: %d %s", got.status, got.body)
	}
	file := s.export(t, s.boot.Token, `{"kind":"events"}`)["url"]
	if got := s.fetch(file); got.status != 200 {
		t.Fatalf("the file of an export: %d %s", got.status, got.body)
	}
	conn := s.node.db.StateStore.Conn()
	if err := conn.Exec(t.Context(), "INSERT INTO person_folds (number, person, ids) VALUES (9, 7, 'kept'); ", nil); err != nil {
		t.Fatal(err)
	}
	if got := s.call("DELETE", path, session, nil, nil); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	if got := s.fetch(file); got.status != 404 {
		t.Errorf("the file of an export of the deleted application: %d", got.status)
	}
	s.deletedAtOnce(t, page, ids)
	eventually(t, "nothing of it is stored", func() error {
		if open := s.node.deletions.Open(); len(open) > 0 {
			return fmt.Errorf("%v", open)
		}
		if found := s.remains(t, app, "acme/web"); len(found) > 0 {
			return fmt.Errorf("%v", found)
		}
		return nil
	})
	eventuallyFiles(t, "no file but those of the log holds a planted text", func() error {
		for _, file := range filesWith(t, dir) {
			if !strings.HasPrefix(file, filepath.Join(dir, "log")) {
				return fmt.Errorf("%s does: %s", file, s.tableOf(t, file))
			}
		}
		return nil
	})
	ledger := s.call("GET", "/console/api/v1/orgs/acme/ledger?kind=app.deleted", session, nil, nil)
	if rows := object(t, ledger.body)["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["subject"] != app.ID {
		t.Errorf("the ledger has %s", ledger.body)
	}
	s.stopped()
	before := s.boot
	s = startServer(t, dir, env)
	s.boot.Token, s.boot.Keys = before.Token, before.Keys
	s.deletedAtOnce(t, page, ids)
}

// forwards makes a conversion of the planted person wait for a destination that refuses it.
func (s *server) forwards(t *testing.T) {
	t.Helper()
	shop := newReceiver(t)
	shop.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	id, _ := s.destination(s.session(), fmt.Sprintf(purchases, shop.URL))
	s.send(map[string]any{"type": "event", "id": "plant-order", "name": "purchase", "distinctId": planted["e-mail"], "properties": map[string]any{"phone": planted["phone"]}})
	eventually(t, "the conversion waits", func() error {
		if rows := s.deliveries(id, "status=retrying"); len(rows) != 1 {
			return fmt.Errorf("%d deliveries wait", len(rows))
		}
		return nil
	})
}

// deletedAtOnce fails if a key of the application is accepted, or an answer shows any of its data.
func (s *server) deletedAtOnce(t *testing.T, page string, ids map[string]string) {
	t.Helper()
	if got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(`{"items":[{"type":"page"}]}`), nil); got.status != 401 {
		t.Errorf("a key is accepted: %d %s", got.status, got.body)
	}
	if got := s.call("GET", page, "", nil, nil); got.status != 404 {
		t.Errorf("the public page answers %d", got.status)
	}
	for _, row := range s.node.handler.Routes() {
		if row.Method != http.MethodGet || row.Surface != route.Manage || !strings.Contains(row.Path, "{app}") {
			continue
		}
		if got := s.call("GET", filled(row, ids), s.boot.Token, nil, map[string]string{"Accept": "application/json"}); got.status != 404 {
			t.Errorf("%s answers %d %s", row.Operation, got.status, excerpt(got.body))
		}
	}
	if rows := s.get("/api/v1/orgs/acme/apps")["data"].([]any); len(rows) != 0 {
		t.Errorf("the list has %v", rows)
	}
	if got := s.call("POST", "/api/v1/orgs/acme/apps", s.boot.Token, []byte(`{"name":"Web","slug":"web"}`), nil); got.status != 409 {
		t.Errorf("the slug is given to another: %d %s", got.status, got.body)
	}
}

// TestADeletedOrganizationIsGone deletes an organization: its members, tokens and applications are removed with it.
func TestADeletedOrganizationIsGone(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_ERASURE_DELAY": "300ms"})
	s.send(item("e-1", "somebody", "/a", time.Now()))
	s.settled()
	session := s.passkeySession(t)
	made := s.call("POST", "/console/api/v1/orgs/acme/tokens", session, []byte(`{"name":"ci","scopes":["read"]}`), nil)
	token, _ := object(t, made.body)["token"].(string)
	if got := s.call("GET", "/api/v1/me", token, nil, nil); got.status != 200 {
		t.Fatalf("the token of the organization: %d %s", got.status, got.body)
	}
	if got := s.call("DELETE", "/console/api/v1/orgs/acme", s.session(), nil, nil); got.status != 403 {
		t.Errorf("a session without a passkey deletes: %d", got.status)
	}
	if got := s.call("DELETE", "/console/api/v1/orgs/acme", session, nil, nil); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	for _, one := range []struct {
		path, token string
		want        int
	}{
		{"/api/v1/me", token, 401}, {appPath, s.boot.Token, 404}, {"/api/v1/orgs/acme/apps", s.boot.Token, 404}, {"/console/api/v1/orgs/acme/members", session, 404},
	} {
		if got := s.call("GET", one.path, one.token, nil, nil); got.status != one.want {
			t.Errorf("GET %s: %d %s", one.path, got.status, got.body)
		}
	}
	if rows := s.get("/api/v1/orgs")["data"].([]any); len(rows) != 0 {
		t.Errorf("the person still sits in %v", rows)
	}
	if got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(`{"items":[{"type":"page"}]}`), nil); got.status != 401 {
		t.Errorf("a key is accepted: %d %s", got.status, got.body)
	}
	if got := s.call("POST", "/console/api/v1/orgs", session, []byte(`{"name":"Acme","slug":"acme"}`), nil); got.status != 409 {
		t.Errorf("the slug is given to another: %d %s", got.status, got.body)
	}
	if got := s.call("POST", "/console/api/v1/orgs", session, []byte(`{"name":"Second"}`), nil); got.status != 201 {
		t.Errorf("the person founds another organization: %d %s", got.status, got.body)
	}
	eventually(t, "everything is removed", func() error {
		if open := s.node.deletions.Open(); len(open) > 0 {
			return fmt.Errorf("%v", open)
		}
		return nil
	})
}

// tableOf returns the table of a file of the store, and whether its part is in use.
func (s *server) tableOf(t *testing.T, file string) []string {
	t.Helper()
	return clickhousetest.Ask[[]string](t, s.node.db.StateStore.Conn(), "SELECT groupArray(concat(table, ' ', toString(active))) FROM system.parts WHERE startsWith('"+file+"', path)")
}
