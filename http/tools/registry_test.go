package tools_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/conversation"
	"svc/http/api/apitest"
	"svc/http/route"
	"svc/http/tools"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// registry returns the tools of a table without a handler.
func registry(t *testing.T) *tools.Registry { return registryOver(t, http.NotFoundHandler()) }

func registryOver(t *testing.T, handler http.Handler) *tools.Registry {
	t.Helper()
	return registryWith(t, handler, &dependedOn{})
}

// dependedOn lists the objects on which production depends, each as its noun and its id.
type dependedOn struct{ production []string }

// ProductionDepends is tools.Dependents.
func (d *dependedOn) ProductionDepends(_ context.Context, _ domain.AppRef, noun, id string) (bool, error) {
	return slices.Contains(d.production, noun+" "+id), nil
}

func registryWith(t *testing.T, handler http.Handler, dependents tools.Dependents) *tools.Registry {
	t.Helper()
	made, err := tools.New(apitest.Routes(), handler, dependents)
	if err != nil {
		t.Fatal(err)
	}
	return made.Assistant
}

func everybody() conversation.Audience {
	return conversation.Audience{
		Grant:   domain.Grant{Token: domain.Token{Scopes: domain.Scopes()}, Permissions: domain.Permissions()},
		Modules: domain.Modules(),
	}
}

func names(list []conversation.Tool) (out []string) {
	for _, tool := range list {
		out = append(out, tool.Name)
	}
	return out
}

