package export

import (
	"slices"
	"strconv"
	"time"

	"svc/domain"
)

// Kind is the kind of rows in an export.
type Kind string

// The kinds.
const (
	Events Kind = "events"
	People Kind = "people"
)

// Values lists the kinds.
func (Kind) Values() []Kind { return []Kind{Events, People} }

// Format is the file format of an export.
type Format string

// The formats.
const (
	NDJSON  Format = "ndjson"
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// Values lists the formats.
func (Format) Values() []Format {
	return []Format{NDJSON, CSV, Parquet}
}

// Status is the progress of an export.
type Status string

// The statuses. A withdrawn export was ready when a person of its environment was erased. An expired one was ready for
// Kept.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Ready     Status = "ready"
	Failed    Status = "failed"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
)

// Values lists the statuses.
func (Status) Values() []Status {
	return []Status{Queued, Running, Ready, Failed, Expired, Withdrawn}
}

// Limits of exports.
const (
	// Kept is the retention of a ready file, Link the validity of a link to it.
	Kept = 24 * time.Hour
	Link = time.Hour
	// Listed is how long an export is listed after its file is gone.
	Listed = 7 * 24 * time.Hour
	// MaxOpenExports limits the waiting and running exports of an application, MaxReadyExports its files.
	MaxOpenExports  = 5
	MaxReadyExports = 20
	// MaxExportRows limits the rows of one export.
	MaxExportRows = 20_000_000
)

// Export is a request for a file of events or people, and its progress. Its rows are collected in pieces. Each piece is
// complete or absent, so a crash repeats at most one piece.
type Export struct {
	ID                string        `json:"id"`
	App               domain.AppRef `json:"app"`
	Environment       string        `json:"environment"`
	EnvironmentNumber uint64        `json:"environmentNumber"`
	Kind              Kind          `json:"kind"`
	Format            Format        `json:"format"`
	// From and To limit the times of events, and the times when people were seen; To is excluded.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Name selects the events of a name; empty selects all.
	Name string `json:"name,omitempty"`
	// Masked says that the requester may not see personal fields.
	Masked bool               `json:"masked,omitempty"`
	At     time.Time          `json:"at"`
	By     domain.LedgerActor `json:"by"`
	Status Status             `json:"status"`
	// Run counts the starts, Began is the time of the last one. A running export starts over if a person is erased.
	Run   uint32    `json:"run"`
	Began time.Time `json:"began"`
	// Cursor is where the next piece begins. Pieces are the numbers of the stored pieces, ascending.
	Cursor   string   `json:"cursor,omitempty"`
	Pieces   []uint64 `json:"pieces,omitempty"`
	Rows     uint64   `json:"rows"`
	Progress float64  `json:"progress"`
	// Problem says why it failed.
	Problem string     `json:"problem,omitempty"`
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// Open reports whether the export still collects rows.
func (e *Export) Open() bool { return e.Status == Queued || e.Status == Running }

// File names the stored data of the present run.
func (e *Export) File() string { return e.ID + "_" + strconv.FormatUint(uint64(e.Run), 10) }

// ExpiresAt returns when the file is removed; the zero time if there is no file.
func (e *Export) ExpiresAt() time.Time {
	if e.Status != Ready || e.EndedAt == nil {
		return time.Time{}
	}
	return e.EndedAt.Add(Kept)
}

// Piece describes the rows that one step of an export collected.
type Piece struct {
	ID  string
	Run uint32
	// Number identifies the stored rows; 0 if the step found none.
	Number uint64
	Rows   uint64
	// Cursor is where the next piece begins; it is empty with Done.
	Cursor   string
	Progress float64
	Done     bool
}

// Collect records a stored piece. It ignores a piece of an earlier run and returns false.
func (e *Export) Collect(piece Piece, now time.Time) bool {
	if !e.Open() || piece.Run != e.Run {
		return false
	}
	if piece.Number != 0 {
		e.Pieces = append(slices.Clip(e.Pieces), piece.Number)
	}
	e.Status, e.Cursor, e.Rows, e.Progress = Running, piece.Cursor, e.Rows+piece.Rows, max(e.Progress, min(piece.Progress, 1))
	switch {
	case piece.Done:
		e.Status, e.Cursor, e.Progress, e.EndedAt = Ready, "", 1, &now
	case e.Rows >= MaxExportRows:
		e.Fail("too_large", now)
	}
	return true
}

// Fail ends an export without a file.
func (e *Export) Fail(problem string, now time.Time) {
	e.Status, e.Problem, e.Cursor, e.Pieces, e.EndedAt = Failed, problem, "", nil, &now
}

// Withdraw removes the rows of an export because an erased person may be in them. An open export starts over; a ready
// file is gone. It returns the name of the stored data to remove, or "".
func (e *Export) Withdraw(now time.Time) (file string) {
	file = e.File()
	switch {
	case e.Open():
		e.Status, e.Run, e.Began, e.Cursor, e.Pieces, e.Rows, e.Progress = Queued, e.Run+1, now, "", nil, 0, 0
	case e.Status == Ready:
		e.Status, e.Pieces, e.EndedAt = Withdrawn, nil, &now
	default:
		return ""
	}
	return file
}

// Age ends a file after its retention, and reports whether it did.
func (e *Export) Age(now time.Time) bool {
	if e.Status != Ready || now.Before(e.ExpiresAt()) {
		return false
	}
	e.Status, e.Pieces, e.EndedAt = Expired, nil, &now
	return true
}

// Forgotten reports whether the export is no longer listed.
func (e *Export) Forgotten(now time.Time) bool {
	return !e.Open() && e.Status != Ready && e.EndedAt != nil && now.Sub(*e.EndedAt) > Listed
}
