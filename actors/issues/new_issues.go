package issues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc/actors/attempt"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// Totals counts the stored occurrences of issues.
type Totals interface {
	// IssueTotals returns the stored occurrences of issues of some environments. Issues without any are missing.
	IssueTotals(ctx context.Context, environments, issues []uint64) ([]issue.Total, error)
	// OccurrencesAfter returns the number of their occurrences in blocks with higher numbers than one.
	OccurrencesAfter(ctx context.Context, environments, issues []uint64, block uint64) ([]issue.Total, error)
}

// alertsAtOnce bounds the alerting actors that are called at the same time.
const alertsAtOnce = 64

// totalsAtOnce bounds the issues of one query to the store.
const totalsAtOnce = 5000

// unknown returns the environments and issues of a block for which a rule waits, without issues that are known to have
// occurred before.
func (b *issueBlock) unknown() (environments, issues []uint64) {
	places, wanted := map[uint64]bool{}, map[uint64]bool{}
	for key := range b.hits {
		_, newIssues, _ := b.listener.Rules.Awaited(key.environment)
		if newIssues && !b.listener.known.has(key.issue) && !b.continued[key.issue] {
			places[key.environment], wanted[key.issue] = true, true
		}
	}
	return slices.Sorted(maps.Keys(places)), slices.Sorted(maps.Keys(wanted))
}

// reportNew reports the new issues of a stored block to the rules that wait for them. An issue is new in the block that
// holds all of its occurrences. Like decide, it runs between the insert and the commit and may be repeated: the
// alerting actors know the issues that they received.
//
// The store has AnswerTime to find the new issues. If it does not answer, the issues are looked up later, and further
// blocks leave notes without asking until it answers again.
func (b *issueBlock) reportNew(ctx context.Context, block *pipeline.StoredBlock) error {
	environments, issues := b.unknown()
	if len(issues) == 0 {
		return nil
	}
	occurred := map[issueKey]uint64{}
	for key, hit := range b.hits {
		occurred[issueKey{key.environment, key.issue}] += hit.occurrences
	}
	l := b.listener
	if l.lookingUp.Load() {
		return block.Later(ctx, l.notesOfUnknown(block.ID, environments, issues, occurred))
	}
	patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
	news, err := l.firstSeen(patient, environments, issues, occurred)
	cancel()
	if err != nil {
		l.Logger.Warn("it will be looked up later which issues of a block are new", "issues", len(issues), "error", err)
		l.lookingUp.Store(true)
		return block.Later(ctx, l.notesOfUnknown(block.ID, environments, issues, occurred))
	}
	if err := block.Later(ctx, l.reportNewIssues(ctx, block.ID, news)); err != nil {
		return err
	}
	l.known.add(issues)
	return nil
}

// issueCount is the number of an issue's occurrences in a block.
type issueCount struct {
	Issue       uint64 `json:"issue"`
	Occurrences uint64 `json:"occurrences"`
}

// notesOfUnknown returns notes for the alerting actors of environments. They list the issues that may or may not be
// new.
func (l *Listener) notesOfUnknown(block uint64, environments, issues []uint64, occurred map[issueKey]uint64) (late []pipeline.Note) {
	for _, environment := range environments {
		app, awaited, _ := l.Rules.Awaited(environment)
		if !awaited {
			continue // its rules no longer exist
		}
		note := issueNote{Block: block, Environment: environment, App: app}
		for _, issue := range issues {
			if count := occurred[issueKey{environment, issue}]; count > 0 {
				note.Unseen = append(note.Unseen, issueCount{issue, count})
			}
		}
		late = append(late, note.note(kindAlerting, app.String()))
	}
	return late
}

// lookUp finds the issues of a note that were new in its block, and returns the messages for their rules.
func (l *Listener) lookUp(ctx context.Context, n *issueNote) ([]issue.NewIssues, error) {
	occurred, issues := map[issueKey]uint64{}, make([]uint64, 0, len(n.Unseen))
	for _, count := range n.Unseen {
		occurred[issueKey{n.Environment, count.Issue}] = count.Occurrences
		issues = append(issues, count.Issue)
	}
	environments := []uint64{n.Environment}
	before, err := l.after(ctx, environments, issues, n.Block)
	if err != nil {
		return nil, err
	}
	for key, later := range before {
		occurred[key] += later
	}
	news, err := l.firstSeen(ctx, environments, issues, occurred)
	if err != nil {
		return nil, err
	}
	// A block that was stored between the two reads may be in one of them only.
	if again, err := l.after(ctx, environments, issues, n.Block); err != nil || !maps.Equal(before, again) {
		return nil, errors.Join(errUnsteady, err)
	}
	l.lookingUp.Store(false)
	return newIssues(n.Block, news[n.Environment]), nil
}

var errUnsteady = errors.New("issues occurred while it was looked up whether they are new")

// after returns the number of occurrences of issues after a block.
func (l *Listener) after(ctx context.Context, environments, issues []uint64, block uint64) (map[issueKey]uint64, error) {
	out := map[issueKey]uint64{}
	for part := range slices.Chunk(issues, totalsAtOnce) {
		totals, err := l.Totals.OccurrencesAfter(ctx, environments, part, block)
		if err != nil {
			return nil, fmt.Errorf("counting issues after a block: %w", err)
		}
		for _, total := range totals {
			out[issueKey{total.Environment, total.Issue}] = total.Occurrences
		}
	}
	return out, nil
}

