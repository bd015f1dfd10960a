package analytics

import (
	"cmp"
	"slices"
	"strings"

	"svc/domain/goal"
)

// JourneyDirection selects the steps after a page or event, or the steps before it.
type JourneyDirection string

// The directions.
const (
	JourneyFrom JourneyDirection = "from"
	JourneyTo   JourneyDirection = "to"
)

// Limits of journeys.
const (
	DefaultJourneySteps = 3
	MaxJourneySteps     = 6
	DefaultJourneyRows  = 8
	MaxJourneyRows      = 25
	// JourneySessions is the number of newest sessions that are read.
	JourneySessions = 100_000
)

// JourneyQuery selects the pages that people saw next, or before, within their visit.
type JourneyQuery struct {
	Scope
	Direction JourneyDirection
	// Start is the page or event at which the journeys begin or end.
	Start goal.Matcher
	// Steps is the number of steps to follow, Rows the number of distinct values shown per step.
	Steps, Rows int
}

// JourneyLink is the number of sessions that went from a value of one step to one of the next. Step counts from 1; the
// value of step 0 is the start. An empty To is the end of the visit, or its beginning if journeys lead to the start.
// Other stands for all values that are not shown separately.
type JourneyLink struct {
	Step       int
	Value, To  string
	Other, End bool
	FromOther  bool
	Sessions   uint64
}

// Journeys are the paths of visits.
type Journeys struct {
	// Sessions is the number of visits, among the ones read, that met the start.
	Sessions uint64
	Links    []JourneyLink
	Capped   bool
}

// FoldJourneys retains the most frequent values of each step and combines the others. A link is folded by its target.
// It begins at Other if its own value was folded in the previous step.
func FoldJourneys(links []JourneyLink, rows int) []JourneyLink {
	type place struct {
		step  int
		value string
	}
	reached := map[place]uint64{}
	for _, link := range links {
		if !link.End {
			reached[place{step: link.Step, value: link.To}] += link.Sessions
		}
	}
	kept := map[place]bool{}
	ofStep := map[int][]place{}
	for at := range reached {
		ofStep[at.step] = append(ofStep[at.step], at)
	}
	for _, places := range ofStep {
		slices.SortFunc(places, func(a, b place) int {
			return cmp.Or(cmp.Compare(reached[b], reached[a]), strings.Compare(a.value, b.value))
		})
		for _, at := range places[:min(rows, len(places))] {
			kept[at] = true
		}
	}
	sums := map[JourneyLink]uint64{}
	for _, link := range links {
		folded := link
		folded.Sessions = 0
		if link.Step > 1 && !kept[place{step: link.Step - 1, value: link.Value}] {
			folded.Value, folded.FromOther = "", true
		}
		if !link.End && !kept[place{step: link.Step, value: link.To}] {
			folded.To, folded.Other = "", true
		}
		sums[folded] += link.Sessions
	}
	out := make([]JourneyLink, 0, len(sums))
	for link, sessions := range sums {
		link.Sessions = sessions
		out = append(out, link)
	}
	slices.SortFunc(out, func(a, b JourneyLink) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(b.Sessions, a.Sessions), strings.Compare(a.Value, b.Value), strings.Compare(a.To, b.To),
			compareFlags(a.FromOther, b.FromOther), compareFlags(a.Other, b.Other))
	})
	return out
}

// compareFlags orders false before true.
func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
