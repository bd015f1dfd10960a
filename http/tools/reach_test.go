package tools

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api/apitest"
	"svc/http/route"
)

// addresses are the names of members that hold addresses to which the service sends something.
func addresses() []string {
	return []string{"url", "urls", "uri", "endpoint", "webhook", "webhookUrl", "callback", "callbackUrl", "host", "address", "addresses", "email", "emails", "recipient", "recipients", "to", "cc", "bcc", "phone"}
}

// TestEveryWriteStatesWhatItReaches checks all writing tools of the route table against the table of reaches. It
// reports each tool that this table lacks or describes wrongly. It also reports each entry without a route.
func TestEveryWriteStatesWhatItReaches(t *testing.T) {
	table, routes := reaches(), apitest.Routes()
	made, err := New(routes, http.NotFoundHandler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The parameter env of these tools does not name the environment of the object: it counts members, or is refused.
	elsewhere := []string{"segments.put", "monitors.put"}
	// The address of an application's own pages is shown but never called. The parameter "to" of an export is a time.
	shown := []string{"apps.create url", "exports.create to"}
	for i := range routes {
		row := &routes[i]
		tool := made.Holders.byName[NameOf(row.Operation)]
		if tool == nil || row.Effect != conversation.EffectWrite {
			continue
		}
		stated, found := table[row.Operation]
		delete(table, row.Operation)
		if !found {
			t.Errorf("%s is a writing tool, and the table of reaches does not say what it reaches", row.Operation)
			continue
		}
		_, parameter := tool.place[memberEnv]
		_, member := tool.place[memberEnvironment]
		if environments := parameter || member; environments && stated.place == noEnvironment && !slices.Contains(elsewhere, row.Operation) {
			t.Errorf("%s names an environment, and the table of reaches says that it has none", row.Operation)
		}
		for _, name := range addresses() {
			if _, takes := tool.place[name]; takes && stated.outbound != name && !slices.Contains(shown, row.Operation+" "+name) {
				t.Errorf("%s takes the address %s, and the table of reaches does not say so", row.Operation, name)
			}
		}
		checkReach(t, row, tool, &stated, routes)
	}
	for operation := range table {
		t.Errorf("the table of reaches has %s, which is no writing tool", operation)
	}
}

// checkReach compares an entry of the table with the route that it describes.
func checkReach(t *testing.T, row *route.Route, tool *entry, stated *reach, routes []route.Route) {
	t.Helper()
	_, parameter := tool.place[memberEnv]
	_, member := tool.place[memberEnvironment]
	list := slices.IndexFunc(routes, func(other route.Route) bool {
		return other.Surface == row.Surface && other.Method == http.MethodGet && other.Path == row.Path
	})
	switch {
	case stated.place == ofParameter && !parameter:
		t.Errorf("%s has no parameter env", row.Operation)
	case stated.place == ofBody && (!member || tool.before == nil || !tool.before.upsert):
		t.Errorf("%s has no member environment of an object that it may change", row.Operation)
	case stated.place == ofStored && tool.before == nil:
		t.Errorf("%s has no stored target", row.Operation)
	case stated.outbound != "" && list < 0:
		t.Errorf("%s has no list that shows which addresses are known", row.Operation)
	}
	if stated.outbound == "" || list < 0 {
		return
	}
	if _, known := memberOf(rowOf(routes[list].Handler.Output), stated.outbound); !known {
		t.Errorf("the list of %s does not show %s", row.Operation, stated.outbound)
	}
}

// TestAWriteThatIsNotInTheTableReachesProduction checks a route without an entry in the table.
func TestAWriteThatIsNotInTheTableReachesProduction(t *testing.T) {
	registry := &Registry{byName: map[string]*entry{"boards_put": {tool: conversation.Tool{Effect: conversation.EffectWrite}}}}
	target, err := registry.Target(t.Context(), "", domain.AppRef{Org: "acme", App: "web"}, "boards_put", nil)
	if want := (conversation.Target{Effect: conversation.EffectDestructive}); err != nil || !reflect.DeepEqual(target, want) {
		t.Errorf("%+v, %v, want %+v", target, err, want)
	}
}
