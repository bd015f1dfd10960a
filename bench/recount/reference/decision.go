package reference

import (
	"maps"
	"slices"
)

// Decision is what a member decided about the person of a visitor, in the order in which members did.
type Decision struct {
	Place

	// Stage is set where Staged says so; the empty one has the rules decide again.
	Stage  string
	Staged bool
	// Tags says which tags are put on and taken off.
	Tags map[string]bool
}

// Activity is what a timeline says that a member did.
type Activity struct {
	Place

	Title string
}

// State is what the decisions about a person come to.
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

// list are the tags that are on, sorted.
func (s *State) list() (tags []string) {
	for tag, on := range s.tags {
		if on {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
