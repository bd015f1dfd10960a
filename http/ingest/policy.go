package ingest

import (
	"errors"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/protos"
)

// Policies reads the telemetry policies of environments.
type Policies interface {
	// Telemetry returns the policy of an environment with the state of its budgets; it is the default if none was set.
	// The caller must not change it.
	Telemetry(environment uint64) *telemetry.State
}

// Tallies counts items that do not enter the log.
type Tallies interface {
	// Add adds counts, and returns a channel that is closed when they are durable.
	Add(counts ingest.UsageCounts) <-chan struct{}
}

// tallyWait is the time for which an answer waits until its refused items are counted durably. After that the answer is
// sent, and the counts wait for the log in memory.
const tallyWait = 2 * time.Second

// judge returns the fate of a valid item of a visitor, empty if it is accepted. hash is the hash of the visitor.
func (sub *submission) judge(signal ingest.Signal, hash uint64) ingest.Fate {
	s := sub.telemetry
	rate := 1.0
	switch signal {
	case ingest.SignalEvents:
		rate = s.Policy.Events.SampleRate
	case ingest.SignalFlags:
		rate = s.Policy.Flags.SampleRate
	case ingest.SignalErrors, ingest.SignalMetrics:
	}
	switch {
	case !telemetry.InSample(hash, rate):
		return ingest.FateSampled
	case !sub.isOver(signal), s.Policy.OverBudget == telemetry.BudgetAccept:
		return ""
	case s.Policy.OverBudget == telemetry.BudgetDrop, signal == ingest.SignalMetrics, !telemetry.InSample(hash, rate*telemetry.OverBudgetRate):
		return ingest.FateBudget
	}
	return ""
}

// isOver reports whether a signal has used up its budget of the month.
func (sub *submission) isOver(signal ingest.Signal) bool {
	if len(sub.telemetry.Over) == 0 {
		return false
	}
	_, over := sub.telemetry.Over[signal]
	return over && sub.telemetry.Month == domain.MonthOf(sub.now)
}

// turnAway drops an item for its fate. The answer counts a sampled item as accepted, because its sender made no
// mistake. It reports whether the item was dropped.
func (sub *submission) turnAway(index int, signal ingest.Signal, fate ingest.Fate) bool {
	switch {
	case fate == "":
		return false
	case fate == ingest.FateBudget && sub.telemetry.Policy.OverBudget == telemetry.BudgetDrop, fate == ingest.FateBudget && signal == ingest.SignalMetrics:
		sub.signal = signal
		sub.reject(index, ingest.CodeOverBudget, "The environment's monthly budget of "+string(signal)+" is used up.")
	default:
		sub.dropped++
		sub.count(signal, fate, "", 1)
	}
	return true
}

// switchedOff rejects an item of a signal that the policy switches off, and reports whether it did.
func (sub *submission) switchedOff(index int, signal ingest.Signal) bool {
	sub.signal = signal
	if sub.telemetry.Policy.Enabled(signal) {
		return false
	}
	sub.reject(index, ingest.CodeSignalOff, "The environment's telemetry policy has switched "+string(signal)+" off.")
	return true
}

// admitEvent checks an event against the policy. Events that identify a visitor are accepted independently of the
// sample.
func (sub *submission) admitEvent(e *protos.Event) ingest.Fate {
	if len(sub.telemetry.Over) == 0 && sub.telemetry.Policy.Events.SampleRate >= 1 {
		return ""
	}
	fate := sub.judge(ingest.SignalEvents, protos.VisitorHash(e.Environment, event.Visitor(e.DistinctId, e.AnonymousId)))
	tells := e.Name == event.IdentifyEvent || e.Name == event.AliasEvent
	if tells && (fate == ingest.FateSampled || sub.telemetry.Policy.OverBudget != telemetry.BudgetDrop) {
		return ""
	}
	return fate
}

// admitError checks an error against the policy. The budget does not affect the first errors of an issue.
func (sub *submission) admitError(o *protos.Occurrence) ingest.Fate {
	seen, inMinute := sub.collect.issues.note(o.Issue, sub.now)
	if limit := sub.telemetry.Policy.Errors.PerIssuePerMinute; limit > 0 && inMinute > limit {
		return ingest.FateRateLimited
	}
	if seen <= newIssueErrors || !sub.isOver(ingest.SignalErrors) {
		return ""
	}
	return sub.judge(ingest.SignalErrors, protos.VisitorHash(o.Environment, event.Visitor(o.DistinctId, o.AnonymousId)))
}

