package route_test

import (
	"context"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// color has no method Values.
type color string

// shaped is an answer with a field of a string type without listed words.
type shaped struct {
	Color color `json:"color"`
}

// TestHalfRegisteredRowsAreRefused gives New rows that lack a part. The error names the row
// and the part.
func TestHalfRegisteredRowsAreRefused(t *testing.T) {
	nothing := func(context.Context, *route.Call, struct{}) (route.Empty, error) { return route.Empty{}, nil }
	undocumented := func(context.Context, *route.Call, struct {
		Word string `query:"word"`
	},
	) (route.Empty, error) {
		return route.Empty{}, nil
	}
	g := newGateway()
	for want, change := range map[string]func(r *route.Route){
		`effect "write" needs a kind of ledger entry`: func(r *route.Route) { r.Unrecorded = "" },
		`effect "destructive" needs a kind`:           func(r *route.Route) { r.Effect, r.Ledger = route.Destructive, "thing.made" },
		"a read leaves nothing in the ledger":         func(r *route.Route) { r.Method, r.Effect = "GET", route.Read },
		"the summary is empty":                        func(r *route.Route) { r.Summary = "" },
		`unknown scope "all"`:                         func(r *route.Route) { r.Scope = "all" },
		`unknown permission "all"`:                    func(r *route.Route) { r.Permission = "all" },
		`module "analytics" needs an application`:     func(r *route.Route) { r.Module = domain.ModuleAnalytics },
		`the parameter "word" has no tag doc`:         func(r *route.Route) { r.Handler = route.Typed(undocumented) },
	} {
		changed := row("POST", "/half", nothing)
		change(&changed)
		_, err := route.New(route.Config{Routes: []route.Route{changed}, Authority: g, Applications: g, Cursors: domain.NewCursors([]byte("k")), Now: noon})
		if err == nil || !strings.Contains(err.Error(), changed.Operation) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a refusal of %s with %q", err, changed.Operation, want)
		}
	}
}

// TestAnAnswerWithUnlistedWordsIsNotDescribed describes a row with an answer that has such a field.
func TestAnAnswerWithUnlistedWordsIsNotDescribed(t *testing.T) {
	colored := row("POST", "/half", func(context.Context, *route.Call, struct{}) (shaped, error) { return shaped{}, nil })
	_, err := route.OpenAPI([]route.Route{colored}, "", "2026-11-20")
	if err == nil || !strings.Contains(err.Error(), colored.Operation) || !strings.Contains(err.Error(), "color has no method Values") {
		t.Errorf("got %v, want a refusal of %s that names color", err, colored.Operation)
	}
}
