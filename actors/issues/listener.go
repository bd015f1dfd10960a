package issues

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"svc/actors/attempt"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// Listener makes resolved issues decide whether the occurrences of a block reopen them, and finds the issues that are
// new in it. It reports both to the alert rules that wait for them.
type Listener struct {
	pipeline.NopListener
	// Resolved holds the issues with occurrences that must be reported to their actors.
	Resolved *ResolvedSet
	Issues   occurredIssues
	// Continuation continues issues of the former grouping; it may be nil.
	Continuation *Continuation
	Totals       Totals
	Rules        issueRules
	Alerts       alertReceiver
	// Outbox stores the notes for actors that did not answer.
	Outbox *pipeline.Outbox
	Logger *slog.Logger

	// known holds the issues that are not new.
	known issueSet
	// lookingUp is set while the store does not answer the query for new issues.
	lookingUp atomic.Bool
}

// occurredIssues are the actors of issues.
type occurredIssues interface {
	// occurred returns the issues that regressed and must be reported, and the issues that did not answer. The
	// decisions are durable; the call may be repeated.
	occurred(ctx context.Context, block uint64, issues []issueHits, tells func(environment uint64) bool) ([]issueKey, []unreported)
	// noted confirms to issues that the alert rules received their regression.
	noted(ctx context.Context, block uint64, issues []issueKey) error
}

// issueRules knows which alert rules wait for issues.
type issueRules interface {
	// Awaited returns the application of an environment, and whether rules of the environment
	// wait for new issues, and for issues that regress.
	Awaited(environment uint64) (app domain.AppRef, newIssues, regressions bool)
	// FlushSoon makes the sink store the open block before the end of the interval, since rules of an environment wait
	// for an issue in it.
	FlushSoon(environment uint64)
}

// alertReceiver is the part of the alerting actors' client that receives issues.
type alertReceiver interface {
	// NewIssues returns once the decisions of the rules are durable; it may be repeated.
	NewIssues(ctx context.Context, app domain.AppRef, news issue.NewIssues) error
	// Regressed does the same for issues that regressed.
	Regressed(ctx context.Context, app domain.AppRef, regressions issue.Regressions) error
}

// Assigned loads the watched issues of the partitions.
func (l *Listener) Assigned(ctx context.Context, _ int, partitions []int) error {
	return l.Resolved.load(ctx, partitions)
}

// Open begins to gather the issues of a block.
func (l *Listener) Open() pipeline.BlockListener {
	return &issueBlock{listener: l, hits: blockHits{}}
}

// kindAlerting is the kind of the alerting actors, to which notes of new issues are addressed. It is
// stored with the notes.
const kindAlerting = "alerting"

// Deliveries returns the deliveries of occurrences to issues, and of new issues to alerting actors.
func (l *Listener) Deliveries() map[string]pipeline.Delivery {
	return map[string]pipeline.Delivery{kindIssue: l.deliver, kindAlerting: l.deliver}
}

// issueBlock holds the issues that occurred in one block.
type issueBlock struct {
	pipeline.NopBlockListener
	listener *Listener
	hits     blockHits
	// keys holds the keys of the occurrences, in order.
	keys []hitKey
	// continued holds the issues that continue an issue of the former grouping since this block.
	continued map[uint64]bool
}

// Saw gathers the issues of occurrences. If a rule waits for one of them, it makes the sink store the block soon.
func (b *issueBlock) Saw(offset int64, rows *ingest.Rows) {
	attempt.Each(len(rows.Occurrences), func(n int) {
		row := &rows.Occurrences[n]
		b.keys = append(b.keys, b.hits.add(row, offset))
		_, newIssues, regressions := b.listener.Rules.Awaited(row.EnvironmentNumber)
		if newIssues && !b.listener.known.has(row.Issue) || regressions && b.listener.Resolved.has(row.Issue) {
			b.listener.Rules.FlushSoon(row.EnvironmentNumber)
		}
	}, func(_ int, cause any) {
		b.listener.Logger.Error("an occurrence is stored and its issue does not know of it", "cause", cause)
	})
}

// Refused removes occurrences that are not stored.
func (b *issueBlock) Refused(kind ingest.LetterKind, rows []int) {
	if kind != ingest.LetterError {
		return
	}
	for _, row := range slices.Backward(rows) {
		b.hits.remove(b.keys[row])
		b.keys = slices.Delete(b.keys, row, row+1)
	}
}

