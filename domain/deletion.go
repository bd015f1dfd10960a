package domain

import "time"

// Deletion is a deleted application or organization that may still have stored data. From its beginning on, its keys
// and tokens are refused and its data is hidden.
type Deletion struct {
	// App names the application. For a deleted organization, only Org is set.
	App AppRef
	// AppID and Environments identify the stored data of an application.
	AppID        string
	Environments []uint64
	At           time.Time
	// Passes counts the passes that removed everything stored.
	Passes int
}

// DeletionPasses is the number of passes that remove the stored data. The first runs at once, the second after
// everything accepted before is stored, and the third for late arrivals.
const DeletionPasses = 3

// DeletionBound is the time after a deletion within which everything is removed, except from the log and backups.
const DeletionBound = 24 * time.Hour

// Due returns when the next pass begins. settle is the time after the deletion until everything accepted before it is
// stored.
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
	// Owner is the kind of the actor and its identity, separated by a slash.
	Owner string
	// Entities are pairs of a kind and an id.
	Entities [][2]string
	Wakeups  []string
}
