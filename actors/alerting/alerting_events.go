package alerting

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// The messages of the alerting actor, and the handlers of reports.

type (
	uptimeReport struct {
		MonitorID string    `json:"monitorId"`
		Down      uint32    `json:"down"`
		CheckedAt time.Time `json:"checkedAt"`
	}
	// unwatched names a monitor that is no longer checked.
	unwatched struct {
		MonitorID string `json:"monitorId"`
	}
	measuredReport struct {
		// At is when the measuring began.
		At     time.Time       `json:"at"`
		Values []measuredValue `json:"values"`
	}
	// reportedIssues names the issues that a rule has received, the oldest first: new issues and regressions. It
	// identifies repeated reports.
	reportedIssues struct {
		// Blocks had new issues that an earlier version of the program reported without their names.
		Blocks    []uint64 `json:"blocks,omitempty"`
		Issues    []uint64 `json:"issues,omitempty"`
		Regressed []uint64 `json:"regressed,omitempty"`
	}
	measuredValue struct {
		RuleID          string    `json:"ruleId"`
		Value           float64   `json:"value"`
		Known           bool      `json:"known"`
		SuppressedUntil time.Time `json:"suppressedUntil"`
	}
	sentReport struct {
		ID    string `json:"id"`
		OK    bool   `json:"ok"`
		Retry bool   `json:"retry"`
		// Answer explains in a sentence why the attempt failed.
		Answer string `json:"answer,omitempty"`
	}
	plan struct {
		// Measure lists the rules to measure because their interval has passed. Look lists the rules with counts that
		// changed in the stream. Read lists the windows to read from the store; Asked is when the reading was
		// requested.
		Measure []alert.Rule    `json:"measure"`
		Look    []alert.Rule    `json:"look"`
		Read    []alert.Counter `json:"read"`
		Asked   time.Time       `json:"asked"`
		Send    []planned       `json:"send"`
	}
	planned struct {
		Channel  alert.Channel  `json:"channel"`
		Delivery alert.Delivery `json:"delivery"`
	}
	incidentCommand struct {
		ID string             `json:"id"`
		By domain.LedgerActor `json:"by"`
	}
)

// onUptimes receives how many checks of each monitor failed in a row, 0 once it is up. Reports may overtake
// each other; the older one is dropped.
func (a *alerting) onUptimes(now time.Time, monitors []uptimeReport) (grain.Outcome[grain.None], error) {
	result, rules := grain.Answer(grain.None{}), map[string][]alert.Rule{}
	for _, rule := range a.sorted(func(r alert.Rule) bool { return r.Kind == alert.Uptime }) {
		rules[rule.Condition.MonitorID] = append(rules[rule.Condition.MonitorID], rule)
	}
	for _, m := range monitors {
		if !m.CheckedAt.After(a.checked[m.MonitorID]) {
			continue
		}
		a.checked[m.MonitorID] = m.CheckedAt
		for _, rule := range rules[m.MonitorID] {
			next, events := rule.Apply(a.states[rule.ID], alert.Measurement{At: now, Value: float64(m.Down), Known: true})
			a.transition(&result.Effects, rule, next, events, now)
		}
	}
	return result, nil
}

// onUnwatched handles a monitor that was deleted or disabled: no check will report it up again, so its rules
// are reset. Reports of earlier checks are ignored from now on.
func (a *alerting) onUnwatched(now time.Time, m unwatched) (grain.Outcome[grain.None], error) {
	result := grain.Answer(grain.None{})
	a.checked[m.MonitorID] = now
	for _, rule := range a.sorted(func(r alert.Rule) bool { return r.Kind == alert.Uptime && r.Condition.MonitorID == m.MonitorID }) {
		a.reset(&result.Effects, rule, now)
	}
	return result, nil
}

// blocksKept is the number of blocks that are remembered for each rule. A block is reported again until it is
// committed; meanwhile only other nodes report blocks with new issues, each of them one at a time.
const blocksKept = 128