// Stored first continues issues of the former grouping, then makes the resolved issues decide, and then reports new
// issues. The order matters because an issue that continues another is not new.
func (b *issueBlock) Stored(ctx context.Context, block *pipeline.StoredBlock) error {
	if err := b.decide(ctx, block); err != nil {
		return err
	}
	return b.reportNew(ctx, block)
}

// decide makes the resolved issues that occurred in a stored block decide whether they regressed, and reports the
// regressed ones to the alert rules. It runs between the insert and the commit: after a crash before the commit, the
// whole block comes again and every issue decides again. So no occurrence that queries see is overlooked; deciding
// twice changes nothing. The resolved set is read after the insert: by then it contains every resolution that preceded
// an occurrence of the block.
//
// Each issue has AnswerTime to answer. An issue that does not answer gets a note later, with the same result: it
// compares the moments of occurrences, which are in the note.
func (b *issueBlock) decide(ctx context.Context, block *pipeline.StoredBlock) error {
	l := b.listener
	b.continued = l.Continuation.continueIssues(ctx, block.ID, b.hits)
	if err := ctx.Err(); err != nil {
		return err
	}
	watch := l.Resolved
	if block.Recovered != nil {
		var err error
		if watch, err = l.Resolved.with(ctx, block.Recovered); err != nil {
			return err
		}
	}
	var now []issueHits
	var late []pipeline.Note
	for _, hits := range b.hits.watched(watch, b.continued) {
		if l.Outbox.Has(kindIssue, issueIdentity(hits.environment, hits.issue)) {
			late = append(late, noteOfHits(block.ID, hits))
		} else {
			now = append(now, hits)
		}
	}
	if len(now) > 0 {
		patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
		defer cancel()
		for _, missed := range l.reportIssues(patient, block.ID, now) {
			l.Logger.Warn("an issue will be told later that it occurred", "issue", occurrence.IssueID(missed.issue), "error", missed.err)
			late = append(late, noteOfHits(block.ID, missed.issueHits))
		}
	}
	return block.Later(ctx, late)
}

// reportIssues reports a block to its issues, and the regressed issues to the rules. It returns the issues for which
// that failed. It may be repeated.
func (l *Listener) reportIssues(ctx context.Context, block uint64, hits []issueHits) []unreported {
	regressed, late := l.Issues.occurred(ctx, block, hits, func(environment uint64) bool {
		_, _, regressions := l.Rules.Awaited(environment)
		return regressions
	})
	for environment, err := range l.reportRegressions(ctx, block, regressed) {
		for _, told := range hits {
			if told.environment == environment {
				late = append(late, unreported{told, err})
			}
		}
	}
	return late
}

// issueNote is the payload of a note: the new issues for an alerting actor, or the occurrences of an issue.
type issueNote struct {
	Block uint64            `json:"block"`
	App   domain.AppRef     `json:"app,omitzero"`
	News  []issue.NewIssues `json:"news,omitempty"`
	// Unseen lists issues that may be new, because the store did not answer.
	Unseen      []issueCount `json:"unseen,omitempty"`
	Environment uint64       `json:"environment,omitempty"`
	Issue       uint64       `json:"issue,omitempty"`
	Hits        []issue.Hit  `json:"hits,omitempty"`
}

// note makes the note for an actor.
func (n *issueNote) note(kind, identity string) pipeline.Note {
	payload, err := json.Marshal(n)
	if err != nil { // texts and numbers always encode
		panic(err)
	}
	return pipeline.Note{Kind: kind, Identity: identity, Block: n.Block, Environment: n.Environment, Payload: payload}
}

func noteOfHits(block uint64, hits issueHits) pipeline.Note {
	note := issueNote{Block: block, Environment: hits.environment, Issue: hits.issue, Hits: hits.hits}
	return note.note(kindIssue, issueIdentity(hits.environment, hits.issue))
}

// deliver reports the content of a note to its actor.
func (l *Listener) deliver(ctx context.Context, note pipeline.Note) error {
	var n issueNote
	if err := json.Unmarshal(note.Payload, &n); err != nil {
		return fmt.Errorf("%w: %w", pipeline.ErrUnreadable, err)
	}
	if len(n.Hits) > 0 {
		failed := l.reportIssues(ctx, n.Block, []issueHits{{environment: n.Environment, issue: n.Issue, hits: n.Hits}})
		if len(failed) > 0 {
			return failed[0].err
		}
	}
	news := n.News
	if len(n.Unseen) > 0 {
		found, err := l.lookUp(ctx, &n)
		if err != nil {
			return err
		}
		news = append(news, found...)
	}
	return l.notifyAlerts(ctx, n.App, news)
}
