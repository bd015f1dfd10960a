package exports

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/export"
)

// asked is a requested export of an environment, some time after the epoch.
func asked(id string, environment uint64, after time.Duration) export.Export {
	at := actorstest.At(after)
	return export.Export{
		ID: id, App: domain.AppRef{Org: "acme", App: "web"}, Environment: "production", EnvironmentNumber: environment, Kind: export.Events, Format: export.CSV,
		At: at, Began: at, Run: 1, Status: export.Queued,
	}
}

// changed returns an export with a change.
func changed(one export.Export, change func(*export.Export)) export.Export {
	one.Pieces = slices.Clone(one.Pieces)
	change(&one)
	return one
}

// saved is the outcome of a change: the export is answered and written.
func saved(one export.Export) grain.Outcome[any] {
	return grain.Answer[any](one, grain.Put("export", one.ID, one))
}

// TestTheLifeOfExports plays the life of an application's exports. Files are collected in pieces, become ready, fail,
// are withdrawn, expire and are deleted.
func TestTheLifeOfExports(t *testing.T) {
	const minute, day = time.Minute, 24 * time.Hour
	at := func(after time.Duration) *time.Time { moment := actorstest.At(after); return &moment }
	first, second, third := asked("exp_1", 1, 0), asked("exp_2", 2, minute), asked("exp_3", 3, 2*minute)
	begun := changed(first, func(e *export.Export) {
		e.Status, e.Cursor, e.Pieces, e.Rows, e.Progress = export.Running, "c1", []uint64{11}, 50_000, 0.4
	})
	ready := changed(begun, func(e *export.Export) {
		e.Status, e.Cursor, e.Pieces, e.Rows, e.Progress, e.EndedAt = export.Ready, "", []uint64{11, 12}, 60_000, 1, at(5*minute)
	})
	again := changed(second, func(e *export.Export) { e.Run, e.Began = 2, actorstest.At(6*minute) })
	failed := changed(third, func(e *export.Export) { e.Status, e.Problem, e.EndedAt = export.Failed, "broken", at(7*minute) })
	expired := changed(ready, func(e *export.Export) { e.Status, e.Pieces, e.EndedAt = export.Expired, nil, at(5*minute+day) })
	whole := changed(again, func(e *export.Export) { e.Status, e.Progress, e.EndedAt = export.Ready, 1, at(9*minute) })
	withdrawn := changed(whole, func(e *export.Export) { e.Status, e.EndedAt = export.Withdrawn, at(10*minute) })
	piece := export.Piece{ID: "exp_1", Run: 1, Number: 11, Rows: 50_000, Cursor: "c1", Progress: 0.4}
	counts := func(one export.Export, counted, written bool) grain.Outcome[any] {
		if written {
			return grain.Answer[any](collected{one, counted}, grain.Put("export", one.ID, one))
		}
		return grain.Answer[any](collected{one, counted})
	}
	steps := []actorstest.Step{
		{Name: "an unknown one", Method: booksGet.Name(), Message: findExport{"exp_1"}, Err: domain.NotFound("export")},
		{Name: "the first", Method: booksCreate.Name(), Message: first, Want: saved(first)},
		{Name: "another environment", After: minute, Method: booksCreate.Name(), Message: second, Want: saved(second)},
		{Name: "a third", After: 2 * minute, Method: booksCreate.Name(), Message: third, Want: saved(third)},
		{Name: "the newest first", Method: booksList.Name(), Message: grain.None{}, Want: grain.Answer[any]([]export.Export{third, second, first})},
		{Name: "a piece", After: 3 * minute, Method: booksCollect.Name(), Message: piece, Want: counts(begun, true, true)},
		{Name: "the same piece", After: 4 * minute, Method: booksCollect.Name(), Message: piece, Want: counts(begun, true, false)},
		{Name: "a piece of an unknown one", Method: booksCollect.Name(), Message: export.Piece{ID: "exp_9"}, Err: domain.NotFound("export")},
		{Name: "the last piece", After: 5 * minute, Method: booksCollect.Name(), Message: export.Piece{ID: "exp_1", Run: 1, Number: 12, Rows: 10_000, Done: true}, Want: counts(ready, true, true)},
		{Name: "a piece after the end", After: 5 * minute, Method: booksCollect.Name(), Message: export.Piece{ID: "exp_1", Run: 1, Number: 13, Rows: 1}, Want: counts(ready, false, false)},
		{Name: "somebody is erased", After: 6 * minute, Method: booksWithdraw.Name(), Message: withdrawExports{2, actorstest.At(6 * minute)}, Want: grain.Answer[any]([]string{"exp_2_1"}, grain.Put("export", "exp_2", again))},
		{Name: "the same erasure", After: 6 * minute, Method: booksWithdraw.Name(), Message: withdrawExports{2, actorstest.At(6 * minute)}, Want: grain.Answer[any]([]string(nil))},
		{Name: "a piece of the former run", After: 7 * minute, Method: booksCollect.Name(), Message: export.Piece{ID: "exp_2", Run: 1, Number: 21, Rows: 1}, Want: counts(again, false, false)},
		{Name: "a failure", After: 7 * minute, Method: booksFail.Name(), Message: failExport{"exp_3", 1, "broken"}, Want: saved(failed)},
		{Name: "the failure again", After: 8 * minute, Method: booksFail.Name(), Message: failExport{"exp_3", 1, "other"}, Want: grain.Answer[any](failed)},
		{Name: "a failure of the former run", After: 8 * minute, Method: booksFail.Name(), Message: failExport{"exp_2", 1, "late"}, Want: grain.Answer[any](again)},
		{Name: "an empty file", After: 9 * minute, Method: booksCollect.Name(), Message: export.Piece{ID: "exp_2", Run: 2, Done: true}, Want: counts(whole, true, true)},
		{Name: "its file is withdrawn", After: 10 * minute, Method: booksWithdraw.Name(), Message: withdrawExports{2, actorstest.At(10 * minute)}, Want: grain.Answer[any]([]string{"exp_2_2"}, grain.Put("export", "exp_2", withdrawn))},
		{Name: "nothing is old", After: 4*minute + day, Method: booksAge.Name(), Message: grain.None{}, Want: grain.Answer[any]([]string(nil))},
		{Name: "the file is a day old", After: 5*minute + day, Method: booksAge.Name(), Message: grain.None{}, Want: grain.Answer[any]([]string{"exp_1_1"}, grain.Put("export", "exp_1", expired))},
		{Name: "the failed one is a week old", After: 7*minute + 7*day + time.Millisecond, Method: booksAge.Name(), Message: grain.None{}, Want: grain.Answer[any]([]string(nil), grain.Delete("export", "exp_3"))},
		{Name: "it is forgotten", After: 8 * day, Method: booksGet.Name(), Message: findExport{"exp_3"}, Err: domain.NotFound("export")},
		{Name: "the expired one is not", After: 8 * day, Method: booksGet.Name(), Message: findExport{"exp_1"}, Want: grain.Answer[any](expired)},
	}
	newCore := func() *book { return &book{} }
	actorstest.Play(t, booksKind, newCore, true, steps)
	actorstest.WantEveryMethod(t, booksKind, steps)
}