func TestEveryManageRouteIsAToolButThoseOutOfReach(t *testing.T) {
	audience := everybody()
	all := names(registry(t).All(&audience))
	for _, row := range apitest.Routes() {
		noun, _, _ := strings.Cut(row.Operation, ".")
		barred := row.Surface != route.Manage || slices.Contains([]string{"ai", "keys"}, noun) || noun == "me" && row.Operation != "me.get" || row.Handler.Lined()
		if slices.Contains(all, tools.NameOf(row.Operation)) == barred {
			t.Errorf("%s: barred %v, tools %v", row.Operation, barred, all)
		}
	}
	valid, property := regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,62}$`), regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	for _, tool := range registry(t).All(&audience) {
		if !valid.MatchString(tool.Name) || tool.Description == "" || !json.Valid(tool.Schema) || strings.Contains(string(tool.Schema), "$ref") {
			t.Errorf("%+v", tool)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Properties["org"] != nil || schema.Properties["app"] != nil {
			t.Errorf("%s: %v %s", tool.Name, err, tool.Schema)
		}
		for name := range schema.Properties {
			if !property.MatchString(name) {
				t.Errorf("%s: a provider refuses the property %q", tool.Name, name)
			}
		}
	}
}

// TestTheFirstToolsAreSmall checks that the initial tools are below 3,000 tokens, at four bytes each.
func TestTheFirstToolsAreSmall(t *testing.T) {
	audience := everybody()
	first := registry(t).Starters(&audience)
	encoded, err := json.Marshal(first)
	if err != nil || len(first) != 4 || len(encoded)/4 >= 3000 {
		t.Errorf("%d tools of %d bytes, %v", len(first), len(encoded), err)
	}
}

func TestToolsAreHiddenFromThoseWhoMayNot(t *testing.T) {
	for name, hide := range map[string]func(a *conversation.Audience){
		"module":     func(a *conversation.Audience) { a.Modules = []domain.Module{domain.ModuleFlags} },
		"scope":      func(a *conversation.Audience) { a.Grant.Token.Scopes = []domain.Scope{domain.ScopeRead} },
		"permission": func(a *conversation.Audience) { a.Grant.Permissions = []domain.Permission{domain.PermAppsRead} },
		"tool":       func(a *conversation.Audience) { a.Policy.DeniedTools = []string{"goals_create"} },
		"effect": func(a *conversation.Audience) {
			a.Policy.DeniedEffects = []conversation.Effect{conversation.EffectWrite}
		},
	} {
		audience := everybody()
		if !slices.Contains(names(registry(t).Find(&audience, "create a goal", 8)), "goals_create") {
			t.Fatal("everybody finds the tool")
		}
		hide(&audience)
		if slices.Contains(names(registry(t).All(&audience)), "goals_create") || slices.Contains(names(registry(t).Find(&audience, "goals_create", 8)), "goals_create") {
			t.Errorf("%s: the tool is offered", name)
		}
	}
}

func TestToolsAreFoundByMeaning(t *testing.T) {
	audience := everybody()
	for query, want := range map[string]string{
		"add a new goal": "goals_create", "funnels": "funnels_list", "remove the funnel": "funnels_delete", "who is online now": "analytics_live",
		"which countries do visitors come from": "analytics_breakdown", "cohort retention": "analytics_retention", "documentation": "docs_get",
		"change the settings of the application": "apps_update", "trend of page views": "analytics_timeseries", "raw events": "events_list",
	} {
		if found := names(registry(t).Find(&audience, query, 5)); !slices.Contains(found, want) {
			t.Errorf("%q found %v, want %s", query, found, want)
		}
	}
	if found := registry(t).Find(&audience, "qwertz", 5); len(found) != 0 {
		t.Errorf("nonsense found %v", names(found))
	}
}

// served is a registry over a world in memory.
func served(t *testing.T) (*tools.Registry, *apitest.Memory, apitest.World) {
	t.Helper()
	memory := apitest.NewMemory(noon)
	world := memory.Fill(t)
	return registryOver(t, world.Handler), memory, world
}

func TestACallPassesTheGatesLikeAnyOther(t *testing.T) {
	made, memory, world := served(t)
	web := domain.AppRef{Org: "acme", App: "web"}
	for _, c := range []struct {
		name, tool, input string
		secret            domain.Secret
		ref               domain.AppRef
		status            int
		code              domain.Code
	}{
		{"a read", "analytics_overview", `{"range":"7d","filter":["path:/","country:DE"],"includeBots":true}`, world.Owner, web, 200, ""},
		{"a write", "goals_create", `{"name":"Signups","kind":"event","match":"signup"}`, world.Owner, web, 201, ""},
		{"a path parameter", "docs_get", `{"slug":"reference"}`, world.Owner, web, 200, ""},
		{"an invalid input", "goals_create", `{"name":"x"}`, world.Owner, web, 400, ""},
		{"no right", "goals_create", `{"name":"x","kind":"event","match":"y"}`, world.Viewer, web, 403, ""},
		{"a foreign organization", "apps_get", `{}`, world.Owner, domain.AppRef{Org: "globex", App: "shop"}, 404, ""},
		{"a foreign organization by the input", "apps_get", `{"org":"globex","app":"shop"}`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"another path", "goals_delete", `{"id":".."}`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"no id", "goals_delete", `{}`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"a path in a parameter", "goals_delete", `{"id":"../../other/keys/1"}`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"another route by a parameter", "funnels_get", `{"id":"fun_1/results"}`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"a list as input", "apps_get", `[]`, world.Owner, web, 0, domain.CodeInvalidRequest},
		{"no such tool", "keys_create", `{}`, world.Owner, web, 0, domain.CodeNotFound},
	} {
		outcome, err := made.Execute(t.Context(), c.secret, c.ref, c.tool, json.RawMessage(c.input))
		if outcome.Status != c.status || c.code != "" && domain.CodeOf(err) != c.code || c.code == "" && (err != nil || outcome.RequestID == "") {
			t.Errorf("%s: %d %s, %v", c.name, outcome.Status, outcome.Body, err)
		}
	}
	if rows := memory.Audit(); len(rows) != 3 || rows[0].Operation != "goals.create" || rows[0].Status != 201 {
		t.Errorf("the audit rows are %+v", rows)
	}
}

// TestALabelFilterIsAListOfPairs calls as a model does: a schema cannot name a query of an open parameter.
func TestALabelFilterIsAListOfPairs(t *testing.T) {
	var asked []string
	made := registryOver(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.RawQuery) }))
	for _, c := range []struct {
		input, query string
		code         domain.Code
	}{
		{`{"name":"orders","label":["plan=pro","plan=free","host.name=a=b"]}`, "label.host.name=a%3Db&label.plan=pro&label.plan=free&name=orders", ""},
		{`{"name":"orders","label":"plan=pro"}`, "label.plan=pro&name=orders", ""},
		{`{"name":"orders","label.plan":"pro"}`, "label.plan=pro&name=orders", ""},
		{`{"name":"orders","label":null}`, "name=orders", ""},
		{`{"name":"orders","label":["plan"]}`, "", domain.CodeInvalidRequest},
		{`{"name":"orders","labels":["plan=pro"]}`, "", domain.CodeInvalidRequest},
	} {
		asked = nil
		_, err := made.Execute(t.Context(), "", domain.AppRef{Org: "acme", App: "web"}, "metrics_series", json.RawMessage(c.input))
		if domain.CodeOf(err) != c.code && (c.code != "" || err != nil) || c.code == "" && !slices.Equal(asked, []string{c.query}) {
			t.Errorf("%s: %v %v", c.input, asked, err)
		}
	}
}

func TestTheStateBeforeIsReadFromThePathOrTheListAboveIt(t *testing.T) {
	made, memory, world := served(t)
	web := domain.AppRef{Org: "acme", App: "web"}
	outcome, err := made.Execute(t.Context(), world.Owner, web, "goals_create", json.RawMessage(`{"name":"Signups","kind":"event","match":"signup"}`))
	if err != nil {
		t.Fatal(err)
	}
	var goal struct{ ID string }
	if err := json.Unmarshal(outcome.Body, &goal); err != nil {
		t.Fatal(err)
	}
	channel, _, err := memory.CreateChannel(t.Context(), web, alert.ChannelSpec{Name: "Pager", Kind: alert.ChannelWebhook, URL: "https://acme.example/hook"})
	if err != nil {
		t.Fatal(err)
	}
	for tool, c := range map[string]struct{ input, holds string }{
		"channels_test": {`{"id":"` + channel.ID + `"}`, `"name":"Pager"`}, "alerts_put": {`{}`, ""}, "apps_create": {`{}`, ""},
		"goals_delete": {`{"id":"` + goal.ID + `"}`, `"match":"signup"`}, "apps_update": {`{"name":"x"}`, `"slug":"web"`},
		"goals_create": {`{}`, ""}, "funnels_delete": {`{"id":"fun_none"}`, ""},
	} {
		target, err := made.Target(t.Context(), world.Owner, web, tool, json.RawMessage(c.input))
		if err != nil || c.holds == "" != (target.Before == nil) || !strings.Contains(string(target.Before), c.holds) {
			t.Errorf("%s: %s, %v", tool, target.Before, err)
		}
	}
}
