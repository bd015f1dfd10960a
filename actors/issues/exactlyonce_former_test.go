package issues

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/protos"
)

// The world was upgraded. Issues of the former grouping are stored, and errors arrive that the present grouping puts
// into other issues, two of them for each old one. In the end one of the two continues the old issue, and the other one
// stands alone, whichever nodes die meanwhile.

const formerIssues = 3

// formerIssue is the number of an issue that the former grouping made.
func formerIssue(n int) uint64 { return occurrence.IssueNumber(1, fmt.Sprintf("v1-old-%d", n)) }

// presentIssue is the number of one of the two issues that the present grouping makes of its errors.
func presentIssue(n, half int) uint64 {
	return occurrence.IssueNumber(1, fmt.Sprintf("v2-new-%d-%d", n, half))
}

// storeFormer stores the issues of the former grouping, as a node of the previous version did. One of them is resolved.
func (w *world) storeFormer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range formerIssues {
		now := w.tickLocked()
		row := occurrence.Row{EnvironmentNumber: 1, Issue: formerIssue(n)}
		row.ID, row.Name, row.Ts, row.ReceivedAt = fmt.Sprintf("old-%d", n), "Old", now, now
		w.occurrences = append(w.occurrences, storedOccurrence{Row: row})
		w.acts = append(w.acts, &act{issue: row.Issue, at: now, moment: now})
	}
	at := w.tickLocked()
	payload, _ := json.Marshal(issueRecord{State: issue.State{Status: issue.Resolved, ResolvedAt: &at}, Issue: formerIssue(0)}) // texts, numbers, times
	owner := kindIssue + "/" + issueIdentity(1, formerIssue(0))
	w.decisions[owner] = domain.Entity{Owner: owner, Kind: "issue", ID: "issue", Payload: payload, Version: domain.VersionOf(1)}
}

// produceContinued appends an error that the former grouping would have put into an old issue.
func (w *world) produceContinued() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.tickLocked()
	n := w.rng.IntN(formerIssues)
	number := presentIssue(n, w.rng.IntN(2))
	partition := protos.PartitionOfIssue(number, w.partitions)
	value, _ := protos.AppendOccurrence(nil, &protos.Occurrence{
		Environment: 1, Id: fmt.Sprintf("error-%d", len(w.acts)), Issue: number, Former: formerIssue(n), Fingerprint: "v2", Name: "E", TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli(),
	})
	w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
	w.acts = append(w.acts, &act{issue: number, at: now, moment: now})
}

// decision returns the stored record of an issue.
func (w *world) decision(t *testing.T, number uint64) issueRecord {
	t.Helper()
	entity, known := w.decisions[kindIssue+"/"+issueIdentity(1, number)]
	if !known {
		return issueRecord{}
	}
	record, err := grain.Decode[issueRecord](entity)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// heir returns the issue that continues a former one, 0 if there is no such issue; the caller holds the lock.
func (w *world) heir(t *testing.T, n int) uint64 {
	t.Helper()
	number, _ := occurrence.ParseIssueID(w.decision(t, formerIssue(n)).ContinuedBy)
	return number
}

// checkContinued checks the issue that continues each former issue. There is no such issue if neither of the two
// occurred, else at most one, and each side knows the other.
func (w *world) checkContinued(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	occurred := map[uint64]bool{}
	for _, row := range w.occurrences {
		occurred[row.Issue] = true
	}
	joined := 0
	for n := range formerIssues {
		former, heir := w.decision(t, formerIssue(n)), w.heir(t, n)
		halves := []uint64{presentIssue(n, 0), presentIssue(n, 1)}
		if heir != 0 && (!slices.Contains(halves, heir) || !occurred[heir]) {
			t.Errorf("former issue %d goes on with %d, want one of %v that occurred", n, heir, halves)
		}
		for _, half := range halves {
			switch into := w.decision(t, half).MergedInto; {
			case into == "":
			case half != heir || into != occurrence.IssueID(formerIssue(n)) || !slices.Equal(former.Merged, []string{occurrence.IssueID(half)}):
				t.Errorf("issue %d is part of %q, which is made of %v and goes on with %d", half, into, former.Merged, heir)
			default:
				joined++
			}
		}
		if n == 0 && former.Status == issue.Resolved && w.decision(t, heir).MergedInto != "" {
			t.Error("the former issue is resolved, although its heir occurred")
		}
	}
	t.Logf("%d of %d former issues go on", joined, formerIssues)
}

func (p *process) FormerEnvironments(context.Context) ([]uint64, error) {
	return []uint64{1}, p.done()
}

func (p *process) Merged(context.Context, uint64) (int, error) { return 0, p.done() }

// TestContinuationAsksOnce has a block with known issues, and environments without issues of the former grouping:
// neither asks the store.
func TestContinuationAsksOnce(t *testing.T) {
	t.Parallel()
	asked := &askedFormer{environments: []uint64{7}}
	c := &Continuation{Former: asked, Totals: asked, Now: time.Now}
	hit := blockHit{occurrences: 1}
	elsewhere := blockHits{hitKey{environment: 8, issue: 1, former: 2}: hit}
	same := blockHits{hitKey{environment: 7, issue: 1, former: 0}: hit}
	present := blockHits{hitKey{environment: 7, issue: 3, former: 4}: hit}
	asked.occurred = []issue.Total{{Environment: 7, Issue: 3, Occurrences: 2}}
	for range 3 {
		for _, hits := range []blockHits{elsewhere, same, present, {}} {
			if continued := c.continueIssues(t.Context(), 1, hits); len(continued) != 0 {
				t.Fatal(continued)
			}
		}
	}
	if asked.former != 1 || asked.totals != 1 {
		t.Errorf("the store was asked %d times for environments, %d times for issues", asked.former, asked.totals)
	}
}

// askedFormer counts the queries; it has no issues.
type askedFormer struct {
	environments   []uint64
	occurred       []issue.Total
	former, totals int
}

func (a *askedFormer) FormerEnvironments(context.Context) ([]uint64, error) {
	a.former++
	return a.environments, nil
}

func (a *askedFormer) Merged(context.Context, uint64) (int, error) { return 0, nil }

func (a *askedFormer) IssueTotals(context.Context, []uint64, []uint64) ([]issue.Total, error) {
	a.totals++
	return a.occurred, nil
}

func (a *askedFormer) OccurrencesAfter(context.Context, []uint64, []uint64, uint64) ([]issue.Total, error) {
	return nil, nil
}
