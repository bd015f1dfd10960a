package suite

import "fmt"

// broken lists the promises that an answer breaks by itself, whatever the rows say.
func broken(path string, got map[string]any) []string {
	var found []string
	number := func(object map[string]any, name string) float64 {
		value, _ := object[name].(float64)
		return value
	}
	rows := func(name string) (out []map[string]any) {
		list, _ := got[name].([]any)
		for _, one := range list {
			if object, ok := one.(map[string]any); ok {
				out = append(out, object)
			}
		}
		return out
	}
	atMost := func(row map[string]any, less, more string) {
		if number(row, less) > number(row, more) {
			found = append(found, fmt.Sprintf("%s %v is over %s %v in %v", less, row[less], more, row[more], row))
		}
	}
	switch path {
	case "/analytics/overview":
		atMost(got, "visitors", "sessions")
		atMost(got, "uniqueVisitors", "visitors")
	case "/analytics/breakdown":
		for _, row := range rows("data") {
			atMost(row, "visitors", "sessions")
		}
	case "/events/names":
		for _, row := range rows("data") {
			atMost(row, "users", "count")
		}
	case "/analytics/retention":
		for _, cohort := range rows("cohorts") {
			periods, _ := cohort["periods"].([]any)
			for i, period := range periods {
				if size := cohort["size"]; i == 0 && period != size {
					found = append(found, fmt.Sprintf("period 0 of %v is %v, its size %v", cohort["cohort"], period, size))
				}
			}
			// No period holds more than the cohort.
			for _, period := range periods {
				if count, ok := period.(float64); !ok || count > number(cohort, "size") {
					found = append(found, fmt.Sprintf("a period of %v holds %v of %v", cohort["cohort"], period, cohort["size"]))
				}
			}
		}
	}
	for _, step := range rows("steps") {
		if number(step, "converted")+number(step, "dropOff") != number(step, "entered") {
			found = append(found, fmt.Sprintf("converted and dropOff are not entered in %v", step))
		}
	}
	return found
}