// issuesKept is the number of new issues that are remembered for each rule, for as long as their block may be reported
// again.
const issuesKept = 2048

// onIssues receives issues that are new. Each rule skips issues that it received before; its resulting
// state is stored together with the names of the others, so an issue counts once.
func (a *alerting) onIssues(now time.Time, m issue.NewIssues) (grain.Outcome[grain.None], error) {
	result := grain.Answer(grain.None{})
	for _, rule := range a.sorted(func(r alert.Rule) bool { return r.Kind == alert.NewIssue && r.Number == m.Environment }) {
		known := a.reported[rule.ID]
		fresh := unreported(known.Issues, m.Block, m.Issues)
		if slices.Contains(known.Blocks, m.Block) || len(m.Issues) > 0 && len(fresh) == 0 {
			continue
		}
		measured := alert.Measurement{Known: true, Issue: m.ID, IssueTitle: m.Title, Others: m.Others}
		if len(fresh) > 0 {
			measured.Issue, measured.IssueTitle, measured.Others = occurrence.IssueID(fresh[0].Issue), fresh[0].Title, len(fresh)-1
		} else {
			known.Blocks = append(slices.Clone(known.Blocks[max(0, len(known.Blocks)-blocksKept+1):]), m.Block)
		}
		known.Issues = remember(known.Issues, m.Block, fresh, issuesKept)
		a.reported[rule.ID] = known
		a.report(&result.Effects, rule, measured, now)
	}
	return result, nil
}

// regressionsKept is the number of regressions that are remembered for each rule. A regression is reported again until
// its issue has stored that it was received, which follows at once.
const regressionsKept = 1024

// issueOfBlock returns a name for an issue that was new in a block, or that regressed with it.
func issueOfBlock(block, issue uint64) uint64 { return block ^ bits.RotateLeft64(issue, 32) }

// unreported returns the issues of a block that are not among some names.
func unreported(names []uint64, block uint64, issues []issue.TitledIssue) []issue.TitledIssue {
	return slices.DeleteFunc(slices.Clone(issues), func(i issue.TitledIssue) bool {
		return slices.Contains(names, issueOfBlock(block, i.Issue))
	})
}

// remember adds the names of a block's issues, and returns at most the newest kept names.
func remember(names []uint64, block uint64, issues []issue.TitledIssue, kept int) []uint64 {
	names = slices.Clone(names)
	for _, issue := range issues {
		names = append(names, issueOfBlock(block, issue.Issue))
	}
	return names[max(0, len(names)-kept):]
}

// report applies issues to a rule. The clock of the actor's previous node may have been ahead. So a measurement is
// never older than the rule's last one, since the rule would ignore it.
func (a *alerting) report(effects *grain.Effects, rule alert.Rule, measured alert.Measurement, now time.Time) {
	before := a.states[rule.ID]
	measured.At = now
	if last := before.LastEvaluatedAt; last.After(now) {
		measured.At = last
	}
	next, events := rule.Apply(before, measured)
	a.states[rule.ID] = next
	a.store(effects, rule, before, events, now)
}

// onRegressions receives issues that regressed. Each rule skips regressions that it received before; its resulting
// state is stored together with the names of the others.
func (a *alerting) onRegressions(now time.Time, m issue.Regressions) (grain.Outcome[grain.None], error) {
	result := grain.Answer(grain.None{})
	for _, rule := range a.sorted(func(r alert.Rule) bool { return r.ReportsRegressions() && r.Number == m.Environment }) {
		known := a.reported[rule.ID]
		fresh := unreported(known.Regressed, m.Block, m.Issues)
		if len(fresh) == 0 {
			continue
		}
		known.Regressed = remember(known.Regressed, m.Block, fresh, regressionsKept)
		a.reported[rule.ID] = known
		a.report(&result.Effects, rule, alert.Measurement{
			Known: true, Regressed: true, Issue: occurrence.IssueID(fresh[0].Issue), IssueTitle: fresh[0].Title, Others: len(fresh) - 1,
		}, now)
	}
	return result, nil
}

