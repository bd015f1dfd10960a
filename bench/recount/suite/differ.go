package suite

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"svc/bench/recount/reference"
)

// tolerance is the permitted difference of two numbers that were added in different orders, as a share of the larger
// one.
const tolerance = 1e-9

// differ lists the differences of an answer from the wanted one. Further members are permitted: answers grow.
func differ(path string, got, want any) []string {
	switch want := want.(type) {
	case reference.Exact:
		found := differ(path, got, map[string]any(want))
		object, _ := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, wanted := want[name]; !wanted {
				found = append(found, fmt.Sprintf("%s.%s is too much: %v", path, name, object[name]))
			}
		}
		return found
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{mismatch(path, got, want)}
		}
		var found []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, present := object[name]
			if !present {
				found = append(found, fmt.Sprintf("%s.%s is missing, want %v", path, name, want[name]))
				continue
			}
			found = append(found, differ(path+"."+name, value, want[name])...)
		}
		return found
	case []any:
		return differLists(path, got, want)
	case float64:
		number, ok := got.(float64)
		if !ok || math.Abs(number-want) > tolerance*max(math.Abs(number), math.Abs(want)) {
			return []string{mismatch(path, got, want)}
		}
		return nil
	}
	if got != want {
		return []string{mismatch(path, got, want)}
	}
	return nil
}

func differLists(path string, got any, want []any) []string {
	list, ok := got.([]any)
	if !ok {
		return []string{mismatch(path, got, want)}
	}
	var found []string
	if len(list) != len(want) {
		found = append(found, fmt.Sprintf("%s has %d rows, want %d", path, len(list), len(want)))
	}
	for i := range want {
		at := fmt.Sprintf("%s[%d]", path, i)
		if i >= len(list) {
			found = append(found, fmt.Sprintf("%s is missing, want %v", at, want[i]))
			continue
		}
		found = append(found, differ(at, list[i], want[i])...)
	}
	for i := len(want); i < len(list); i++ {
		found = append(found, fmt.Sprintf("%s is too much: %v", fmt.Sprintf("%s[%d]", path, i), list[i]))
	}
	return found
}

func mismatch(path string, got, want any) string {
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}
