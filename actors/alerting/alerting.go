package alerting

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
)

// KindAlerting is the kind of the alerting actor, and the prefix of the owners of its entities.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       alert rules with their states and incidents, channels, silences, notices on their way
//	persists   entities rule, alert_state, incident, channel, silence, delivery, notice
//	woken by   calls, blocks of the stream, and the schedule of the node: when time alone ends a
//	           state or changes a value, when a notice is due
//	limits     1,000 rules, 100 channels, 200 silences
//	stops      after ten minutes without a message; the schedule activates it again
//
// The state of a rule that fires and its notices are stored in one write, so a restart neither repeats nor loses a
// notice.
const KindAlerting = "alerting"

// The kinds of its entities.
const (
	KindRule       = "rule"
	kindAlertState = "alert_state"
	// kindReported names the issues that all rules of an environment received from an earlier version.
	kindReported = "alert_told"
	kindIncident = "incident"
	kindChannel  = "channel"
	kindDelivery = "delivery"
	kindSilence  = "silence"
	// kindNotice records the outcome of deliveries; like incidents, these are never loaded.
	kindNotice = "notice"
)

const (
	// evaluateEvery is the time between two measurements.
	evaluateEvery = 10 * time.Second
	// saveEvery is how often a state is stored if only its numbers change.
	saveEvery = time.Minute
)

// alerting is the core.
type alerting struct {
	app        domain.AppRef
	rules      map[string]alert.Rule
	states     map[string]alert.State
	channels   map[string]alert.Channel
	deliveries map[string]alert.Delivery
	silences   map[string]alert.Silence
	// reported names the issues that each rule has received.
	reported map[string]reportedIssues
	// saved holds the time of each state's last save, and checked the time of each monitor's latest check. evaluated
	// holds the time of each counting rule's last evaluation. measured is when the session-rate rules were last
	// measured. They are in memory only.
	saved     map[string]time.Time
	checked   map[string]time.Time
	evaluated map[string]time.Time
	measured  time.Time
	// windows hold the counts of rules. divided names the session-rate rules of each counter, and pending the ones to
	// measure at once (alerting_window.go).
	windows map[alert.Counter]*window
	divided map[alert.Counter][]string
	pending map[string]bool
	// reading is when the latest reading of windows was requested.
	reading time.Time
	// seenBlocks is when each stored block was reported; pruned is when old ones were last removed.
	seenBlocks map[uint64]time.Time
	pruned     time.Time
	// started is when the node began to take in data; flush is how long a block may be open.
	started time.Time
	flush   time.Duration
	now     func() time.Time
	// publish updates the node's rule index.
	publish func(version domain.Version, app domain.AppRef, rules []alert.Rule)
	// changed runs after every change.
	changed func(domain.Version)
}

var alertingKind = grain.NewKind[*alerting](KindAlerting, 1, monitorIdle)

