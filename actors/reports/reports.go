package reports

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/report"
)

// The reports actor.
//
//	identity   org/app
//	rank       2
//	owns       the reports of an application, with the letters that wait for the mail server
//	persists   entity report
//	woken by   calls only: of members, of recipients, and of the runner
//	limits     a report of each kind for each environment
//	stops      after half a minute without a message
//
// A period is claimed in the write that makes its letters, and an attempt to send one is claimed before it is made. So
// neither a restart nor two concurrent runners send a period twice. A node that dies between an attempt and its record
// leaves a letter that is sent again, under the same id.
const kindReports = "reports"

// reportsIdle is how long an actor stays activated without a message.
const reportsIdle = 30 * time.Second

const entityReport = "report"

type book struct{ known map[string]report.Report }

type (
	putReport struct {
		ID   string        `json:"id"`
		App  domain.AppRef `json:"app"`
		Spec report.Spec   `json:"spec"`
		// Due is the period that counts as sent for a report that begins now.
		Due report.Period `json:"due"`
	}
	findReport struct {
		ID string `json:"id"`
	}
	claimReport struct {
		ID     string        `json:"id"`
		Period report.Period `json:"period"`
		Spike  *report.Spike `json:"spike"`
	}
	findLetter struct {
		ID     string `json:"id"`
		Letter string `json:"letter"`
	}
	begunLetter struct {
		Letter report.Letter `json:"letter"`
		OK     bool          `json:"ok"`
	}
	endLetter struct {
		ID     string `json:"id"`
		Letter string `json:"letter"`
		// Problem is empty if the mail server took the letter. If it did not, Retry says that another attempt may
		// succeed.
		Problem string `json:"problem"`
		Retry   bool   `json:"retry"`
	}
	leaveReport struct {
		ID        string `json:"id"`
		Recipient string `json:"recipient"`
	}
)

var booksKind = grain.NewKind[*book](kindReports, 2, reportsIdle)

// The methods of the reports actor.
var (
	booksList   = grain.On(booksKind, "list", (*book).onList, grain.Repeatable)
	booksPut    = grain.On(booksKind, "put", (*book).onPut)
	booksDelete = grain.On(booksKind, "delete", (*book).onDelete)
	booksClaim  = grain.On(booksKind, "claim", (*book).onClaim, grain.Repeatable)
	booksBegin  = grain.On(booksKind, "begin", (*book).onBegin)
	booksEnd    = grain.On(booksKind, "end", (*book).onEnd, grain.Repeatable)
	booksLeave  = grain.On(booksKind, "leave", (*book).onLeave, grain.Repeatable)
)

// Kinds returns the kinds of actors of this package.
func Kinds(node *grain.Node) []cluster.Kind {
	return []cluster.Kind{booksKind.Row(node, func(string) *book { return &book{} })}
}

func (b *book) Restore(entities []domain.Entity) error {
	var err error
	b.known, err = grain.DecodeAll[report.Report](entities)
	return err
}

// keep stores a report.
func (b *book) keep(one report.Report) grain.Write {
	b.known[one.ID] = one
	return grain.Put(entityReport, one.ID, one)
}

// onList returns the reports, ordered by environment and kind.
func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]report.Report], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(b.known), func(x, y report.Report) int {
		return cmp.Or(cmp.Compare(x.Environment, y.Environment), cmp.Compare(x.Kind, y.Kind))
	})), nil
}

// onPut makes the report of a kind and an environment, or changes it.
func (b *book) onPut(now time.Time, m putReport) (grain.Outcome[report.Report], error) {
	now = now.UTC().Truncate(time.Millisecond)
	one := report.Report{ID: m.ID, App: m.App, CreatedAt: now}
	for _, known := range b.known {
		if known.Kind == m.Spec.Kind && known.Number == m.Spec.Number {
			one = known
		}
	}
	one.Update(m.Spec, m.Due, now)
	return grain.Answer(one, b.keep(one)), nil
}

func (b *book) onDelete(_ time.Time, m findReport) (grain.Outcome[grain.None], error) {
	if _, known := b.known[m.ID]; !known {
		return grain.Outcome[grain.None]{}, domain.NotFound("report")
	}
	delete(b.known, m.ID)
	return grain.Answer(grain.None{}, grain.Delete(entityReport, m.ID)), nil
}

// onClaim makes the letters of a period or of a spike, once, and returns the current report.
func (b *book) onClaim(now time.Time, m claimReport) (grain.Outcome[report.Report], error) {
	one, known := b.known[m.ID]
	if !known || !one.Due(m.Period, m.Spike) {
		return grain.Answer(one), nil
	}
	one.Claim(m.Period, m.Spike, now.UTC().Truncate(time.Millisecond))
	return grain.Answer(one, b.keep(one)), nil
}

// onBegin claims a letter for an attempt.
func (b *book) onBegin(now time.Time, m findLetter) (grain.Outcome[begunLetter], error) {
	one := b.known[m.ID]
	letter, ok := one.Begin(m.Letter, now.UTC().Truncate(time.Millisecond))
	if !ok {
		return grain.Answer(begunLetter{}), nil
	}
	return grain.Answer(begunLetter{letter, true}, b.keep(one)), nil
}

// onEnd records the result of an attempt.
func (b *book) onEnd(now time.Time, m endLetter) (grain.Outcome[report.Report], error) {
	one := b.known[m.ID]
	if !one.End(m.Letter, m.Problem, m.Retry, now.UTC().Truncate(time.Millisecond)) {
		return grain.Answer(one), nil
	}
	return grain.Answer(one, b.keep(one)), nil
}

// onLeave removes a recipient. If the recipient is already removed, it changes nothing.
func (b *book) onLeave(_ time.Time, m leaveReport) (grain.Outcome[grain.None], error) {
	one := b.known[m.ID]
	if !one.Unsubscribe(m.Recipient) {
		return grain.Answer(grain.None{}), nil
	}
	return grain.Answer(grain.None{}, b.keep(one)), nil
}
