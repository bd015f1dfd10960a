package alerting

import (
	"context"
	"encoding/json"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
)

// quotation is a stored incident of an application, or a record of a notice, that quotes an erased person. The actor
// has neither in memory.
type quotation struct {
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Payload json.RawMessage `json:"payload"`
}

// forgetPerson blanks words of an erased person in the incidents of an environment.
type forgetPerson struct {
	Environment string      `json:"environment"`
	Words       []string    `json:"words"`
	Quotations  []quotation `json:"quotations"`
}

var alertingForget = grain.On(alertingKind, "forget", (*alerting).onForget, grain.Repeatable)

// Forget blanks words in the incidents of an environment and in their notices. It returns the number of changed texts.
// quoting holds the actor's entities that quote any of the words. It may be repeated.
func (a *Alerts) Forget(ctx context.Context, ref domain.AppRef, environment string, words []string, quoting []domain.Entity) (changed int, err error) {
	if len(quoting) == 0 {
		return 0, nil
	}
	m := forgetPerson{Environment: environment, Words: words}
	for _, entity := range quoting {
		if entity.Kind == kindIncident || entity.Kind == kindNotice {
			m.Quotations = append(m.Quotations, quotation{entity.Kind, entity.ID, json.RawMessage(entity.Payload)})
		}
	}
	return alertingForget.Ask(ctx, a.Actors, ref.String(), m)
}

// onForget blanks the incidents of the rules and the waiting notices. Then it blanks entities that are only stored and
// no longer change: incidents that are not the latest of a rule, and notices that no longer wait.
func (a *alerting) onForget(_ time.Time, m forgetPerson) (grain.Outcome[int], error) {
	var writes []grain.Write
	changed, held := 0, map[string]bool{}
	for id, state := range a.states {
		if state.Incident == nil {
			continue
		}
		held[state.Incident.ID] = true
		if incident, had := m.forget(*state.Incident); had {
			state.Incident = &incident
			a.states[id] = state
			writes = append(writes, a.putState(a.rules[id]), grain.Put(kindIncident, incident.ID, incident))
			changed++
		}
	}
	for id, delivery := range a.deliveries {
		if incident, had := m.forget(delivery.Notice.Incident); had {
			delivery.Notice.Incident = incident
			a.deliveries[id] = delivery
			writes = append(writes, grain.Put(kindDelivery, id, delivery))
			changed++
		}
	}
	for _, one := range m.Quotations {
		write, had, err := m.forgetStored(one, held)
		if err != nil {
			return grain.Outcome[int]{}, err
		}
		if had {
			writes = append(writes, write)
			changed++
		}
	}
	return grain.Outcome[int]{Answer: changed, Effects: grain.Effects{Writes: writes, After: a.changed}}, nil
}

// forget returns an incident of the environment without the words, and whether it contained any.
func (m *forgetPerson) forget(incident alert.Incident) (alert.Incident, bool) {
	if incident.Environment != m.Environment {
		return incident, false
	}
	return incident.Without(m.Words)
}

// forgetStored returns the write of a quotation without the words, and whether one is needed. It skips the incidents in
// held: the actor has them in memory and writes them itself.
func (m *forgetPerson) forgetStored(one quotation, held map[string]bool) (write grain.Write, had bool, err error) {
	if one.Kind == kindNotice {
		var record alert.NoticeRecord
		if err := json.Unmarshal(one.Payload, &record); err != nil {
			return write, false, err
		}
		answer := domain.BlankWords(record.Answer, m.Words)
		had, record.Answer = answer != record.Answer && record.State != alert.NoticeWaiting, answer
		return grain.Put(kindNotice, one.ID, record), had, nil
	}
	var incident alert.Incident
	if err := json.Unmarshal(one.Payload, &incident); err != nil || held[incident.ID] {
		return write, false, err
	}
	incident, had = m.forget(incident)
	return grain.Put(kindIncident, one.ID, incident), had, nil
}