// TestExportsAreBounded requests more exports than may be under way, and more files than are retained.
func TestExportsAreBounded(t *testing.T) {
	for name, of := range map[string]struct {
		status export.Status
		count  int
	}{"under way": {export.Running, export.MaxOpenExports}, "ready": {export.Ready, export.MaxReadyExports}} {
		t.Run(name, func(t *testing.T) {
			full := &book{known: map[string]export.Export{}}
			for n := range of.count - 1 {
				one := asked(fmt.Sprint("exp_", n), 1, 0)
				one.Status = of.status
				full.known[one.ID] = one
			}
			last := asked("exp_last", 1, 0)
			last.Status = of.status
			if _, err := full.onCreate(actorstest.Epoch(), last); err != nil {
				t.Fatalf("the last one fails: %v", err)
			}
			if _, err := full.onCreate(actorstest.Epoch(), asked("exp_more", 1, 0)); domain.CodeOf(err) != domain.CodeConflict {
				t.Errorf("one more fails with %v", err)
			}
			if _, taken := full.known["exp_more"]; taken {
				t.Error("one more is kept")
			}
		})
	}
}

// TestTheOldestExportOfEachApplicationIsNext publishes exports and reads the work, applications and files.
func TestTheOldestExportOfEachApplicationIsNext(t *testing.T) {
	open, old, young, done, foreign := NewOpen(), asked("exp_1", 1, 0), asked("exp_2", 1, time.Minute), asked("exp_3", 1, -time.Minute), asked("exp_4", 9, 0)
	done.Status, foreign.App.App = export.Expired, "shop"
	stored := map[string]domain.Entity{}
	for _, one := range []export.Export{young, old, done, foreign} {
		actorstest.Keep(t, stored, []grain.Write{grain.Put("export", one.ID, one)})
	}
	for _, entity := range stored {
		open.PublishEntities([]domain.Entity{entity}, func(_ domain.Entity, err error) { t.Error(err) })
	}
	select {
	case <-open.woken:
	default:
		t.Error("the runner is not woken")
	}
	var next []string
	for _, one := range open.work() {
		next = append(next, one.ID)
	}
	if !slices.Equal(next, []string{"exp_4", "exp_1"}) {
		t.Errorf("the next ones are %v", next)
	}
	if files := open.files(); len(files) != 3 || files[done.File()] {
		t.Errorf("the files are %v", files)
	}
	open.PublishEntities([]domain.Entity{{Kind: "export", ID: "exp_4", Deleted: true}}, nil)
	if apps := open.apps(); !slices.Equal(apps, []domain.AppRef{old.App}) {
		t.Errorf("the applications are %v", apps)
	}
}
