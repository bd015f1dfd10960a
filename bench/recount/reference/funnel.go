package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Funnel is a saved funnel.
type Funnel struct {
	ID          string `json:"id,omitempty"`
	Name        string `json:"name"`
	Steps       []Step `json:"steps"`
	WindowHours int    `json:"windowHours"`
}

// Step is one step of a funnel.
type Step struct {
	Kind    string       `json:"kind"`
	Match   string       `json:"match"`
	Filters []StepFilter `json:"filters,omitempty"`
}

// StepFilter narrows a step by a column or by property.<key>.
type StepFilter struct {
	Property string `json:"property"`
	Op       string `json:"op"`
	Value    any    `json:"value,omitempty"`
}

// filtered reports whether any step reads more than kind and match, which makes the results a filtered read.
func (f *Funnel) filtered() bool {
	return slices.ContainsFunc(f.Steps, func(step Step) bool { return len(step.Filters) > 0 })
}

// FunnelSteps is the rows of …/funnels/{id}/results. Attempts begin in the window; their other steps may be after it.
// Every person counts with the deepest attempt.
func (d *Data) FunnelSteps(q Query, w Window, f *Funnel) (steps []any, capped bool) {
	if f.filtered() {
		w, capped = w.Capped(map[string]string{"": ""})
	}
	q.From, q.To = w.From, w.To.Add(f.window()+time.Millisecond)
	people, persons := map[Visitor][]*Row{}, d.identities(q.Environment)
	for _, row := range d.selected(&q) {
		people[persons.of(row)] = append(people[persons.of(row)], row)
	}
	reached := make([]int, len(f.Steps)+1)
	for _, rows := range people {
		slices.SortFunc(rows, newer)
		slices.Reverse(rows)
		for depth := range deepest(rows, w.To, f) {
			reached[depth]++
		}
	}
	out := []any{}
	for i := range f.Steps {
		entered, converted := reached[i], reached[i]
		if i+1 < len(f.Steps) {
			converted = reached[i+1]
		}
		rate := 0.0
		if entered > 0 {
			rate = float64(converted) / float64(entered)
		}
		out = append(out, map[string]any{
			"step": float64(i + 1), "entered": float64(entered), "converted": float64(converted),
			"conversionRate": rate, "dropOff": float64(entered - converted),
		})
	}
	return out, capped
}

func (f *Funnel) window() time.Duration { return time.Duration(f.WindowHours) * time.Hour }

// deepest returns the number of steps of a person's best attempt. It tries every beginning.
func deepest(rows []*Row, end time.Time, f *Funnel) int {
	best := 0
	for i, begin := range rows {
		if !begin.Ts.Before(end) || !f.Steps[0].matches(begin) {
			continue
		}
		depth := 1
		for _, row := range rows[i+1:] {
			if depth < len(f.Steps) && row.Ts.Sub(begin.Ts) <= f.window() && f.Steps[depth].matches(row) {
				depth++
			}
		}
		best = max(best, depth)
	}
	return best
}

func (s *Step) matches(row *Row) bool {
	if !matchesWord(row, s.Kind, s.Match) {
		return false
	}
	for i := range s.Filters {
		if !s.Filters[i].holds(row) {
			return false
		}
	}
	return true
}

// holds evaluates a filter. If the row has no such value, only the negations hold. A numeric text counts as a number.
func (f *StepFilter) holds(row *Row) bool {
	got, known := f.of(row)
	switch f.Op {
	case "exists":
		return known
	case "neq":
		return !known || text(got) != text(f.Value)
	case "not_contains":
		return !known || !strings.Contains(text(got), text(f.Value))
	case "eq":
		return known && text(got) == text(f.Value)
	case "contains":
		return known && strings.Contains(text(got), text(f.Value))
	case "in":
		return known && slices.ContainsFunc(f.Value.([]any), func(one any) bool { return text(one) == text(got) })
	}
	number, err := strconv.ParseFloat(text(got), 64)
	if !known || err != nil {
		return false
	}
	order := cmp.Compare(number, f.Value.(float64))
	return map[string]bool{"gt": order > 0, "gte": order >= 0, "lt": order < 0, "lte": order <= 0}[f.Op]
}

func (f *StepFilter) of(row *Row) (value any, known bool) {
	if key, isProperty := strings.CutPrefix(f.Property, "property."); isProperty {
		value, known = row.Properties[key]
		return value, known && value != nil
	}
	if f.Property == "value" {
		if row.Value == nil {
			return nil, false
		}
		return *row.Value, true
	}
	word := row.Dimension(f.Property)
	return word, word != ""
}

// text returns a value as a person writes it.
func text(value any) string { return fmt.Sprint(value) }