// newIssueErrors is the number of errors after which an issue is no longer new to a node.
const newIssueErrors = 10

// maxIssueNotes bounds the remembered issues; beyond it all issues are new again.
const maxIssueNotes = 1 << 17

// issueNotes counts the errors of each issue that this node received.
type issueNotes struct {
	mu sync.Mutex
	of map[uint64]*issueNote
}

// issueNote counts the errors of one issue: all, and the ones of the present minute.
type issueNote struct {
	seen, inMinute int
	minute         int64
}

// note counts an error and returns the number of errors in total and in the minute.
func (n *issueNotes) note(issue uint64, now time.Time) (seen, inMinute int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || len(n.of) > maxIssueNotes {
		n.of = map[uint64]*issueNote{}
	}
	known := n.of[issue]
	if known == nil {
		known = &issueNote{}
		n.of[issue] = known
	}
	if minute := now.Unix() / 60; known.minute != minute {
		known.minute, known.inMinute = minute, 0
	}
	known.seen++
	known.inMinute++
	return known.seen, known.inMinute
}

// count counts items of the request that do not enter the log.
func (sub *submission) count(signal ingest.Signal, fate ingest.Fate, code string, items int64) {
	environment := sub.named
	if sub.collector != nil {
		environment = sub.collector.Environment.Number
	}
	if environment == 0 {
		return
	}
	ms := sub.now.UnixMilli()
	sub.counts.Add(ingest.UsageCount{
		UsageKey: ingest.UsageKey{Environment: environment, Day: ingest.DayOf(ms), Signal: signal, Fate: fate, Code: code}, Items: items, Last: ms,
	})
}

// strip counts a part that was removed from a stored item.
func (sub *submission) strip(signal ingest.Signal, code string) {
	sub.count(signal, ingest.FateStripped, code, 1)
}

// account counts the items that the request did not bring into the log, before the answer with err. It does not count a
// request that the client must send again, because all of its items come again.
func (sub *submission) account(err error) {
	if sub.collect.Tallies == nil || isTransient(err) {
		return
	}
	for _, rejection := range sub.rejected {
		fate := ingest.RejectionFate(rejection.Code)
		code := ""
		if fate == ingest.FateInvalid {
			code = rejection.Code
		}
		sub.count(rejection.Signal, fate, code, 1)
	}
	if err != nil && len(sub.rejected)+sub.accepted+sub.dropped == 0 {
		fate, code := refusalFate(err, sub.collector == nil)
		sub.count(sub.signal, fate, code, 1)
	}
	if len(sub.counts) == 0 {
		return
	}
	durable := sub.collect.Tallies.Add(sub.counts)
	timer := time.NewTimer(tallyWait)
	defer timer.Stop()
	select {
	case <-durable:
	case <-timer.C:
	case <-sub.request.Context().Done():
	}
}

// isTransient reports whether an error asks the client to send the request again.
func isTransient(err error) bool {
	if err == nil {
		return false
	}
	switch domain.CodeOf(err) {
	case domain.CodeUnavailable, domain.CodeInternal:
		return true
	}
	return false
}

// refusalFate returns the fate and the code of a request that is refused as a whole.
func refusalFate(err error, keyless bool) (ingest.Fate, string) {
	switch {
	case keyless:
		return ingest.FateBadKey, ""
	case domain.CodeOf(err) == domain.CodeRateLimited:
		return ingest.FateRateLimited, ""
	}
	return ingest.FateInvalid, firstCode(err)
}

// firstCode returns the most specific code of a refusal.
func firstCode(err error) string {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		if known.Reason != "" {
			return known.Reason
		}
		if len(known.Fields) > 0 && known.Fields[0].Code != "" {
			return known.Fields[0].Code
		}
	}
	return string(domain.CodeOf(err))
}

// exclude reports whether an event, or a vital in the form of an event, is internal traffic, which is not stored, and
// counts it. The answer does not show it: to a page, an excluded event is an accepted one.
func (sub *submission) exclude(signal ingest.Signal, e *protos.Event) bool {
	if sub.collector.Exclusions == nil {
		return false
	}
	reason := sub.collector.Exclusions.Reason(sub.collect.ExclusionKey, e.Ip, e.UserAgent, event.HostOf(e.Url), e.Path)
	if reason == "" {
		return false
	}
	sub.dropped++
	sub.count(signal, ingest.FateExcluded, string(reason), 1)
	return true
}
