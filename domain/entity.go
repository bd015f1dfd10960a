package domain

import "time"

// Entity is one stored object of an actor. Its owner is the actor's kind and identity; the highest version of an
// (owner, kind, id) is the present one.
type Entity struct {
	Owner   string
	Kind    string
	ID      string
	Version Version
	Deleted bool
	// Payload is the entity as JSON.
	Payload []byte
}

// Version orders the writes of one owner. Writes of a later generation of the owner's partition supersede all writes of
// an earlier one.
type Version struct {
	Generation uint32
	Sequence   uint32
}

// Next returns the version of the following write, made in a generation. Versions never decrease, even if the count of
// generations was reset.
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

// Wakeup is a stored request to call an actor at a time.
type Wakeup struct {
	Kind     string
	Identity string
	// Name distinguishes the wake-ups of one actor; a later one with the same name replaces it.
	Name string
	Due  time.Time
}

// AuditRow records one management write: the author, the change, and the request.
type AuditRow struct {
	At time.Time `json:"at"`
	// ID distinguishes rows of the same instant; the store assigns it if it is empty.
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

// AuditQuery selects audit entries, the newest first; an empty field selects all.
type AuditQuery struct {
	Org, App, Operation, UserID, TokenID string
	// Since and Until limit the time of the rows.
	Since, Until *time.Time
	// Before and BeforeID are the position of the last row of the previous page.
	Before   *time.Time
	BeforeID string
	Limit    int
}
