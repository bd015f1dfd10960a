package person

import (
	"time"

	"svc/domain"
	"svc/domain/segment"
)

// Key is a person's place in a list: when they were first seen, in milliseconds since the epoch, and their
// number.
type Key struct {
	BeganMs int64
	Number  uint64
}

// Query selects a page of the people of an environment, ordered by when they were first seen, the latest first.
type Query struct {
	Environment domain.Environment
	// Search is matched against the distinct ids, the e-mail address, the name and the company, ignoring case.
	// SearchMasked searches only the fields that a caller without people.pii.read sees unmasked.
	Search       string
	SearchMasked bool
	// Stage and Tags select the people that are in the stage and have all the tags; empty selects all.
	Stage segment.LifecycleStage
	Tags  []string
	// Segment selects the people that are in it at Now; nil selects all.
	Segment *segment.Segment
	// Persons selects the people with these numbers; nil selects all.
	Persons []uint64
	Now     time.Time
	After   *Key
	Limit   int
}

// List is a page of people.
type List struct {
	Rows []Person
	// Last is the place of the last row, even if that row is gone since the page was read.
	Last Key
	More bool
}