// The methods of the alerting actor.
var (
	alertingRules         = grain.On(alertingKind, "rules", (*alerting).onRules)
	alertingPutRule       = grain.On(alertingKind, "rule.put", (*alerting).onPutRule)
	alertingDeleteRule    = grain.On(alertingKind, "rule.delete", (*alerting).onDeleteRule)
	alertingUptimes       = grain.On(alertingKind, "uptimes", (*alerting).onUptimes)
	alertingUnwatched     = grain.On(alertingKind, "unwatched", (*alerting).onUnwatched, grain.Repeatable)
	alertingIssues        = grain.On(alertingKind, "issues", (*alerting).onIssues, grain.Repeatable)
	alertingRegressions   = grain.On(alertingKind, "regressions", (*alerting).onRegressions, grain.Repeatable)
	alertingStream        = grain.On(alertingKind, "stream", (*alerting).onStream, grain.Repeatable)
	alertingCounted       = grain.On(alertingKind, "counted", (*alerting).onCounted, grain.Repeatable)
	alertingMissed        = grain.On(alertingKind, "missed", (*alerting).onMissed)
	alertingRead          = grain.On(alertingKind, "read", (*alerting).onRead)
	alertingMeasured      = grain.On(alertingKind, "measured", (*alerting).onMeasured)
	alertingPlan          = grain.On(alertingKind, "plan", (*alerting).onPlan)
	alertingSent          = grain.On(alertingKind, "sent", (*alerting).onSent)
	alertingAcknowledge   = grain.On(alertingKind, "incident.acknowledge", (*alerting).onAcknowledge)
	alertingResolve       = grain.On(alertingKind, "incident.resolve", (*alerting).onResolve)
	alertingChannels      = grain.On(alertingKind, "channels", (*alerting).onChannels)
	alertingPutChannel    = grain.On(alertingKind, "channel.put", (*alerting).onPutChannel)
	alertingDeleteChannel = grain.On(alertingKind, "channel.delete", (*alerting).onDeleteChannel)
	alertingChangeChannel = grain.On(alertingKind, "channel.change", (*alerting).onChangeChannel)
	alertingSilences      = grain.On(alertingKind, "silences", (*alerting).onSilences)
	alertingPutSilence    = grain.On(alertingKind, "silence.put", (*alerting).onPutSilence)
	alertingDeleteSilence = grain.On(alertingKind, "silence.delete", (*alerting).onDeleteSilence)
)

func (a *alerting) Restore(entities []domain.Entity) error {
	a.rules, a.states, a.saved = map[string]alert.Rule{}, map[string]alert.State{}, map[string]time.Time{}
	a.channels, a.deliveries, a.checked = map[string]alert.Channel{}, map[string]alert.Delivery{}, map[string]time.Time{}
	a.silences = map[string]alert.Silence{}
	a.reported, a.evaluated, a.pending = map[string]reportedIssues{}, map[string]time.Time{}, map[string]bool{}
	a.windows, a.seenBlocks, a.reading = nil, map[uint64]time.Time{}, time.Time{}
	earlier := map[uint64]reportedIssues{}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case KindRule:
			a.rules[entity.ID], err = grain.Decode[alert.Rule](entity)
		case kindAlertState:
			var stored storedState
			stored, err = grain.Decode[storedState](entity)
			a.states[entity.ID] = stored.State
			if stored.Reported != nil {
				a.reported[entity.ID] = *stored.Reported
			}
		case kindChannel:
			a.channels[entity.ID], err = grain.Decode[alert.Channel](entity)
		case kindDelivery:
			a.deliveries[entity.ID], err = grain.Decode[alert.Delivery](entity)
		case kindSilence:
			a.silences[entity.ID], err = grain.Decode[alert.Silence](entity)
		case kindReported:
			var environment uint64
			if environment, err = strconv.ParseUint(entity.ID, 10, 64); err == nil {
				earlier[environment], err = grain.Decode[reportedIssues](entity)
			}
		}
		if err != nil {
			return err
		}
	}
	for id, rule := range a.rules {
		if _, known := a.reported[id]; !known && rule.Kind == alert.NewIssue {
			a.reported[id] = earlier[rule.Number]
		}
	}
	a.align(a.now(), false)
	return nil
}

// storedState is the stored form of a rule's state. The counts of a rule and the names of its received issues are one
// entity. So a write that arrives after the actor has moved replaces both or neither.
type storedState struct {
	alert.State
	// Reported is nil for rules that are not about issues.
	Reported *reportedIssues `json:"reported,omitempty"`
}

// putState returns the write of a rule's state.
func (a *alerting) putState(rule alert.Rule) grain.Write {
	stored := storedState{State: a.states[rule.ID]}
	if rule.Kind == alert.NewIssue {
		reported := a.reported[rule.ID]
		stored.Reported = &reported
	}
	return grain.Put(kindAlertState, rule.ID, stored)
}

