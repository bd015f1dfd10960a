package goal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// Limits of goals and funnels.
const (
	MaxGoals      = 200 // per application
	MaxMatchBytes = 500
)

// MatchKind is the part of an event that a goal or a funnel's step compares (contract 44).
type MatchKind string

// The kinds.
const (
	MatchPath  MatchKind = "path"
	MatchEvent MatchKind = "event"
)

// MatchKinds lists both kinds.
func MatchKinds() []MatchKind { return []MatchKind{MatchPath, MatchEvent} }

// Matcher is the condition of a goal or of a funnel's step. An event matches if its name is Match, or, for MatchPath,
// if it is a page view of the path Match. A path that ends with * stands for all paths with the same beginning.
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
	return event.IsPageview(name) && (path == m.Match && !open || open && strings.HasPrefix(path, prefix))
}

// Prefix returns the beginning of the matching paths, and whether they may have any ending.
func (m Matcher) Prefix() (prefix string, open bool) {
	if m.Kind != MatchPath {
		return m.Match, false
	}
	return strings.CutSuffix(m.Match, "*")
}

// ValidateIn returns every problem; prefix precedes the names of fields.
func (m Matcher) ValidateIn(prefix string) []domain.FieldError {
	var problems []domain.FieldError
	if !slices.Contains(MatchKinds(), m.Kind) {
		problems = append(problems, domain.FieldError{
			Field: prefix + "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", m.Kind), Allowed: domain.Texts(MatchKinds()),
		})
	}
	star := strings.Index(m.Match, "*")
	switch {
	case m.Kind == MatchPath && star >= 0 && star < len(m.Match)-1:
		problems = append(problems, domain.FieldError{Field: prefix + "match", Code: "invalid_value", Message: "A path may have a * at its end only, where it stands for any end."})
	case m.Match == "":
		problems = append(problems, domain.FieldError{Field: prefix + "match", Code: "required", Message: "The match must not be empty."})
	case len(m.Match) > MaxMatchBytes:
		problems = append(problems, domain.FieldError{Field: prefix + "match", Code: "too_long", Message: fmt.Sprintf("The match is longer than %d bytes.", MaxMatchBytes)})
	}
	return problems
}

// Spec describes a new goal.
type Spec struct {
	Name string `json:"name" required:"true" doc:"The name that people read."`
	Matcher
	Value float64 `json:"value" doc:"The monetary value of one conversion; 0 where it is absent."`
}

// Validate returns every problem of the specification, none if it is valid.
func (s Spec) Validate() []domain.FieldError {
	problems := append(domain.ValidateName(s.Name), s.ValidateIn("")...)
	if s.Value < 0 || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		problems = append(problems, domain.FieldError{Field: "value", Code: "out_of_range", Message: "The value must be a number of 0 or more."})
	}
	return problems
}

// Goal is an action that visitors of an application should take. It counts stored events of any time, also of the time
// before it was created.
type Goal struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Matcher
	Value     float64   `json:"value"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// DeletedAt is set on a deleted goal. Earlier conversions still count in results, under the id alone.
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
}

// NewGoal builds the goal of a valid specification.
func NewGoal(spec Spec, id string, now time.Time) Goal {
	return Goal{ID: id, Name: strings.TrimSpace(spec.Name), Matcher: spec.Matcher, Value: spec.Value, CreatedAt: now, UpdatedAt: now}
}

// Patch holds the fields of a goal to change; nil fields are unchanged.
type Patch struct {
	Name  *string    `json:"name" doc:"The name that people read."`
	Kind  *MatchKind `json:"kind" enum:"path,event"`
	Match *string    `json:"match" doc:"The name of an event, or a path; a path may end with *, which stands for any end."`
	Value *float64   `json:"value" doc:"The monetary value of one conversion."`
}

// Apply returns the specification of a goal with the patch applied.
func (p Patch) Apply(g *Goal) Spec {
	spec := Spec{Name: g.Name, Matcher: g.Matcher, Value: g.Value}
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

// Validate returns every problem of the fields that the patch has; it must have one.
func (p Patch) Validate() []domain.FieldError {
	if p == (Patch{}) {
		return []domain.FieldError{{Field: "", Code: "empty_body", Message: "The body names nothing to change."}}
	}
	good := Goal{Name: "goal", Matcher: Matcher{Kind: MatchEvent, Match: "event"}}
	return p.Apply(&good).Validate()
}

// ChangeGoal returns the goal of an id with a patch applied. It fails with not_found if the goal is missing or deleted,
// and with invalid_request if the result is invalid or another goal has its kind and match. Results count stored events
// by the present definition of the goal.
func ChangeGoal(goals []Goal, id string, patch Patch, now time.Time) (Goal, error) {
	live := LiveGoals(goals)
	at := slices.IndexFunc(live, func(goal Goal) bool { return goal.ID == id })
	if at < 0 {
		return Goal{}, domain.NotFound("goal")
	}
	changed := live[at]
	spec := patch.Apply(&changed)
	if problems := spec.Validate(); len(problems) > 0 {
		return Goal{}, domain.Invalid(problems...)
	}
	if err := checkMatcherFree(slices.Delete(live, at, at+1), spec.Matcher); err != nil {
		return Goal{}, err
	}
	changed.Name, changed.Matcher, changed.Value, changed.UpdatedAt = strings.TrimSpace(spec.Name), spec.Matcher, spec.Value, now
	return changed, nil
}

// checkMatcherFree fails if a goal already has a kind and match.
func checkMatcherFree(live []Goal, matcher Matcher) error {
	for _, goal := range live {
		if goal.Matcher == matcher {
			return domain.Invalid(domain.FieldError{
				Field: "match", Code: "duplicate_goal",
				Message: fmt.Sprintf("The goal %q (%s) has the kind %s and the match %q already.", goal.Name, goal.ID, goal.Kind, goal.Match),
			})
		}
	}
	return nil
}

// CheckNewGoal returns the reason why a specification cannot join the goals of an application, which include deleted
// ones: its pair of kind and match is taken (400), or there are already MaxGoals (409).
func CheckNewGoal(goals []Goal, spec Spec) error {
	live := LiveGoals(goals)
	if err := checkMatcherFree(live, spec.Matcher); err != nil {
		return err
	}
	if len(live) >= MaxGoals {
		return &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d goals already; delete one first.", MaxGoals)}
	}
	return nil
}

// LiveGoals returns the goals that are not deleted.
func LiveGoals(goals []Goal) []Goal {
	return slices.DeleteFunc(slices.Clone(goals), func(goal Goal) bool { return goal.DeletedAt != nil })
}

// Matchers returns the conditions of the goals that are not deleted: an event that meets any of them is a conversion.
func Matchers(goals []Goal) []Matcher {
	live := LiveGoals(goals)
	out := make([]Matcher, len(live))
	for i, goal := range live {
		out[i] = goal.Matcher
	}
	return out
}

// Count is the count of one goal in a window.
type Count struct {
	Goal Goal
	// Conversions counts events, Visitors the distinct visitors of each local day, summed.
	Conversions uint64
	Visitors    uint64
}

// Counts holds the counts of all goals in a window.
type Counts struct {
	Rows   []Count
	Capped bool
}

// RankGoals orders rows by conversions, the oldest goal first if they are equal, and leaves out deleted goals without
// conversions.
func RankGoals(rows []Count) []Count {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row Count) bool { return row.Goal.DeletedAt != nil && row.Conversions == 0 })
	slices.SortFunc(rows, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Conversions, a.Conversions), strings.Compare(a.Goal.ID, b.Goal.ID))
	})
	return rows
}
