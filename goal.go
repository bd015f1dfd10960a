package svc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Bounds of goals and funnels.
const (
	MaxGoals      = 200 // of an application
	MaxMatchBytes = 500
)

// MatchKind says what of an event a goal or a funnel's step looks at (contract 44).
type MatchKind string

// The kinds.
const (
	MatchPath  MatchKind = "path"
	MatchEvent MatchKind = "event"
)

// MatchKinds lists both kinds.
func MatchKinds() []MatchKind { return []MatchKind{MatchPath, MatchEvent} }

// Matcher is the condition of a goal or of a funnel's step. An event matches where
// its name is Match, or, for MatchPath, where it is a page view of the path Match;
// a path that ends with * stands for all paths that begin like it.
type Matcher struct {
	Kind  MatchKind `json:"kind" required:"true" enum:"path,event"`
	Match string    `json:"match" required:"true" doc:"The name of an event, or a path; a path may end with *, which stands for any end."`
}

// Matches says whether an event of a name and path matches.
func (m Matcher) Matches(name, path string) bool {
	if m.Kind == MatchEvent {
		return name == m.Match
	}
	prefix, open := m.Prefix()
	return IsPageview(name) && (path == m.Match && !open || open && strings.HasPrefix(path, prefix))
}

// Prefix returns how the paths begin that match, and whether they may end in any way.
func (m Matcher) Prefix() (prefix string, open bool) {
	if m.Kind != MatchPath {
		return m.Match, false
	}
	return strings.CutSuffix(m.Match, "*")
}

// validate returns every problem; prefix precedes the names of fields.
func (m Matcher) validate(prefix string) []FieldError {
	var problems []FieldError
	if !slices.Contains(MatchKinds(), m.Kind) {
		problems = append(problems, FieldError{
			Field: prefix + "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", m.Kind), Allowed: words(MatchKinds()),
		})
	}
	star := strings.Index(m.Match, "*")
	switch {
	case m.Kind == MatchPath && star >= 0 && star < len(m.Match)-1:
		problems = append(problems, FieldError{Field: prefix + "match", Code: "invalid_value", Message: "A path may have a * at its end only, where it stands for any end."})
	case m.Match == "":
		problems = append(problems, FieldError{Field: prefix + "match", Code: "required", Message: "The match must not be empty."})
	case len(m.Match) > MaxMatchBytes:
		problems = append(problems, FieldError{Field: prefix + "match", Code: "too_long", Message: fmt.Sprintf("The match is longer than %d bytes.", MaxMatchBytes)})
	}
	return problems
}

// GoalSpec describes a new goal.
type GoalSpec struct {
	Name string `json:"name" required:"true" doc:"The name that people read."`
	Matcher
	Value float64 `json:"value" doc:"The monetary value of one conversion; 0 where it is absent."`
}

// Validate returns every problem of the specification, none for a good one.
func (s GoalSpec) Validate() []FieldError {
	problems := append(validateName(s.Name), s.validate("")...)
	if s.Value < 0 || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		problems = append(problems, FieldError{Field: "value", Code: "out_of_range", Message: "The value must be a number of 0 or more."})
	}
	return problems
}

// Goal is something that visitors of an application shall do. It counts stored
// events of any time, also of those before it was made.
type Goal struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Matcher
	Value     float64   `json:"value"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// DeletedAt is set on a goal that was deleted. What was converted before still
	// counts in results, under the id alone.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}

// NewGoal builds a valid specification's goal.
func NewGoal(spec GoalSpec, id string, now time.Time) Goal {
	return Goal{ID: id, Name: strings.TrimSpace(spec.Name), Matcher: spec.Matcher, Value: spec.Value, CreatedAt: now, UpdatedAt: now}
}

// CheckNewGoal returns why a specification cannot join the goals of an application,
// deleted ones among them: its pair of kind and match is taken (400), or there are
// MaxGoals already (409).
func CheckNewGoal(goals []Goal, spec GoalSpec) error {
	live := LiveGoals(goals)
	for _, goal := range live {
		if goal.Matcher == spec.Matcher {
			return Invalid(FieldError{
				Field: "match", Code: "duplicate_goal",
				Message: fmt.Sprintf("The goal %q (%s) has the kind %s and the match %q already.", goal.Name, goal.ID, goal.Kind, goal.Match),
			})
		}
	}
	if len(live) >= MaxGoals {
		return &Error{Code: CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d goals already; delete one first.", MaxGoals)}
	}
	return nil
}

// LiveGoals returns the goals that were not deleted.
func LiveGoals(goals []Goal) []Goal {
	return slices.DeleteFunc(slices.Clone(goals), func(goal Goal) bool { return goal.DeletedAt != nil })
}

// Matchers returns the conditions of the goals that were not deleted: an event that
// meets any of them is a conversion.
func Matchers(goals []Goal) []Matcher {
	live := LiveGoals(goals)
	out := make([]Matcher, len(live))
	for i, goal := range live {
		out[i] = goal.Matcher
	}
	return out
}

// GoalCount is the count of one goal in a window.
type GoalCount struct {
	Goal Goal
	// Conversions counts events, Visitors the distinct visitors of each local day,
	// summed.
	Conversions uint64
	Visitors    uint64
}

// GoalCounts is the answer to how often each goal was reached.
type GoalCounts struct {
	Rows   []GoalCount
	Capped bool
}

// RankGoals orders rows by conversions, the oldest goal first where they are equal,
// and leaves out goals that were deleted and have none.
func RankGoals(rows []GoalCount) []GoalCount {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row GoalCount) bool { return row.Goal.DeletedAt != nil && row.Conversions == 0 })
	slices.SortFunc(rows, func(a, b GoalCount) int {
		return cmp.Or(cmp.Compare(b.Conversions, a.Conversions), strings.Compare(a.Goal.ID, b.Goal.ID))
	})
	return rows
}
