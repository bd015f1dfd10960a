package demo

import (
	"net/http"
	"time"

	"svc/domain/segment"
)

// peopleSettings makes typical segments.
func peopleSettings(time.Time) []Call {
	type object = map[string]any
	s := func(name string, conditions ...object) Call {
		return Call{
			Method: http.MethodPost, Path: "/api/v1/apps/{app}/segments", Unless: "/api/v1/apps/{app}/segments",
			Body: object{"name": name, "kind": "dynamic", "definition": object{"all": conditions}},
		}
	}
	return []Call{
		s("Plans that cost something", object{"field": "trait.plan", "op": segment.In, "value": []string{"business", "team"}}),
		s("Made a project this month", object{"field": "did_event", "op": segment.WithinDays, "value": 30, "event": object{"name": "project_created", "count": 1}}),
	}
}
