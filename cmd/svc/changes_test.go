package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
)

// workshop is the state of a test that changes entities of acme/web and uses them after each change.
type workshop struct {
	*server
	session string
	// serial numbers the items that are sent. Each use differs from the earlier uses.
	serial int
	// values holds the state of the rows between their steps.
	values map[string]any
}

// next returns a name that was not used before.
func (c *workshop) next(prefix string) string {
	c.serial++
	return fmt.Sprintf("%s-%d", prefix, c.serial)
}

// console calls a console route of the application and expects a status below 300.
func (c *workshop) console(method, path, body string) map[string]any {
	c.t.Helper()
	return c.change(method, "/console"+appPath+path, c.session, body)
}

// manage calls a management route of the application and expects a status below 300.
func (c *workshop) manage(method, path, body string) map[string]any {
	c.t.Helper()
	return c.change(method, appPath+path, c.boot.Token, body)
}

// change is one change of an entity.
type change struct {
	name string
	do   func(c *workshop)
}

// changeable is an entity that can be changed. It has a step that makes the entity, the changes, and a check that the
// entity works.
type changeable struct {
	entity  string
	create  func(c *workshop)
	changes []change
	works   func(c *workshop)
}

// on runs a step of every row as a separate test, on the present server.
func (c *workshop) on(t *testing.T, stage string, rows []changeable, step func(c *workshop, row *changeable)) {
	t.Helper()
	for i := range rows {
		row := &rows[i]
		t.Run(row.entity+"/"+stage, func(t *testing.T) {
			before := c.t
			c.t = t
			defer func() { c.t = before }()
			step(c, row)
		})
	}
}

// eachChange makes every entity, changes it in each possible way, and uses it after each change.
func (c *workshop) eachChange(t *testing.T, rows []changeable) {
	t.Helper()
	c.on(t, "made", rows, func(c *workshop, row *changeable) {
		row.create(c)
		row.works(c)
	})
	for i := range rows {
		for _, one := range rows[i].changes {
			c.on(t, one.name, rows[i:i+1], func(c *workshop, row *changeable) {
				one.do(c)
				row.works(c)
			})
		}
	}
}

// destinationRow is a webhook. It forwards a conversion after each change (A2).
func destinationRow(t *testing.T) changeable {
	t.Helper()
	first, second := newReceiver(t), newReceiver(t)
	patch := func(body string, remember map[string]any) func(c *workshop) {
		return func(c *workshop) {
			for name, value := range remember {
				c.values[name] = value
			}
			c.console("PATCH", "/destinations/"+c.values["destination"].(string), body)
		}
	}
	return changeable{
		entity: "destination",
		create: func(c *workshop) {
			id, _ := c.destination(c.session, fmt.Sprintf(purchases, first.URL))
			c.values["destination"], c.values["receiver"], c.values["conversion"] = id, first, "purchase"
			c.values["forwarded"] = []string{"production"}
		},
		changes: []change{
			{"A2 name", patch(`{"name":"Renamed"}`, nil)},
			{"A2 url", patch(fmt.Sprintf(`{"config":{"url":%q}}`, second.URL), map[string]any{"receiver": second})},
			{"A2 mapping", patch(`{"mapping":[{"event":"order"}]}`, map[string]any{"conversion": "order"})},
			{"A2 environments", patch(`{"environments":["staging","production"]}`, map[string]any{"forwarded": []string{"staging", "production"}})},
			{"A2 one environment", patch(`{"environments":["production"]}`, map[string]any{"forwarded": []string{"production"}})},
			{"A2 off and on", func(c *workshop) {
				patch(`{"enabled":false}`, nil)(c)
				patch(`{"enabled":true}`, nil)(c)
			}},
			{"credential", func(c *workshop) {
				c.console("PUT", "/destinations/"+c.values["destination"].(string)+"/credential", `{"credential":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`)
			}},
		},
		works: func(c *workshop) {
			for _, environment := range c.values["forwarded"].([]string) {
				id := c.next("conversion")
				body := fmt.Sprintf(`{"items":[{"type":"event","id":%q,"name":%q,"distinctId":"ada"}]}`, id, c.values["conversion"])
				if got := c.call("POST", "/api/v1/batch", c.boot.Keys[environment].Secret, []byte(body), nil); got.status != http.StatusAccepted {
					c.t.Fatalf("sending: %d %s", got.status, got.body)
				}
				eventually(c.t, "the conversion of "+environment+" arrives", func() error {
					for _, one := range c.values["receiver"].(*receiver).requests() {
						if one.body.Event.App.Environment == environment && strings.Contains(string(one.raw), id) {
							return nil
						}
					}
					return fmt.Errorf("%s did not", id)
				})
			}
		},
	}
}

