package alerting

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
)

// putSilence makes or changes a silence.
type putSilence struct {
	ID    string             `json:"id"`
	New   bool               `json:"new"`
	Patch alert.SilencePatch `json:"patch"`
	By    domain.LedgerActor `json:"by"`
}

// audible filters the events for which a rule's channels are notified now. If a silence covers the beginning of an
// incident, the notice is postponed to the end of the silence.
func (a *alerting) audible(rule string, events []alert.NoticeEvent, now time.Time) []alert.NoticeEvent {
	state := a.states[rule]
	if !slices.Contains(events, alert.NoticeOpen) {
		return events
	}
	silence := alert.SilenceOf(a.silences, state.Incident, now)
	if silence == nil {
		return events
	}
	a.states[rule] = state.Quiet(silence)
	return slices.DeleteFunc(slices.Clone(events), func(event alert.NoticeEvent) bool { return event == alert.NoticeOpen })
}

// record returns the write of a delivery's state.
func (a *alerting) record(d *alert.Delivery, state alert.NoticeState, now time.Time, answer string) grain.Write {
	channel := a.channels[d.ChannelID]
	record := alert.RecordOf(d, &channel, state, now, answer)
	return grain.Put(kindNotice, record.Key(), record)
}

func (a *alerting) onSilences(time.Time, grain.None) (grain.Outcome[[]alert.Silence], error) {
	all := slices.AppendSeq([]alert.Silence{}, maps.Values(a.silences))
	alert.SortSilences(all)
	return grain.Answer(all), nil
}

func (a *alerting) onPutSilence(now time.Time, m putSilence) (grain.Outcome[alert.Silence], error) {
	silence, known := a.silences[m.ID]
	if !known && !m.New {
		return grain.Outcome[alert.Silence]{}, domain.NotFound("silence")
	}
	if !known {
		silence = alert.Silence{ID: m.ID, SilenceSpec: alert.SilenceSpec{StartsAt: now}, CreatedAt: now, CreatedBy: m.By}
	}
	silence.SilenceSpec, silence.UpdatedAt = silence.With(m.Patch), now
	problems := silence.Validate()
	if _, ok := a.rules[silence.RuleID]; silence.RuleID != "" && !ok && (m.Patch.RuleID != nil || !known) {
		problems = append(problems, domain.FieldError{Field: "ruleId", Code: "unknown_rule", Message: "There is no alert rule of this id."})
	}
	if len(problems) > 0 {
		return grain.Outcome[alert.Silence]{}, domain.Invalid(problems...)
	}
	result := grain.Outcome[alert.Silence]{Answer: silence}
	if !known {
		dropped, err := a.roomForSilence(now)
		if err != nil {
			return grain.Outcome[alert.Silence]{}, err
		}
		result.Writes = append(result.Writes, dropped...)
	}
	a.silences[m.ID] = silence
	result.Writes = append(result.Writes, grain.Put(kindSilence, m.ID, silence))
	result.After = a.changed
	a.judgeAgain(&result.Effects, m.ID, now)
	return result, nil
}

// roomForSilence removes the silence that ended first if the limit is reached. It fails with conflict if none has
// ended.
func (a *alerting) roomForSilence(now time.Time) ([]grain.Write, error) {
	if len(a.silences) < alert.MaxSilences {
		return nil, nil
	}
	all := slices.Collect(maps.Values(a.silences))
	alert.SortSilences(all)
	oldest := all[len(all)-1]
	if oldest.At(now) != alert.SilenceEnded {
		return nil, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: "The application has as many silences as it may have; delete one first."}
	}
	delete(a.silences, oldest.ID)
	return []grain.Write{grain.Delete(kindSilence, oldest.ID)}, nil
}

func (a *alerting) onDeleteSilence(now time.Time, m findRule) (grain.Outcome[grain.None], error) {
	if _, known := a.silences[m.ID]; !known {
		return grain.Outcome[grain.None]{}, domain.NotFound("silence")
	}
	delete(a.silences, m.ID)
	result := a.stored(grain.Delete(kindSilence, m.ID))
	a.judgeAgain(&result.Effects, m.ID, now)
	return result, nil
}

// judgeAgain makes the incidents that a silence covered due for notices again. The next plan of their rules decides
// whether to send them.
func (a *alerting) judgeAgain(into *grain.Effects, silence string, now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(a.states)) {
		next, concerned := a.states[id].Unquiet(silence, now)
		if !concerned {
			continue
		}
		a.states[id] = next
		into.Writes = append(into.Writes, a.putState(a.rules[id]), grain.Put(kindIncident, next.Incident.ID, *next.Incident))
	}
}

// onChangeChannel replaces a channel.
func (a *alerting) onChangeChannel(_ time.Time, channel alert.Channel) (grain.Outcome[alert.Channel], error) {
	if _, known := a.channels[channel.ID]; !known {
		return grain.Outcome[alert.Channel]{}, domain.NotFound("channel")
	}
	a.channels[channel.ID] = channel
	return grain.Answer(channel, grain.Put(kindChannel, channel.ID, channel)), nil
}
