package svc

import "time"

// Entity is one stored thing of an actor. Its owner is the actor's kind and
// identity; the highest version of an (owner, kind, id) is the present one.
type Entity struct {
	Owner   string
	Kind    string
	ID      string
	Version Version
	Deleted bool
	// Payload is the entity as JSON.
	Payload []byte
}

// Version orders the writes of one owner. A later generation of the ownership
// of the owner's partition wins over any write of an earlier one.
type Version struct {
	Generation uint32
	Sequence   uint32
}

// Next returns the version of the write that follows, made in a generation.
// Versions never go back, even if the count of generations started over.
func (v Version) Next(generation uint32) Version {
	if generation > v.Generation {
		return Version{Generation: generation, Sequence: v.Sequence + 1}
	}
	return Version{Generation: v.Generation, Sequence: v.Sequence + 1}
}

// Number returns the version as one ordered number.
func (v Version) Number() uint64 { return uint64(v.Generation)<<32 | uint64(v.Sequence) }

// VersionOf is the inverse of Number.
func VersionOf(number uint64) Version {
	return Version{Generation: uint32(number >> 32), Sequence: uint32(number)}
}

// Wakeup is a stored request of an actor to be called at a time.
type Wakeup struct {
	Kind     string
	Identity string
	// Name distinguishes the wake-ups of one actor; a later one of the same name replaces it.
	Name string
	Due  time.Time
}

// AuditRow records one management write: who, what, and the request.
type AuditRow struct {
	At time.Time `json:"at"`
	// ID distinguishes rows of one instant; the store assigns it where it is empty.
	ID        string    `json:"id,omitempty"`
	Org       string    `json:"org"`
	App       string    `json:"app"`
	RequestID string    `json:"requestId"`
	Operation string    `json:"operation"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"`
	TokenID   string    `json:"tokenId"`
	TokenKind TokenKind `json:"tokenKind"`
	UserID    string    `json:"userId"`
	Detail    string    `json:"detail"`
}

// AuditQuery asks for audit rows, the newest first; what is empty asks for all.
type AuditQuery struct {
	Org, App, Operation, UserID, TokenID string
	// Since and Until bound the time of the rows.
	Since, Until *time.Time
	// Before and BeforeID are the place of the last row of the page before.
	Before   *time.Time
	BeforeID string
	Limit    int
}
