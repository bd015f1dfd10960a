package exports

import (
	"context"
	"log/slog"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/export"
)

// Files stores the rows of exports.
type Files interface {
	// AppendExport adds lines to a piece of a file, from a position on.
	AppendExport(ctx context.Context, file string, piece uint64, position uint32, lines [][]byte, expires time.Time) error
	// DropExport removes a file; it may be repeated.
	DropExport(ctx context.Context, file string) error
	// ExportFiles returns the stored files, with the time of their last change.
	ExportFiles(ctx context.Context) (map[string]time.Time, error)
}

// Page is some rows of an export, as lines of JSON.
type Page struct {
	Lines [][]byte
	// Cursor is the beginning of the next page; if Done is set, there is no next page.
	Cursor string
	Done   bool
	// Progress is the part of the export before the next page, from 0 to 1.
	Progress float64
}

// Source reads the rows that are exported.
type Source interface {
	// Page returns the rows after a cursor; the empty one is the beginning. They contain no person that was erased
	// before the call.
	Page(ctx context.Context, export *export.Export, cursor string) (Page, error)
}

// Limits of the runner's steps.
const (
	// pieceRows ends a piece at a number of rows, and pieceTime after a time: then it is another application's turn.
	pieceRows = 50_000
	pieceTime = 5 * time.Second
	// lookEvery is the pause between two searches for work, and ageEvery between two searches for expired files.
	// strayAge is the age at which rows without an export are removed.
	lookEvery = 5 * time.Second
	ageEvery  = time.Minute
	strayAge  = 10 * time.Minute
	// rowsKept is how long rows are stored if they are not removed earlier.
	rowsKept = export.Kept + 24*time.Hour
	// tries is the number of attempts at a piece before its export fails.
	tries = 5
)

// Runner collects the rows of exports on the node that owns them. It makes one piece at a time, and applications take
// turns. So an export delays the export of another application by one piece, and all exports together use one of the
// store's query slots.
type Runner struct {
	Actors grain.Caller
	Open   *Open
	Source Source
	Files  Files
	// Owns reports whether this node collects the rows of an application's exports. Sweeps reports whether it removes
	// rows without an export.
	Owns   func(app domain.AppRef) bool
	Sweeps func() bool
	// Draw returns random bits, which separate the attempts at a piece.
	Draw   func() uint32
	Now    func() time.Time
	Logger *slog.Logger

	failures map[string]int
}

// Run works until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	r.failures = map[string]int{}
	look, age := time.NewTicker(lookEvery), time.NewTicker(ageEvery)
	defer look.Stop()
	defer age.Stop()
	for {
		for ctx.Err() == nil && r.round(ctx) {
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.Open.woken:
		case <-look.C:
		case <-age.C:
			r.age(ctx)
		}
	}
}

// round collects a piece for each application and reports whether anything is left.
func (r *Runner) round(ctx context.Context) (more bool) {
	for _, export := range r.Open.work() {
		if ctx.Err() != nil || !r.Owns(export.App) {
			continue
		}
		again, err := r.step(ctx, export)
		if err != nil && ctx.Err() == nil {
			r.failed(ctx, &export, err)
			continue // retried in the next round, which is not at once
		}
		delete(r.failures, export.ID)
		more = more || again
	}
	return more
}

// failed counts a failure and gives up an export that fails repeatedly.
func (r *Runner) failed(ctx context.Context, export *export.Export, err error) {
	r.Logger.Error("a piece of an export failed", "export", export.ID, "error", err)
	if r.failures[export.ID]++; r.failures[export.ID] < tries || domain.CodeOf(err) == domain.CodeUnavailable {
		return
	}
	delete(r.failures, export.ID)
	if _, err := booksFail.Ask(ctx, r.Actors, export.App.String(), failExport{export.ID, export.Run, "internal"}); err != nil {
		r.Logger.Error("a failed export was not noted", "export", export.ID, "error", err)
	}
}

// step collects a piece of an export and records it. It reports whether more may follow.
func (r *Runner) step(ctx context.Context, known export.Export) (more bool, err error) {
	e, err := booksGet.Ask(ctx, r.Actors, known.App.String(), findExport{known.ID})
	if err != nil || !e.Open() {
		return false, err // the snapshot is late
	}
	piece, err := r.piece(ctx, &e)
	if err != nil {
		return false, err
	}
	noted, err := booksCollect.Ask(ctx, r.Actors, e.App.String(), piece)
	if err != nil {
		return false, err
	}
	if !noted.Counts || noted.Export.Status == export.Failed {
		return noted.Export.Open(), r.Files.DropExport(ctx, e.File())
	}
	return noted.Export.Open(), nil
}

// piece stores the next rows of an export.
func (r *Runner) piece(ctx context.Context, e *export.Export) (export.Piece, error) {
	piece := export.Piece{ID: e.ID, Run: e.Run, Cursor: e.Cursor, Progress: e.Progress}
	number := uint64(len(e.Pieces)+1)<<32 | uint64(r.Draw())
	began := r.Now()
	for piece.Rows < pieceRows && r.Now().Sub(began) < pieceTime {
		page, err := r.Source.Page(ctx, e, piece.Cursor)
		if err != nil {
			return piece, err
		}
		if len(page.Lines) > 0 {
			if err := r.Files.AppendExport(ctx, e.File(), number, uint32(piece.Rows), page.Lines, r.Now().Add(rowsKept)); err != nil {
				return piece, err
			}
			piece.Number = number
		}
		piece.Rows += uint64(len(page.Lines))
		piece.Cursor, piece.Done, piece.Progress = page.Cursor, page.Done, page.Progress
		if page.Done {
			break
		}
	}
	return piece, nil
}

// age removes files that have reached their age, and rows without an export, which a crash left.
func (r *Runner) age(ctx context.Context) {
	for _, app := range r.Open.apps() {
		if !r.Owns(app) {
			continue
		}
		files, err := booksAge.Ask(ctx, r.Actors, app.String(), grain.None{})
		for _, file := range files {
			r.drop(ctx, file)
		}
		if err != nil {
			r.Logger.Error("exports were not looked through", "application", app, "error", err)
		}
	}
	if !r.Sweeps() {
		return
	}
	stored, err := r.Files.ExportFiles(ctx)
	if err != nil {
		r.Logger.Error("the files of exports were not looked through", "error", err)
	}
	known := r.Open.files()
	for file, modified := range stored {
		if !known[file] && r.Now().Sub(modified) > strayAge {
			r.drop(ctx, file)
		}
	}
}

func (r *Runner) drop(ctx context.Context, file string) {
	if err := r.Files.DropExport(ctx, file); err != nil {
		r.Logger.Error("a file of an export was not removed", "file", file, "error", err)
	}
}