func (a *alerting) row(id string) alert.Row {
	row := alert.Row{Rule: a.rules[id], Seen: a.states[id]}
	if row.Seen.State == "" {
		row.Seen.State = alert.OK
	}
	return row
}

func (a *alerting) onRules(time.Time, grain.None) (grain.Outcome[[]alert.Row], error) {
	rows := []alert.Row{}
	for _, id := range slices.Sorted(maps.Keys(a.rules)) {
		rows = append(rows, a.row(id))
	}
	return grain.Answer(rows), nil
}

type putRule struct {
	ID    string      `json:"id"`
	New   bool        `json:"new"`
	Patch alert.Patch `json:"patch"`
	// SetRecovery and Recovery repeat the fields of the patch, for nodes of earlier versions.
	SetRecovery bool     `json:"setRecovery"`
	Recovery    *float64 `json:"recovery"`
	// Environment is empty if a change does not name it.
	Environment string `json:"environment"`
	Number      uint64 `json:"number"`
}

func (a *alerting) onPutRule(now time.Time, p putRule) (grain.Outcome[alert.Row], error) {
	rule, known := a.rules[p.ID]
	switch {
	case !known && !p.New:
		return grain.Outcome[alert.Row]{}, domain.NotFound("alert rule")
	case known && p.New:
		return grain.Again(a.row(p.ID)), nil
	case known && p.Environment != "" && p.Environment != rule.Environment:
		return grain.Outcome[alert.Row]{}, domain.Invalid(alert.EnvironmentFixed("env", rule.Environment))
	case !known && len(a.rules) >= alert.MaxRules:
		return grain.Outcome[alert.Row]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: "The application has as many alert rules as it may have; delete one first."}
	case !known:
		rule = alert.Rule{ID: p.ID, Spec: alert.DefaultAlert(), Environment: p.Environment, Number: p.Number, CreatedAt: now}
	}
	if p.SetRecovery {
		p.Patch.SetRecovery, p.Patch.Recovery = true, p.Recovery
	}
	before := rule
	rule.Spec, rule.UpdatedAt = rule.With(p.Patch), now
	problems := append(rule.Validate(), rule.CheckChannels(func(id string) bool { _, ok := a.channels[id]; return ok })...)
	if len(problems) > 0 {
		return grain.Outcome[alert.Row]{}, domain.Invalid(problems...)
	}
	a.rules[rule.ID] = rule
	delete(a.evaluated, rule.ID)
	a.align(now, true)
	result := grain.Outcome[alert.Row]{Effects: grain.Effects{Writes: []grain.Write{grain.Put(KindRule, rule.ID, rule)}}}
	if known && (!rule.Enabled || before.Kind != rule.Kind || !sameCondition(before.Condition, rule.Condition)) {
		a.reset(&result.Effects, rule, now)
	}
	result.Answer, result.After = a.row(rule.ID), a.published
	return result, nil
}

// published runs once changed rules are stored.
func (a *alerting) published(version domain.Version) {
	a.publish(version, a.app, slices.Collect(maps.Values(a.rules)))
	a.changed(version)
}

func sameCondition(a, b alert.Condition) bool {
	labels := maps.Equal(a.Labels, b.Labels)
	a.Labels, b.Labels = nil, nil
	return labels && a.Name == b.Name && a.Agg == b.Agg && a.MonitorID == b.MonitorID && a.Vital == b.Vital && a.Path == b.Path && a.Level == b.Level && a.Per == b.Per
}

type findRule struct {
	ID string `json:"id"`
}

func (a *alerting) onDeleteRule(now time.Time, m findRule) (grain.Outcome[grain.None], error) {
	rule, known := a.rules[m.ID]
	if !known {
		return grain.Outcome[grain.None]{}, domain.NotFound("alert rule")
	}
	result := grain.Answer(grain.None{})
	a.resolveIncident(&result.Effects, rule, nil, now)
	result.After = a.published
	delete(a.rules, m.ID)
	delete(a.evaluated, m.ID)
	a.align(now, true)
	delete(a.states, m.ID)
	delete(a.saved, m.ID)
	delete(a.reported, m.ID)
	result.Writes = append(result.Writes, grain.Delete(KindRule, m.ID), grain.Delete(kindAlertState, m.ID))
	return result, nil
}