func (a *alerting) onMeasured(now time.Time, m measuredReport) (grain.Outcome[grain.None], error) {
	result := grain.Answer(grain.None{})
	for _, value := range m.Values {
		rule, known := a.rules[value.RuleID]
		if !known || !rule.Enabled || rule.Condition.Per == "" || m.At.Before(rule.UpdatedAt) {
			continue
		}
		state := a.states[rule.ID]
		state.SuppressedUntil = value.SuppressedUntil
		if now.Before(value.SuppressedUntil) && rule.Suppressible() {
			a.states[rule.ID] = state
			continue
		}
		next, events := rule.Apply(state, alert.Measurement{At: m.At, Value: value.Value, Known: value.Known})
		a.transition(&result.Effects, rule, next, events, now)
	}
	return result, nil
}

// sorted returns the enabled rules that meet a condition, by id.
func (a *alerting) sorted(of func(alert.Rule) bool) (rules []alert.Rule) {
	for _, id := range slices.Sorted(maps.Keys(a.rules)) {
		if rule := a.rules[id]; rule.Enabled && of(rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// onPlan applies the passing of time to the rules, and returns the work that is due: measuring, reading and sending.
func (a *alerting) onPlan(now time.Time, _ grain.None) (grain.Outcome[plan], error) {
	result, ahead := grain.Outcome[plan]{}, plan{}
	for _, rule := range a.sorted(func(r alert.Rule) bool { return r.Kind.Reported() }) {
		before := a.states[rule.ID]
		if due := rule.Due(&before, now); due.IsZero() || due.After(now) {
			continue
		}
		next, events := rule.Tick(before, now)
		a.transition(&result.Effects, rule, next, events, now)
	}
	a.evaluateDue(&result.Effects, now)
	ahead.Measure, ahead.Look, ahead.Read = a.toMeasure(now), a.toMeasureSoon(), a.toRead(now)
	ahead.Asked = a.reading
	for _, delivery := range a.sendable() {
		if !delivery.Next.After(now) {
			ahead.Send = append(ahead.Send, planned{a.channels[delivery.ChannelID], delivery})
		}
	}
	result.Answer = ahead
	return result, nil
}

// sendable returns the deliveries that may be sent: the oldest of each incident and channel. So no channel receives the
// end of an incident before its beginning.
func (a *alerting) sendable() (out []alert.Delivery) {
	all := slices.SortedFunc(maps.Values(a.deliveries), func(x, y alert.Delivery) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	seen := map[[2]string]bool{}
	for _, delivery := range all {
		key := [2]string{delivery.ChannelID, delivery.Notice.Incident.ID}
		if !seen[key] {
			out = append(out, delivery)
		}
		seen[key] = true
	}
	return out
}

func (a *alerting) onSent(now time.Time, m sentReport) (grain.Outcome[grain.None], error) {
	delivery, known := a.deliveries[m.ID]
	if !known {
		return grain.Answer(grain.None{}), nil
	}
	next, again := delivery.Failed(now, m.Retry)
	switch {
	case m.OK:
		delete(a.deliveries, m.ID)
		return a.stored(grain.Delete(kindDelivery, m.ID), a.record(&next, alert.NoticeDelivered, now, "")), nil
	case !again:
		delete(a.deliveries, m.ID)
		return a.stored(grain.Delete(kindDelivery, m.ID), a.record(&next, alert.NoticeFailed, now, m.Answer)), nil
	}
	a.deliveries[m.ID] = next
	return a.stored(grain.Put(kindDelivery, m.ID, next), a.record(&next, alert.NoticeWaiting, now, m.Answer)), nil
}

// stored returns an outcome with writes.
func (a *alerting) stored(writes ...grain.Write) grain.Outcome[grain.None] {
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: writes, After: a.changed}}
}

// incidentRule finds the rule of an incident.
func (a *alerting) incidentRule(id string) (alert.Rule, error) {
	for ruleID, state := range a.states {
		if state.Incident != nil && state.Incident.ID == id {
			return a.rules[ruleID], nil
		}
	}
	return alert.Rule{}, domain.NotFound("incident")
}

func (a *alerting) onAcknowledge(now time.Time, m incidentCommand) (grain.Outcome[alert.Incident], error) {
	rule, err := a.incidentRule(m.ID)
	if err != nil {
		return grain.Outcome[alert.Incident]{}, err
	}
	state := a.states[rule.ID]
	changed, err := state.Incident.Acknowledge(m.By, now)
	if err != nil {
		return grain.Outcome[alert.Incident]{}, err
	}
	state.Incident = &changed
	result := grain.Answer(changed)
	a.transition(&result.Effects, rule, state, nil, now)
	return result, nil
}

func (a *alerting) onResolve(now time.Time, m incidentCommand) (grain.Outcome[alert.Incident], error) {
	rule, err := a.incidentRule(m.ID)
	if err != nil {
		return grain.Outcome[alert.Incident]{}, err
	}
	if !a.states[rule.ID].Incident.Live() {
		return grain.Outcome[alert.Incident]{}, &domain.Error{Code: domain.CodeConflict, Reason: "incident_resolved", Message: "The incident is resolved already."}
	}
	result := grain.Outcome[alert.Incident]{}
	a.resolveIncident(&result.Effects, rule, &m.By, now)
	result.Answer = *a.states[rule.ID].Incident
	return result, nil
}

func (a *alerting) onChannels(time.Time, grain.None) (grain.Outcome[[]alert.Channel], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(a.channels), func(x, y alert.Channel) int { return cmp.Compare(x.ID, y.ID) })), nil
}

