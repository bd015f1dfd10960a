package svc

import (
	"slices"
	"strconv"
	"time"
)

// ExportKind names the rows that an export holds.
type ExportKind string

// The kinds.
const (
	ExportEvents ExportKind = "events"
	ExportPeople ExportKind = "people"
)

// Values returns the kinds, for descriptions.
func (ExportKind) Values() []ExportKind { return []ExportKind{ExportEvents, ExportPeople} }

// ExportFormat is how the file of an export is written.
type ExportFormat string

// The formats.
const (
	ExportNDJSON  ExportFormat = "ndjson"
	ExportCSV     ExportFormat = "csv"
	ExportParquet ExportFormat = "parquet"
)

// Values returns the formats, for descriptions.
func (ExportFormat) Values() []ExportFormat {
	return []ExportFormat{ExportNDJSON, ExportCSV, ExportParquet}
}

// ExportStatus says how far an export is.
type ExportStatus string

// The statuses. A withdrawn export was ready when a person of its environment was erased; an expired one was ready for
// ExportKept.
const (
	ExportQueued    ExportStatus = "queued"
	ExportRunning   ExportStatus = "running"
	ExportReady     ExportStatus = "ready"
	ExportFailed    ExportStatus = "failed"
	ExportExpired   ExportStatus = "expired"
	ExportWithdrawn ExportStatus = "withdrawn"
)

// Values returns the statuses, for descriptions.
func (ExportStatus) Values() []ExportStatus {
	return []ExportStatus{ExportQueued, ExportRunning, ExportReady, ExportFailed, ExportExpired, ExportWithdrawn}
}

// Bounds of exports.
const (
	// ExportKept is how long a file is kept after it is ready, and ExportLink how long a link to it is good.
	ExportKept = 24 * time.Hour
	ExportLink = time.Hour
	// ExportListed is how long an export is listed after its file is gone.
	ExportListed = 7 * 24 * time.Hour
	// MaxOpenExports is how many exports of an application may wait or run, MaxReadyExports how many files it may have.
	MaxOpenExports  = 5
	MaxReadyExports = 20
	// MaxExportRows is how many rows one export may have.
	MaxExportRows = 20_000_000
)

// Export is a request for a file of events or people, and how far it is. Its rows are collected in pieces, each of which is
// whole or not there, so a crash repeats one piece at most.
type Export struct {
	ID                string       `json:"id"`
	App               AppRef       `json:"app"`
	Environment       string       `json:"environment"`
	EnvironmentNumber uint64       `json:"environmentNumber"`
	Kind              ExportKind   `json:"kind"`
	Format            ExportFormat `json:"format"`
	// From and To bound the times of events, and when people were seen; To is excluded.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Name keeps the events of a name; empty keeps all.
	Name string `json:"name,omitempty"`
	// Masked says that whoever asked for it does not see personal fields.
	Masked bool         `json:"masked,omitempty"`
	At     time.Time    `json:"at"`
	By     LedgerActor  `json:"by"`
	Status ExportStatus `json:"status"`
	// Run counts the beginnings, Began is the time of the last one: an export that is under way when somebody is erased
	// begins again.
	Run   uint32    `json:"run"`
	Began time.Time `json:"began"`
	// Cursor is where the next piece begins, Pieces are the numbers of those that are stored, ascending.
	Cursor   string   `json:"cursor,omitempty"`
	Pieces   []uint64 `json:"pieces,omitempty"`
	Rows     uint64   `json:"rows"`
	Progress float64  `json:"progress"`
	// Problem says why it failed.
	Problem string     `json:"problem,omitempty"`
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// Open reports whether rows are still to be collected.
func (e *Export) Open() bool { return e.Status == ExportQueued || e.Status == ExportRunning }

// File names what is stored of the present run.
func (e *Export) File() string { return e.ID + "_" + strconv.FormatUint(uint64(e.Run), 10) }

// ExpiresAt returns when the file is removed; the zero time where there is none.
func (e *Export) ExpiresAt() time.Time {
	if e.Status != ExportReady || e.EndedAt == nil {
		return time.Time{}
	}
	return e.EndedAt.Add(ExportKept)
}

// ExportPiece describes the rows that one step of an export collected.
type ExportPiece struct {
	ID  string
	Run uint32
	// Number is that under which the rows are stored; 0 where the step found none.
	Number uint64
	Rows   uint64
	// Cursor is where the next piece begins; with Done there is none.
	Cursor   string
	Progress float64
	Done     bool
}

// Collect notes a piece that is stored. It returns false for a piece of an earlier run, which counts for nothing.
func (e *Export) Collect(piece ExportPiece, now time.Time) bool {
	if !e.Open() || piece.Run != e.Run {
		return false
	}
	if piece.Number != 0 {
		e.Pieces = append(slices.Clip(e.Pieces), piece.Number)
	}
	e.Status, e.Cursor, e.Rows, e.Progress = ExportRunning, piece.Cursor, e.Rows+piece.Rows, max(e.Progress, min(piece.Progress, 1))
	switch {
	case piece.Done:
		e.Status, e.Cursor, e.Progress, e.EndedAt = ExportReady, "", 1, &now
	case e.Rows >= MaxExportRows:
		e.Fail("too_large", now)
	}
	return true
}

// Fail ends an export without a file.
func (e *Export) Fail(problem string, now time.Time) {
	e.Status, e.Problem, e.Cursor, e.Pieces, e.EndedAt = ExportFailed, problem, "", nil, &now
}

// Withdraw takes the rows from an export because somebody is erased who may be in them: one that is under way begins again, a file
// is gone. It returns the name of what is stored, empty where nothing is.
func (e *Export) Withdraw(now time.Time) (file string) {
	file = e.File()
	switch {
	case e.Open():
		e.Status, e.Run, e.Began, e.Cursor, e.Pieces, e.Rows, e.Progress = ExportQueued, e.Run+1, now, "", nil, 0, 0
	case e.Status == ExportReady:
		e.Status, e.Pieces, e.EndedAt = ExportWithdrawn, nil, &now
	default:
		return ""
	}
	return file
}

// Age ends a file that was kept for its time, and reports whether it did.
func (e *Export) Age(now time.Time) bool {
	if e.Status != ExportReady || now.Before(e.ExpiresAt()) {
		return false
	}
	e.Status, e.Pieces, e.EndedAt = ExportExpired, nil, &now
	return true
}

// Forgotten reports whether the export is no longer listed.
func (e *Export) Forgotten(now time.Time) bool {
	return !e.Open() && e.Status != ExportReady && e.EndedAt != nil && now.Sub(*e.EndedAt) > ExportListed
}