// These are the methods of the destinations actor by which a test reads and stores destinations unchanged.
var (
	destinationsList   = grain.Declare[grain.None, []destination.Destination]("destinations", "list")
	destinationsCreate = grain.Declare[destination.Destination, destination.Destination]("destinations", "create")
)

// TestADestinationStoredWithoutItsEnvironmentForwardsAgain stores destinations under the number 0, as earlier versions
// did after a change. The next start repairs them.
func TestADestinationStoredWithoutItsEnvironmentForwardsAgain(t *testing.T) {
	dir := t.TempDir()
	c := &workshop{server: startServer(t, dir, watched()), values: map[string]any{}}
	c.session = c.server.session()
	row := destinationRow(t)
	row.create(c)
	id := c.values["destination"].(string)
	stored, err := destinationsList.Ask(t.Context(), c.node.cluster, "acme/web", grain.None{})
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	c.console("DELETE", "/destinations/"+id, "")
	stored[0].Numbers = []uint64{0}
	if _, err := destinationsCreate.Ask(t.Context(), c.node.cluster, "acme/web", stored[0]); err != nil {
		t.Fatal(err)
	}
	c.stopped()
	c.server = startServer(t, dir, watched())
	eventually(t, "the destination has its environment", func() error {
		production, err := c.node.environmentOf("acme/web", "production")
		if err != nil {
			return err
		}
		if known := c.node.forwarding.index.Destination(domain.AppRef{Org: "acme", App: "web"}, id); known == nil || len(known.Numbers) != 1 || known.Numbers[0] != production.Number {
			return fmt.Errorf("it is stored as %+v", known)
		}
		return nil
	})
	c.session = c.server.session()
	row.works(c)
	c.stopped()
	c.server = startServer(t, dir, watched())
	row.works(c)
}

// TestEverythingWorksAfterEachChange makes entities and changes each in every way. It uses each entity after each
// change and after a restart. It also uses each after a move of the environment to another store, and after a restore
// of a backup.
func TestEverythingWorksAfterEachChange(t *testing.T) {
	stores := func() map[string]string {
		env := watched()
		env["SVC_CLICKHOUSE_DSN"] = "http://" + startStore(t) + "/ http://" + startStore(t) + "/"
		return env
	}
	env, dir := stores(), t.TempDir()
	c := &workshop{server: startServer(t, dir, env), values: map[string]any{}}
	c.session = c.server.session()
	rows := slices.Concat([]changeable{destinationRow(t)}, alertingRows(t), analyticsRows(t), accessRows(t), tokenRows(t), outgoingRows(t))
	c.eachChange(t, rows)
	works := func(c *workshop, row *changeable) { row.works(c) }

	c.stopped()
	c.server = startServer(t, dir, env)
	c.on(t, "restarted", rows, works)

	if _, err := c.move(1); err != nil {
		t.Fatal(err)
	}
	c.on(t, "moved", rows, works)

	kept, copies := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	if printed, err := c.backUp(kept, "--store", "File('"+filepath.Join(copies, "0")+"')", "--store", "File('"+filepath.Join(copies, "1")+"')"); err != nil {
		t.Fatal(printed, err)
	}
	c.stopped()
	env = stores()
	folder, printed, err := restored(t, kept, env)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "bootstrap.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bootstrap.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.server = startServer(t, folder, env)
	c.on(t, "restored", rows, works)
}
