package ingest

import (
	"errors"
	"sync"
	"time"

	"svc"
	"svc/protos"
)

// Policies reads the telemetry policies of environments.
type Policies interface {
	// Telemetry returns the policy of an environment with the state of its budgets; it is the default if none was set.
	// The caller must not change it.
	Telemetry(environment uint64) *svc.TelemetryState
}

// Tallies counts items that do not enter the log.
type Tallies interface {
	// Add adds counts, and returns a channel that is closed when they are durable.
	Add(counts svc.UsageCounts) <-chan struct{}
}

// tallyWait is the time for which an answer waits until its refused items are counted durably. After that the answer is
// sent, and the counts wait for the log in memory.
const tallyWait = 2 * time.Second

// judge returns the fate of a valid item of a visitor, empty if it is accepted. hash is the hash of the visitor.
func (sub *submission) judge(signal svc.Signal, hash uint64) svc.Fate {
	s := sub.telemetry
	rate := 1.0
	switch signal {
	case svc.SignalEvents:
		rate = s.Policy.Events.SampleRate
	case svc.SignalFlags:
		rate = s.Policy.Flags.SampleRate
	case svc.SignalErrors, svc.SignalMetrics:
	}
	switch {
	case !svc.InSample(hash, rate):
		return svc.FateSampled
	case !sub.isOver(signal), s.Policy.OverBudget == svc.BudgetAccept:
		return ""
	case s.Policy.OverBudget == svc.BudgetDrop, signal == svc.SignalMetrics, !svc.InSample(hash, rate*svc.OverBudgetRate):
		return svc.FateBudget
	}
	return ""
}

// isOver reports whether a signal has used up its budget of the month.
func (sub *submission) isOver(signal svc.Signal) bool {
	if len(sub.telemetry.Over) == 0 {
		return false
	}
	_, over := sub.telemetry.Over[signal]
	return over && sub.telemetry.Month == svc.MonthOf(sub.now)
}

// turnAway drops an item for its fate. The answer counts a sampled item as accepted, because its sender made no
// mistake. It reports whether the item was dropped.
func (sub *submission) turnAway(index int, signal svc.Signal, fate svc.Fate) bool {
	switch {
	case fate == "":
		return false
	case fate == svc.FateBudget && sub.telemetry.Policy.OverBudget == svc.BudgetDrop, fate == svc.FateBudget && signal == svc.SignalMetrics:
		sub.signal = signal
		sub.reject(index, svc.CodeOverBudget, "The environment's monthly budget of "+string(signal)+" is used up.")
	default:
		sub.dropped++
		sub.count(signal, fate, "", 1)
	}
	return true
}

// switchedOff rejects an item of a signal that the policy switches off, and reports whether it did.
func (sub *submission) switchedOff(index int, signal svc.Signal) bool {
	sub.signal = signal
	if sub.telemetry.Policy.Enabled(signal) {
		return false
	}
	sub.reject(index, svc.CodeSignalOff, "The environment's telemetry policy has switched "+string(signal)+" off.")
	return true
}

// admitEvent checks an event against the policy. Events that identify a visitor are accepted independently of the
// sample.
func (sub *submission) admitEvent(event *protos.Event) svc.Fate {
	if len(sub.telemetry.Over) == 0 && sub.telemetry.Policy.Events.SampleRate >= 1 {
		return ""
	}
	fate := sub.judge(svc.SignalEvents, protos.VisitorHash(event.Environment, svc.Visitor(event.DistinctId, event.AnonymousId)))
	tells := event.Name == svc.IdentifyEvent || event.Name == svc.AliasEvent
	if tells && (fate == svc.FateSampled || sub.telemetry.Policy.OverBudget != svc.BudgetDrop) {
		return ""
	}
	return fate
}

// admitError checks an error against the policy. The budget does not affect the first errors of an issue.
func (sub *submission) admitError(o *protos.Occurrence) svc.Fate {
	seen, inMinute := sub.collect.issues.note(o.Issue, sub.now)
	if limit := sub.telemetry.Policy.Errors.PerIssuePerMinute; limit > 0 && inMinute > limit {
		return svc.FateRateLimited
	}
	if seen <= newIssueErrors || !sub.isOver(svc.SignalErrors) {
		return ""
	}
	return sub.judge(svc.SignalErrors, protos.VisitorHash(o.Environment, svc.Visitor(o.DistinctId, o.AnonymousId)))
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
func (sub *submission) count(signal svc.Signal, fate svc.Fate, code string, items int64) {
	environment := sub.named
	if sub.collector != nil {
		environment = sub.collector.Environment.Number
	}
	if environment == 0 {
		return
	}
	ms := sub.now.UnixMilli()
	sub.counts.Add(svc.UsageCount{
		UsageKey: svc.UsageKey{Environment: environment, Day: svc.DayOf(ms), Signal: signal, Fate: fate, Code: code}, Items: items, Last: ms,
	})
}

// strip counts a part that was removed from a stored item.
func (sub *submission) strip(signal svc.Signal, code string) {
	sub.count(signal, svc.FateStripped, code, 1)
}

// account counts the items that the request did not bring into the log, before the answer with err. It does not count a
// request that the client must send again, because all of its items come again.
func (sub *submission) account(err error) {
	if sub.collect.Tallies == nil || isTransient(err) {
		return
	}
	for _, rejection := range sub.rejected {
		fate := svc.RejectionFate(rejection.Code)
		code := ""
		if fate == svc.FateInvalid {
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
	switch svc.CodeOf(err) {
	case svc.CodeUnavailable, svc.CodeInternal:
		return true
	}
	return false
}

// refusalFate returns the fate and the code of a request that is refused as a whole.
func refusalFate(err error, keyless bool) (svc.Fate, string) {
	switch {
	case keyless:
		return svc.FateBadKey, ""
	case svc.CodeOf(err) == svc.CodeRateLimited:
		return svc.FateRateLimited, ""
	}
	return svc.FateInvalid, firstCode(err)
}

// firstCode returns the most specific code of a refusal.
func firstCode(err error) string {
	if known, ok := errors.AsType[*svc.Error](err); ok {
		if known.Reason != "" {
			return known.Reason
		}
		if len(known.Fields) > 0 && known.Fields[0].Code != "" {
			return known.Fields[0].Code
		}
	}
	return string(svc.CodeOf(err))
}

// exclude reports whether an event, or a vital in the form of an event, is internal traffic, which is not stored, and
// counts it. The answer does not show it: to a page, an excluded event is an accepted one.
func (sub *submission) exclude(signal svc.Signal, event *protos.Event) bool {
	if sub.collector.Exclusions == nil {
		return false
	}
	reason := sub.collector.Exclusions.Reason(sub.collect.ExclusionKey, event.Ip, event.UserAgent, svc.HostOf(event.Url), event.Path)
	if reason == "" {
		return false
	}
	sub.dropped++
	sub.count(signal, svc.FateExcluded, string(reason), 1)
	return true
}
