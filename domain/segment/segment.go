package segment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
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
	// PropertyDays is the number of past days of events that property conditions read.
	PropertyDays = domain.FilteredDays
)

// Kind is the way in which people are selected.
type Kind string

// The kinds: a dynamic segment contains the people that meet its definition, a static one the people that it lists.
const (
	Dynamic Kind = "dynamic"
	Static  Kind = "static"
)

// Kinds lists both kinds.
func Kinds() []Kind { return []Kind{Dynamic, Static} }

// Values lists the kinds.
func (Kind) Values() []Kind { return Kinds() }

// Segment is a set of people of an application. Its membership is evaluated at the time of a query, separately in each
// environment.
type Segment struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Definition is nil for a static segment.
	Definition *Group `json:"definition,omitempty"`
	// Members are the visitor numbers of a static segment, one per person, ascending.
	Members   []uint64  `json:"members,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Spec describes a segment.
type Spec struct {
	Name       string   `json:"name"`
	Kind       Kind     `json:"kind"`
	Definition *Group   `json:"definition,omitempty"`
	Members    []uint64 `json:"members,omitempty"`
}

// Validate returns the problems of a specification with a definition that ParseSegmentDefinition has parsed.
func (s *Spec) Validate() []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	switch s.Kind {
	case Dynamic:
		if s.Definition == nil {
			problems = append(problems, domain.FieldError{Field: "definition", Code: "invalid_definition", Message: "A dynamic segment has a definition."})
		}
		if len(s.Members) > 0 {
			problems = append(problems, domain.FieldError{Field: "memberIds", Code: "invalid_value", Message: "Only a static segment names its members."})
		}
	case Static:
		if s.Definition != nil {
			problems = append(problems, domain.FieldError{Field: "definition", Code: "invalid_definition", Message: "A static segment has no definition."})
		}
		if len(s.Members) > MaxSegmentMembers {
			problems = append(problems, domain.FieldError{Field: "memberIds", Code: "too_many", Message: fmt.Sprintf("A static segment names at most %d people.", MaxSegmentMembers)})
		}
	default:
		problems = append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(Kinds())})
	}
	return problems
}

// NewSegment builds the segment of a valid specification.
func NewSegment(spec Spec, id string, now time.Time) Segment {
	return Segment{ID: id, CreatedAt: now}.Replace(spec, now)
}

// Replace returns the segment with another specification.
func (s Segment) Replace(spec Spec, now time.Time) Segment {
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
		s.Definition.conditions(func(c *Condition) { uses = uses || c.Field == Stage })
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

// Use is a flag or a campaign that depends on a segment.
type Use struct {
	Kind string // flag, campaign
	Name string // the flag's key, the campaign's name
	// Production says that it is in use in production.
	Production bool
}

// InUse is the error for the deletion of a segment that is in use.
func InUse(uses []Use) error {
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
	return &domain.Error{Code: domain.CodeConflict, Reason: "in_use", Message: "The segment is used by " + strings.Join(named, ", ") + more + "."}
}

// Has reports whether a static segment lists a visitor.
func (s *Segment) Has(visitor uint64) bool {
	_, found := slices.BinarySearch(s.Members, visitor)
	return found
}
