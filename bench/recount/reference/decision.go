package reference

import (
	"maps"
	"slices"
)

// Decision is a member's decision about the person of a visitor. Decisions are stored in the order in which they were
// made.
type Decision struct {
	Place

	// Stage is set if Staged is; the empty stage lets the rules decide again.
	Stage  string
	Staged bool
	// Tags maps the tags to whether they are added or removed.
	Tags map[string]bool
}

// Activity is a member's action in a timeline.
type Activity struct {
	Place

	Title string
}

// State is the result of the decisions about a person.
type State struct {
	stage string
	tags  map[string]bool
}

// apply adds a decision that is later than the others.
func (s *State) apply(decision *Decision) {
	if decision.Staged {
		s.stage = decision.Stage
	}
	if s.tags == nil {
		s.tags = map[string]bool{}
	}
	maps.Copy(s.tags, decision.Tags)
}

// list returns the present tags, sorted.
func (s *State) list() (tags []string) {
	for tag, on := range s.tags {
		if on {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
