package svc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of segments.
const (
	MaxSegments          = 500 // per application
	MaxSegmentConditions = 50
	// MaxSegmentDepth limits the nesting of groups, including the definition itself.
	MaxSegmentDepth = 5
	// MaxSegmentMembers limits the people of a static segment.
	MaxSegmentMembers = 10_000
	// MaxSegmentDays is the longest window of within_days.
	MaxSegmentDays = 3650
	// SegmentPropertyDays is the number of past days of events that property conditions read.
	SegmentPropertyDays = FilteredDays
)

// SegmentKind is the way in which people are selected.
type SegmentKind string

// The kinds: a dynamic segment contains the people that meet its definition, a static one the people that it lists.
const (
	SegmentDynamic SegmentKind = "dynamic"
	SegmentStatic  SegmentKind = "static"
)

// SegmentKinds lists both kinds.
func SegmentKinds() []SegmentKind { return []SegmentKind{SegmentDynamic, SegmentStatic} }

// Values lists the kinds.
func (SegmentKind) Values() []SegmentKind { return SegmentKinds() }

// Segment is a set of people of an application. Its membership is evaluated at the time of a query, separately in each
// environment.
type Segment struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Kind SegmentKind `json:"kind"`
	// Definition is nil for a static segment.
	Definition *SegmentGroup `json:"definition,omitempty"`
	// Members are the visitor numbers of a static segment, one per person, ascending.
	Members   []uint64  `json:"members,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// SegmentSpec describes a segment.
type SegmentSpec struct {
	Name       string        `json:"name"`
	Kind       SegmentKind   `json:"kind"`
	Definition *SegmentGroup `json:"definition,omitempty"`
	Members    []uint64      `json:"members,omitempty"`
}

// Validate returns the problems of a specification with a definition that ParseSegmentDefinition has parsed.
func (s *SegmentSpec) Validate() []FieldError {
	problems := validateName(s.Name)
	switch s.Kind {
	case SegmentDynamic:
		if s.Definition == nil {
			problems = append(problems, FieldError{Field: "definition", Code: "invalid_definition", Message: "A dynamic segment has a definition."})
		}
		if len(s.Members) > 0 {
			problems = append(problems, FieldError{Field: "memberIds", Code: "invalid_value", Message: "Only a static segment names its members."})
		}
	case SegmentStatic:
		if s.Definition != nil {
			problems = append(problems, FieldError{Field: "definition", Code: "invalid_definition", Message: "A static segment has no definition."})
		}
		if len(s.Members) > MaxSegmentMembers {
			problems = append(problems, FieldError{Field: "memberIds", Code: "too_many", Message: fmt.Sprintf("A static segment names at most %d people.", MaxSegmentMembers)})
		}
	default:
		problems = append(problems, FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: words(SegmentKinds())})
	}
	return problems
}

// NewSegment builds the segment of a valid specification.
func NewSegment(spec SegmentSpec, id string, now time.Time) Segment {
	return Segment{ID: id, CreatedAt: now}.Replace(spec, now)
}

// Replace returns the segment with another specification.
func (s Segment) Replace(spec SegmentSpec, now time.Time) Segment {
	members := slices.Sorted(slices.Values(spec.Members))
	return Segment{
		ID: s.ID, Name: strings.TrimSpace(spec.Name), Kind: spec.Kind, Definition: spec.Definition,
		Members: slices.Compact(members), CreatedAt: s.CreatedAt, UpdatedAt: now,
	}
}

// Compare orders segments by their ids.
func (s Segment) Compare(other Segment) int { return cmp.Compare(s.ID, other.ID) }

// Personal reports whether the segment uses data that is masked for callers without people.pii.read.
func (s *Segment) Personal() bool { return s.Definition != nil && s.Definition.Personal() }

// UsesStages reports whether the definition uses the stage of a person.
func (s *Segment) UsesStages() (uses bool) {
	if s.Definition != nil {
		s.Definition.conditions(func(c *SegmentCondition) { uses = uses || c.Field == SegmentStage })
	}
	return uses
}

// Mask hides the personal values in the definition.
func (s *Segment) Mask() {
	if s.Definition != nil {
		masked := s.Definition.masked()
		s.Definition = &masked
	}
}

// SegmentUse is a flag or a campaign that depends on a segment.
type SegmentUse struct {
	Kind string // flag, campaign
	Name string // the flag's key, the campaign's name
	// Production says that it is in use in production.
	Production bool
}

// SegmentInUse is the error for the deletion of a segment that is in use.
func SegmentInUse(uses []SegmentUse) error {
	named := make([]string, len(uses))
	for i, use := range uses {
		named[i] = fmt.Sprintf("%s %q", use.Kind, use.Name)
	}
	slices.Sort(named)
	const shown = 5
	more := ""
	if len(named) > shown {
		more, named = fmt.Sprintf(" and %d more", len(named)-shown), named[:shown]
	}
	return &Error{Code: CodeConflict, Reason: "in_use", Message: "The segment is used by " + strings.Join(named, ", ") + more + "."}
}

// Has reports whether a static segment lists a visitor.
func (s *Segment) Has(visitor uint64) bool {
	_, found := slices.BinarySearch(s.Members, visitor)
	return found
}
