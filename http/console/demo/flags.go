package demo

import (
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/flag"
)

// flagSettings makes the feature flags of the product. An existing flag is written again without a change.
func flagSettings(time.Time) []Call {
	type object = map[string]any
	f := func(key string, body object) Call {
		return Call{Method: http.MethodPut, Path: "/api/v1/apps/{app}/flags/" + key, Body: body}
	}
	on := func(percent int) object {
		return object{domain.DefaultEnvironment: object{"enabled": true, "rolloutPercent": percent}}
	}
	return []Call{
		f("quick-board", object{
			"name": "Quick board", "description": "Boards that open before their cards are there.", "kind": flag.Multivariate, "environments": on(100),
			"variants": []object{{"key": "control", "weight": 50}, {"key": "quick", "weight": 50}},
		}),
		f("reports-v2", object{
			"name": "New reports", "kind": flag.Boolean, "environments": on(20),
			"rules": []object{{"conditions": []object{{"field": "trait.plan", "op": "in", "value": []string{"business", "team"}}}, "rolloutPercent": 100}},
		}),
		f("dark-inbox", object{"name": "Dark inbox", "kind": flag.Boolean, "environments": object{}}),
	}
}

// asked is the number of people with flag evaluations.
const asked = 60

// evaluations evaluates the product's flags for some people, as the product does at every visit.
func evaluations() (calls []Call) {
	for n := range asked {
		v := visitorOf(6*n+3, 0) // One visitor of six registers.
		calls = append(calls, Call{
			Method: http.MethodPost, Path: "/api/v1/flags/evaluate", Ingest: true,
			Body: map[string]any{"distinctId": v.user(), "context": map[string]any{"plan": v.plan}, "keys": []string{"quick-board", "reports-v2"}},
		})
	}
	return calls
}

// noDay is the day of a chapter without items.
func noDay(*day) []Item { return nil }
