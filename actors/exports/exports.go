package exports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/export"
)

// The exports actor.
//
//	identity   org/app
//	rank       2
//	owns       the exports of an application
//	persists   entity export
//	woken by   calls only
//	limits     export.MaxOpenExports that wait or run, export.MaxReadyExports files
//	stops      after half a minute without a message
//
// Every node has the exports in a snapshot ([Open]), which the runner asks for work.
const kindExports = "exports"

// exportsIdle is how long an actor stays activated without a message.
const exportsIdle = 30 * time.Second

type book struct{ known map[string]export.Export }

type (
	findExport struct {
		ID string `json:"id"`
	}
	failExport struct {
		ID      string `json:"id"`
		Run     uint32 `json:"run"`
		Problem string `json:"problem"`
	}
	withdrawExports struct {
		Environment uint64 `json:"environment"`
		// Before is the end of the withdrawal: exports that began later stay.
		Before time.Time `json:"before"`
	}
)

var booksKind = grain.NewKind[*book](kindExports, 2, exportsIdle)

// The methods of the exports actor.
var (
	booksCreate   = grain.On(booksKind, "create", (*book).onCreate)
	booksGet      = grain.On(booksKind, "get", (*book).onGet, grain.Repeatable)
	booksList     = grain.On(booksKind, "list", (*book).onList, grain.Repeatable)
	booksCollect  = grain.On(booksKind, "collect", (*book).onCollect)
	booksFail     = grain.On(booksKind, "fail", (*book).onFail, grain.Repeatable)
	booksAge      = grain.On(booksKind, "age", (*book).onAge, grain.Repeatable)
	booksWithdraw = grain.On(booksKind, "withdraw", (*book).onWithdraw, grain.Repeatable)
)

// Kinds returns the kinds of actors of this package.
func Kinds(node *grain.Node) []cluster.Kind {
	return []cluster.Kind{booksKind.Row(node, func(string) *book { return &book{} })}
}

func (b *book) Restore(entities []domain.Entity) error {
	var err error
	b.known, err = grain.DecodeAll[export.Export](entities)
	return err
}

// count returns the number of exports that match a rule.
func (b *book) count(keep func(*export.Export) bool) (count int) {
	for _, one := range b.known {
		if keep(&one) {
			count++
		}
	}
	return count
}

// onCreate adds an export, within the limits of the application.
func (b *book) onCreate(_ time.Time, m export.Export) (grain.Outcome[export.Export], error) {
	if b.count((*export.Export).Open) >= export.MaxOpenExports {
		return grain.Outcome[export.Export]{}, &domain.Error{
			Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("%d exports of the application are under way already; wait for one of them.", export.MaxOpenExports),
		}
	}
	if b.count(func(e *export.Export) bool { return e.Status == export.Ready }) >= export.MaxReadyExports {
		return grain.Outcome[export.Export]{}, &domain.Error{
			Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d files of exports; each is removed a day after it was ready.", export.MaxReadyExports),
		}
	}
	return b.keep(m), nil
}

// keep stores an export.
func (b *book) keep(one export.Export) grain.Outcome[export.Export] {
	b.known[one.ID] = one
	return grain.Answer(one, grain.Put("export", one.ID, one))
}

func (b *book) onGet(_ time.Time, m findExport) (grain.Outcome[export.Export], error) {
	one, known := b.known[m.ID]
	if !known {
		return grain.Outcome[export.Export]{}, domain.NotFound("export")
	}
	return grain.Answer(one), nil
}

// onList returns the exports, the newest first.
func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]export.Export], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(b.known), func(x, y export.Export) int {
		return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.ID, x.ID))
	})), nil
}

// collected answers a piece: Counts says whether it counts.
type collected struct {
	Export export.Export `json:"export"`
	Counts bool          `json:"counts"`
}

// onCollect records a piece. A piece that was recorded before counts and changes nothing.
func (b *book) onCollect(now time.Time, m export.Piece) (grain.Outcome[collected], error) {
	one, known := b.known[m.ID]
	if !known {
		return grain.Outcome[collected]{}, domain.NotFound("export")
	}
	if m.Run == one.Run && m.Number != 0 && slices.Contains(one.Pieces, m.Number) {
		return grain.Answer(collected{one, true}), nil
	}
	if !one.Collect(m, now.Truncate(time.Millisecond)) {
		return grain.Answer(collected{one, false}), nil
	}
	b.known[one.ID] = one
	return grain.Answer(collected{one, true}, grain.Put("export", one.ID, one)), nil
}

// onFail ends an export that cannot continue.
func (b *book) onFail(now time.Time, m failExport) (grain.Outcome[export.Export], error) {
	one, known := b.known[m.ID]
	if !known || !one.Open() || one.Run != m.Run {
		return grain.Answer(one), nil
	}
	one.Fail(m.Problem, now.Truncate(time.Millisecond))
	return b.keep(one), nil
}

// onAge ends files that have reached their age and deletes exports long after the end of their files. It returns the
// names of the files to remove.
func (b *book) onAge(now time.Time, _ grain.None) (grain.Outcome[[]string], error) {
	var files []string
	var writes []grain.Write
	for id, one := range b.known {
		switch {
		case one.Forgotten(now):
			delete(b.known, id)
			writes = append(writes, grain.Delete("export", id))
		case one.Age(now.Truncate(time.Millisecond)):
			files = append(files, one.File())
			b.known[id] = one
			writes = append(writes, grain.Put("export", id, one))
		}
	}
	return grain.Answer(files, writes...), nil
}

// onWithdraw removes the rows of an environment's exports that began before an instant. It returns the names of the
// files to remove.
func (b *book) onWithdraw(now time.Time, m withdrawExports) (grain.Outcome[[]string], error) {
	var files []string
	var writes []grain.Write
	for id, one := range b.known {
		if one.EnvironmentNumber != m.Environment || !one.Began.Before(m.Before) {
			continue
		}
		if file := one.Withdraw(now.Truncate(time.Millisecond)); file != "" {
			files = append(files, file)
			b.known[id] = one
			writes = append(writes, grain.Put("export", id, one))
		}
	}
	return grain.Answer(files, writes...), nil
}