// newIssues returns the messages about the new issues of a block for the rules of an environment.
func newIssues(block uint64, found []issue.Total) (messages []issue.NewIssues) {
	found = slices.SortedFunc(slices.Values(found), func(a, b issue.Total) int { return cmp.Compare(a.Issue, b.Issue) })
	for part := range slices.Chunk(found, issuesAtOnce) {
		first := &part[0]
		message := issue.NewIssues{Environment: first.Environment, Block: block, ID: occurrence.IssueID(first.Issue), Title: first.Title(), Others: len(part) - 1}
		for i := range part {
			message.Issues = append(message.Issues, issue.TitledIssue{Issue: part[i].Issue, Title: part[i].Title()})
		}
		messages = append(messages, message)
	}
	return messages
}

// reportNewIssues notifies the alerting actors of the new issues of a block, all at once, and returns the notes for the
// actors that did not answer.
func (l *Listener) reportNewIssues(ctx context.Context, block uint64, news map[uint64][]issue.Total) (late []pipeline.Note) {
	patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
	defer cancel()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(alertsAtOnce)
	for environment, found := range news {
		app, awaited, _ := l.Rules.Awaited(environment)
		if !awaited {
			continue // its rules no longer exist
		}
		messages := newIssues(block, found)
		group.Go(func() error {
			if !l.Outbox.Has(kindAlerting, app.String()) {
				err := attempt.Contained(func() error { return l.notifyAlerts(patient, app, messages) })
				if err == nil {
					return nil
				}
				l.Logger.Warn("an application's alert rules will be told of new issues later", "app", app.String(), "error", err)
			}
			note := issueNote{Block: block, Environment: environment, App: app, News: messages}
			mu.Lock()
			defer mu.Unlock()
			late = append(late, note.note(kindAlerting, app.String()))
			return nil
		})
	}
	_ = group.Wait() // failed reports are in late
	return late
}

// notifyAlerts notifies one alerting actor of new issues.
func (l *Listener) notifyAlerts(ctx context.Context, app domain.AppRef, messages []issue.NewIssues) error {
	for _, message := range messages {
		if err := l.Alerts.NewIssues(ctx, app, message); err != nil {
			return err
		}
	}
	return nil
}

// issuesAtOnce bounds the issues of one message.
const issuesAtOnce = 500

// reportRegressions notifies the rules that wait for regressions of issues that regressed with a block, and then
// confirms that to the issues. Without the confirmation, an issue reports the regression with the block again, so a
// crash loses none; the alerting actors know the reports that they received. It returns the environments for which it
// failed; they do not block the others.
func (l *Listener) reportRegressions(ctx context.Context, block uint64, came []issueKey) map[uint64]error {
	failed := map[uint64]error{}
	for len(came) > 0 {
		environment := came[0].environment
		some := slices.IndexFunc(came, func(key issueKey) bool { return key.environment != environment })
		if some < 0 {
			some = len(came)
		}
		for part := range slices.Chunk(came[:some], issuesAtOnce) {
			err := attempt.Contained(func() error { return l.reportRegressionsOf(ctx, block, environment, part) })
			if err == nil {
				err = l.Issues.noted(ctx, block, part)
			}
			if err != nil {
				failed[environment] = fmt.Errorf("telling of regressions: %w", err)
			}
		}
		came = came[some:]
	}
	return failed
}

// reportRegressionsOf notifies the rules of one environment.
func (l *Listener) reportRegressionsOf(ctx context.Context, block, environment uint64, came []issueKey) error {
	app, _, awaited := l.Rules.Awaited(environment)
	if !awaited {
		return nil // its rules no longer exist
	}
	issues := make([]uint64, len(came))
	for i, key := range came {
		issues[i] = key.issue
	}
	totals, err := l.Totals.IssueTotals(ctx, []uint64{environment}, issues)
	if err != nil {
		return fmt.Errorf("reading what issues are called: %w", err)
	}
	told := issue.Regressions{Environment: environment, Block: block}
	for _, is := range issues {
		title := occurrence.IssueID(is)
		for _, total := range totals {
			if total.Issue == is && total.Environment == environment {
				title = total.Title()
			}
		}
		told.Issues = append(told.Issues, issue.TitledIssue{Issue: is, Title: title})
	}
	return l.Alerts.Regressed(ctx, app, told)
}

// firstSeen returns the issues, by environment, with as many occurrences in a block as in all. occurred counts the
// occurrences in the block.
func (l *Listener) firstSeen(ctx context.Context, environments, issues []uint64, occurred map[issueKey]uint64) (map[uint64][]issue.Total, error) {
	news := map[uint64][]issue.Total{}
	for part := range slices.Chunk(issues, totalsAtOnce) {
		totals, err := l.Totals.IssueTotals(ctx, environments, part)
		if err != nil {
			return nil, err
		}
		for _, total := range totals {
			if occurred[issueKey{total.Environment, total.Issue}] == total.Occurrences {
				news[total.Environment] = append(news[total.Environment], total)
			}
		}
	}
	return news, nil
}
