package svc

import "time"

// PersonKey is a person's place in a list: when they were first seen, in milliseconds since the epoch, and their
// number.
type PersonKey struct {
	BeganMs int64
	Number  uint64
}

// PersonQuery selects a page of the people of an environment, ordered by when they were first seen, the latest first.
type PersonQuery struct {
	Environment Environment
	// Search is matched against the distinct ids, the e-mail address, the name and the company, ignoring case.
	// SearchMasked searches only the fields that a caller without people.pii.read sees unmasked.
	Search       string
	SearchMasked bool
	// Stage and Tags select the people that are in the stage and have all the tags; empty selects all.
	Stage LifecycleStage
	Tags  []string
	// Segment selects the people that are in it at Now; nil selects all.
	Segment *Segment
	// Persons selects the people with these numbers; nil selects all.
	Persons []uint64
	Now     time.Time
	After   *PersonKey
	Limit   int
}

// PersonList is a page of people.
type PersonList struct {
	Rows []Person
	// Last is the place of the last row, even if that row is gone since the page was read.
	Last PersonKey
	More bool
}
