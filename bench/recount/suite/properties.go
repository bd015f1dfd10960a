package suite

import "fmt"

// broken lists the contradictions within an answer, independent of the rows.
func broken(route string, got map[string]any) []string {
	var found []string
	switch route {
	case "/analytics/overview":
		found = append(ascend(got, "visitors", "sessions"), ascend(got, "uniqueVisitors", "visitors")...)
	case "/analytics/breakdown":
		for _, row := range objects(got, "data") {
			found = append(found, ascend(row, "visitors", "sessions")...)
		}
	case "/events/names":
		for _, row := range objects(got, "data") {
			found = append(found, ascend(row, "users", "count")...)
		}
	case "/analytics/retention":
		for _, cohort := range objects(got, "cohorts") {
			found = append(found, brokenCohort(cohort)...)
		}
	}
	for _, step := range objects(got, "steps") {
		if number(step, "converted")+number(step, "dropOff") != number(step, "entered") {
			found = append(found, fmt.Sprintf("converted and dropOff are not entered in %v", step))
		}
	}
	return found
}

// brokenCohort checks that period 0 is the whole cohort and no period is more.
func brokenCohort(cohort map[string]any) []string {
	var found []string
	periods, _ := cohort["periods"].([]any)
	for i, period := range periods {
		count, ok := period.(float64)
		if size := number(cohort, "size"); !ok || count > size || i == 0 && count != size {
			found = append(found, fmt.Sprintf("period %d of the cohort %v is %v of %v", i, cohort["cohort"], period, cohort["size"]))
		}
	}
	return found
}

// ascend reports a number of a row that exceeds another one that it cannot exceed.
func ascend(row map[string]any, less, more string) []string {
	if number(row, less) > number(row, more) {
		return []string{fmt.Sprintf("%s %v is over %s %v in %v", less, row[less], more, row[more], row)}
	}
	return nil
}

func number(row map[string]any, name string) float64 {
	value, _ := row[name].(float64)
	return value
}

// objects are the rows of a list.
func objects(got map[string]any, name string) (out []map[string]any) {
	list, _ := got[name].([]any)
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}