// resolveIncident resolves the incident of a rule.
func (a *alerting) resolveIncident(into *grain.Effects, rule alert.Rule, by *domain.LedgerActor, now time.Time) {
	state, events := a.states[rule.ID].Resolve(by, now)
	a.transition(into, rule, state, events, now)
}

// reset resolves the rule's incident and clears its state: its condition changed or it was disabled.
func (a *alerting) reset(into *grain.Effects, rule alert.Rule, now time.Time) {
	a.resolveIncident(into, rule, nil, now)
	a.states[rule.ID] = alert.State{State: alert.OK, Incident: a.states[rule.ID].Incident}
	into.Writes = append(into.Writes, a.putState(rule))
}

// transition gives a rule its next state. It is stored together with its incident and with one delivery per channel
// and event; a state in which only numbers changed is stored every saveEvery.
func (a *alerting) transition(into *grain.Effects, rule alert.Rule, next alert.State, events []alert.NoticeEvent, now time.Time) {
	before := a.states[rule.ID]
	a.states[rule.ID] = next
	incidents := incidentStatus(before) != incidentStatus(next)
	if len(events) == 0 && !incidents && before.State == next.State && before.Since.Equal(next.Since) && before.Recovered.Equal(next.Recovered) && (now.Sub(a.saved[rule.ID]) < saveEvery || sameValue(before, next)) {
		return
	}
	a.store(into, rule, before, events, now)
}

// store stores the state that a rule has now, after another one.
func (a *alerting) store(into *grain.Effects, rule alert.Rule, before alert.State, events []alert.NoticeEvent, now time.Time) {
	events = a.audible(rule.ID, events, now)
	next := a.states[rule.ID]
	incidents := incidentStatus(before) != incidentStatus(next)
	a.saved[rule.ID] = now
	into.After = a.changed
	into.Writes = append(into.Writes, a.putState(rule))
	if next.Incident != nil && (incidents || next.Incident.Live()) {
		into.Writes = append(into.Writes, grain.Put(kindIncident, next.Incident.ID, *next.Incident))
	}
	for _, event := range events {
		for _, channel := range rule.ChannelIDs {
			delivery := alert.Delivery{
				ID: deliveryID(next.Incident, event, channel, now), ChannelID: channel, Next: now, CreatedAt: now,
				Notice: alert.Notice{Event: event, App: a.app, Incident: *next.Incident},
			}
			a.deliveries[delivery.ID] = delivery
			into.Writes = append(into.Writes, grain.Put(kindDelivery, delivery.ID, delivery), a.record(&delivery, alert.NoticeWaiting, now, ""))
		}
	}
}

// sameValue reports whether skipping the save loses only the evaluation time.
func sameValue(a, b alert.State) bool {
	known := a.LastValue != nil && b.LastValue != nil
	return b.State != alert.Firing && (known && *a.LastValue == *b.LastValue || a.LastValue == nil && b.LastValue == nil)
}

// incidentStatus identifies the incident of a state and its status.
func incidentStatus(s alert.State) string {
	if s.Incident == nil {
		return ""
	}
	return s.Incident.ID + " " + string(s.Incident.Status)
}

// deliveryID depends only on the incident, the event, the channel and the time, so a repeated write makes the
// same delivery.
func deliveryID(incident *alert.Incident, event alert.NoticeEvent, channel string, now time.Time) string {
	name := strings.Join([]string{incident.ID, string(event), channel, now.UTC().Format(time.RFC3339Nano)}, "\x00")
	return "dlv_" + domain.HashSecretHex(name)[:26]
}
