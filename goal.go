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

// Matches reports whether an event of a name and path matches.
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

// Goal is something that visitors of an application should do. It counts stored
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

// GoalPatch says what of a goal changes; nil leaves a member as it is.
type GoalPatch struct {
	Name  *string    `json:"name" doc:"The name that people read."`
	Kind  *MatchKind `json:"kind" enum:"path,event"`
	Match *string    `json:"match" doc:"The name of an event, or a path; a path may end with *, which stands for any end."`
	Value *float64   `json:"value" doc:"The monetary value of one conversion."`
}

// Apply returns the specification of a goal with the patch's members in place.
func (p GoalPatch) Apply(g *Goal) GoalSpec {
	spec := GoalSpec{Name: g.Name, Matcher: g.Matcher, Value: g.Value}
	if p.Name != nil {
		spec.Name = *p.Name
	}
	if p.Kind != nil {
		spec.Kind = *p.Kind
	}
	if p.Match != nil {
		spec.Match = *p.Match
	}
	if p.Value != nil {
		spec.Value = *p.Value
	}
	return spec
}

// Validate returns every problem of the members that the patch has; it must have one.
func (p GoalPatch) Validate() []FieldError {
	if p == (GoalPatch{}) {
		return []FieldError{{Field: "", Code: "empty_body", Message: "The body names nothing to change."}}
	}
	good := Goal{Name: "goal", Matcher: Matcher{Kind: MatchEvent, Match: "event"}}
	return p.Apply(&good).Validate()
}

// ChangeGoal returns the goal of an id with a patch applied. It fails with not_found where there is no
// such goal or it is deleted, and with invalid_request where the whole is no valid goal, or
// another goal has its kind and match. Results count stored events by what the goal is now.
func ChangeGoal(goals []Goal, id string, patch GoalPatch, now time.Time) (Goal, error) {
	live := LiveGoals(goals)
	at := slices.IndexFunc(live, func(goal Goal) bool { return goal.ID == id })
	if at < 0 {
		return Goal{}, NotFound("goal")
	}
	changed := live[at]
	spec := patch.Apply(&changed)
	if problems := spec.Validate(); len(problems) > 0 {
		return Goal{}, Invalid(problems...)
	}
	if err := checkMatcherFree(slices.Delete(live, at, at+1), spec.Matcher); err != nil {
		return Goal{}, err
	}
	changed.Name, changed.Matcher, changed.Value, changed.UpdatedAt = strings.TrimSpace(spec.Name), spec.Matcher, spec.Value, now
	return changed, nil
}

// checkMatcherFree fails where a goal has a kind and match already.
func checkMatcherFree(live []Goal, matcher Matcher) error {
	for _, goal := range live {
		if goal.Matcher == matcher {
			return Invalid(FieldError{
				Field: "match", Code: "duplicate_goal",
				Message: fmt.Sprintf("The goal %q (%s) has the kind %s and the match %q already.", goal.Name, goal.ID, goal.Kind, goal.Match),
			})
		}
	}
	return nil
}

// CheckNewGoal returns why a specification cannot join the goals of an application,
// deleted ones among them: its pair of kind and match is taken (400), or there are
// MaxGoals already (409).
func CheckNewGoal(goals []Goal, spec GoalSpec) error {
	live := LiveGoals(goals)
	if err := checkMatcherFree(live, spec.Matcher); err != nil {
		return err
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
