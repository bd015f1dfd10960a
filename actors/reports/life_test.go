package reports

import (
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/report"
)

// TestReportsLife follows a weekly report with two recipients: one letter is taken at the second attempt, and one
// recipient unsubscribes.
func TestReportsLife(t *testing.T) {
	wrote := func(answer any, writes ...grain.Write) grain.Outcome[any] { return grain.Answer(answer, writes...) }
	kept := func(one report.Report) grain.Write { return grain.Put(entityReport, one.ID, one) }
	at := actorstest.At
	spec := report.Spec{Kind: report.Weekly, Environment: "production", Number: 7, Recipients: []string{"ada@acme.example", "bob@acme.example"}, Enabled: true}
	due, next := report.Period{From: "2026-11-09", To: "2026-11-15"}, report.Period{From: "2026-11-16", To: "2026-11-22"}
	made := report.Report{ID: "rpt_1", App: web, CreatedAt: at(0)}
	made.Update(spec, due, at(0))
	claimed := made
	claimed.Claim(next, nil, at(time.Hour))
	ada, bob := claimed.Letters[0].ID, claimed.Letters[1].ID
	begun := claimed
	first, _ := begun.Begin(ada, at(time.Hour))
	postponed := begun
	postponed.End(ada, "the box is full", true, at(time.Hour))
	retried := postponed
	second, _ := retried.Begin(ada, at(2*time.Hour))
	taken := retried
	taken.End(ada, "", false, at(2*time.Hour))
	left := taken
	left.Unsubscribe(report.RecipientHash("bob@acme.example"))
	off := spec
	off.Enabled, off.Recipients = false, []string{"ada@acme.example"}
	changed := left
	changed.Update(off, next, at(4*time.Hour))
	claim := claimReport{ID: "rpt_1", Period: next}
	leave := leaveReport{"rpt_1", report.RecipientHash("bob@acme.example")}
	steps := []actorstest.Step{
		{Name: "none", Method: "list", Message: grain.None{}, Want: wrote(nil)},
		{Name: "made", Method: "put", Message: putReport{"rpt_1", web, spec, due}, Want: wrote(made, kept(made))},
		{Name: "a period that counts as sent", After: time.Minute, Method: "claim", Message: claimReport{ID: "rpt_1", Period: due}, Want: wrote(made)},
		{Name: "the next period", After: time.Hour, Method: "claim", Message: claim, Want: wrote(claimed, kept(claimed))},
		{Name: "the same period", After: time.Hour, Method: "claim", Message: claim, Want: wrote(claimed)},
		{Name: "a period of no report", After: time.Hour, Method: "claim", Message: claimReport{ID: "rpt_2", Period: next}, Want: wrote(report.Report{})},
		{Name: "an attempt", After: time.Hour, Method: "begin", Message: findLetter{"rpt_1", ada}, Want: wrote(begunLetter{first, true}, kept(begun))},
		{Name: "an attempt of another runner", After: time.Hour, Method: "begin", Message: findLetter{"rpt_1", ada}, Want: wrote(begunLetter{})},
		{Name: "it is postponed", After: time.Hour, Method: "end", Message: endLetter{"rpt_1", ada, "the box is full", true}, Want: wrote(postponed, kept(postponed))},
		{Name: "another attempt", After: 2 * time.Hour, Method: "begin", Message: findLetter{"rpt_1", ada}, Want: wrote(begunLetter{second, true}, kept(retried))},
		{Name: "it is taken", After: 2 * time.Hour, Method: "end", Message: endLetter{ID: "rpt_1", Letter: ada}, Want: wrote(taken, kept(taken))},
		{Name: "it is told again", After: 2 * time.Hour, Method: "end", Message: endLetter{ID: "rpt_1", Letter: ada}, Want: wrote(taken)},
		{Name: "bob leaves", After: 3 * time.Hour, Method: "leave", Message: leave, Want: wrote(grain.None{}, kept(left))},
		{Name: "bob leaves again", After: 3 * time.Hour, Method: "leave", Message: leave, Want: wrote(grain.None{})},
		{Name: "the letter of bob is gone", After: 3 * time.Hour, Method: "begin", Message: findLetter{"rpt_1", bob}, Want: wrote(begunLetter{})},
		{Name: "changed under another id", After: 4 * time.Hour, Method: "put", Message: putReport{"rpt_2", web, off, next}, Want: wrote(changed, kept(changed))},
		{Name: "all", After: 4 * time.Hour, Method: "list", Message: grain.None{}, Want: wrote([]report.Report{changed})},
		{Name: "deleted", After: 5 * time.Hour, Method: "delete", Message: findReport{"rpt_1"}, Want: wrote(grain.None{}, grain.Delete(entityReport, "rpt_1"))},
		{Name: "deleted again", After: 5 * time.Hour, Method: "delete", Message: findReport{"rpt_1"}, Err: domain.NotFound("report")},
	}
	actorstest.Play(t, booksKind, func() *book { return &book{} }, true, steps)
	actorstest.WantEveryMethod(t, booksKind, steps)
}
