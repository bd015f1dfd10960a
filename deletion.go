package svc

import "time"

// Deletion is an application or an organization that was deleted and of which something may still be stored. From
// its beginning on nothing accepts the keys and tokens or shows the data.
type Deletion struct {
	// App names the application. Of a deleted organization, only Org is set.
	App AppRef
	// AppID and Environments name what is stored of an application.
	AppID        string
	Environments []uint64
	At           time.Time
	// Passes counts how often everything stored was removed.
	Passes int
}

// DeletionPasses is how often what is stored of a deletion is removed: at once, once what was accepted before is
// stored, and once more for what arrived later still.
const DeletionPasses = 3

// DeletionBound is how long after a deletion everything is removed, except for what the log and backups keep.
const DeletionBound = 24 * time.Hour

// Due returns when the next pass begins; settle is how long after the deletion everything accepted before it
// is stored.
func (d *Deletion) Due(settle time.Duration) time.Time {
	switch d.Passes {
	case 0:
		return d.At
	case 1:
		return d.At.Add(settle)
	default:
		return d.At.Add(10 * settle)
	}
}

// Owned holds the entities of one actor.
type Owned struct {
	// Owner is the kind of the actor and its identity, with a slash between them.
	Owner string
	// Entities are pairs of a kind and an id.
	Entities [][2]string
	Wakeups  []string
}