func (a *alerting) onPutChannel(_ time.Time, channel alert.Channel) (grain.Outcome[alert.Channel], error) {
	if made, there := a.channels[channel.ID]; there {
		return grain.Again(made), nil
	}
	if len(a.channels) >= alert.MaxChannels {
		return grain.Outcome[alert.Channel]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: "The application has as many channels as it may have; delete one first."}
	}
	a.channels[channel.ID] = channel
	return grain.Answer(channel, grain.Put(kindChannel, channel.ID, channel)), nil
}

// onDeleteChannel removes a channel that no rule names, with its undelivered notices.
func (a *alerting) onDeleteChannel(now time.Time, m findRule) (grain.Outcome[grain.None], error) {
	if _, known := a.channels[m.ID]; !known {
		return grain.Outcome[grain.None]{}, domain.NotFound("channel")
	}
	for _, rule := range a.rules {
		if slices.Contains(rule.ChannelIDs, m.ID) {
			return grain.Outcome[grain.None]{}, &domain.Error{Code: domain.CodeConflict, Reason: "channel_in_use", Message: "The alert rule " + rule.ID + " names the channel; change it first."}
		}
	}
	result := a.stored(grain.Delete(kindChannel, m.ID))
	for id, delivery := range a.deliveries {
		if delivery.ChannelID == m.ID {
			delete(a.deliveries, id)
			result.Writes = append(result.Writes, grain.Delete(kindDelivery, id), a.record(&delivery, alert.NoticeDropped, now, ""))
		}
	}
	delete(a.channels, m.ID)
	return result, nil
}

// next returns when the actor must make its next plan, or the zero time for never.
func (a *alerting) next(now time.Time) (next time.Time) {
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for id, rule := range a.rules {
		state := a.states[id]
		switch {
		case !rule.Enabled:
		case rule.Kind.Reported():
			sooner(rule.Due(&state, now))
		case a.pending[id]:
			sooner(now)
		case rule.Condition.Per != "":
			sooner(a.measured.Add(evaluateEvery))
		}
	}
	sooner(a.nextWindow(now))
	for _, delivery := range a.sendable() {
		sooner(delivery.Next)
	}
	return next
}
