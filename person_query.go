package svc

import "time"

// PersonKey is a person's place in a list: when they were first seen, in milliseconds since the epoch,
// and their number.
type PersonKey struct {
	BeganMs int64
	Number  uint64
}

// PersonQuery asks for a page of the people of an environment, those first seen last before others.
type PersonQuery struct {
	Environment Environment
	// Search is looked for in the distinct ids, the e-mail address, the name and the company, in any
	// case. SearchMasked looks only where a caller without people.pii.read sees more than
	// asterisks.
	Search       string
	SearchMasked bool
	// Stage and Tags keep the people who are in the stage and have all the tags; empty keeps all.
	Stage LifecycleStage
	Tags  []string
	// Segment keeps the people who are in it at Now; nil keeps all.
	Segment *Segment
	// Persons keeps the people of these numbers; nil keeps all.
	Persons []uint64
	Now     time.Time
	After   *PersonKey
	Limit   int
}

// PersonList is a page of people.
type PersonList struct {
	Rows []Person
	// Keys are the places of the rows, and of rows that are gone since the page was made.
	Last PersonKey
	More bool
}
