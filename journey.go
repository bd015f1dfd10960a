package svc

import (
	"cmp"
	"slices"
	"strings"
)

// JourneyDirection says whether the steps after a page or event are asked for, or those before it.
type JourneyDirection string

// The directions.
const (
	JourneyFrom JourneyDirection = "from"
	JourneyTo   JourneyDirection = "to"
)

// Bounds of journeys.
const (
	DefaultJourneySteps = 3
	MaxJourneySteps     = 6
	DefaultJourneyRows  = 8
	MaxJourneyRows      = 25
	// JourneySessions is how many of the newest sessions are looked at.
	JourneySessions = 100_000
)

// JourneyQuery asks which pages people saw next, or before, within their visit.
type JourneyQuery struct {
	AnalyticsScope
	Direction JourneyDirection
	// Start is the page or event at which the journeys begin or end.
	Start Matcher
	// Steps is how far to look, Rows how many values of each step are told apart.
	Steps, Rows int
}

// JourneyLink says how many sessions went from a value of one step to one of the next. Step counts from 1; the
// value of step 0 is the start. An empty To is the end of the visit, or its beginning where journeys lead to the
// start; Other stands for all values that are not told apart.
type JourneyLink struct {
	Step       int
	Value, To  string
	Other, End bool
	FromOther  bool
	Sessions   uint64
}

// Journeys are the ways of visits.
type Journeys struct {
	// Sessions is how many visits met the start, of those that were looked at.
	Sessions uint64
	Links    []JourneyLink
	Capped   bool
}

// FoldJourneys keeps the most frequent values of each step and puts the others together. A link is folded by
// where it leads, and begins at Other where its own value was folded in the step before.
func FoldJourneys(links []JourneyLink, rows int) []JourneyLink {
	type place struct {
		step  int
		value string
	}
	reached := map[place]uint64{}
	for _, link := range links {
		if !link.End {
			reached[place{link.Step, link.To}] += link.Sessions
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
		if link.Step > 1 && !kept[place{link.Step - 1, link.Value}] {
			folded.Value, folded.FromOther = "", true
		}
		if !link.End && !kept[place{link.Step, link.To}] {
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
