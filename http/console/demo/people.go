package demo

import (
	"net/http"
	"time"

	"svc"
)

// peopleSettings makes typical segments.
func peopleSettings(time.Time) []Call {
	type object = map[string]any
	segment := func(name string, conditions ...object) Call {
		return Call{
			Method: http.MethodPost, Path: "/api/v1/apps/{app}/segments", Unless: "/api/v1/apps/{app}/segments",
			Body: object{"name": name, "kind": "dynamic", "definition": object{"all": conditions}},
		}
	}
	return []Call{
		segment("Plans that cost something", object{"field": "trait.plan", "op": svc.SegmentIn, "value": []string{"business", "team"}}),
		segment("Made a project this month", object{"field": "did_event", "op": svc.SegmentWithinDays, "value": 30, "event": object{"name": "project_created", "count": 1}}),
	}
}
