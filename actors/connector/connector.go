package connector

import (
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/connector"
)

// The connector actor: the core of the prober.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the connector of the application, its health, and the probe under way
//	persists   entity connector
//	woken by   calls, and the wake-up probe while the connector is enabled
//	limits     one probe at a time
//	stops      after ten minutes without a message
//
// Every change is published to the index of this node and announced to the others before it is answered.
const kindConnector = "connector"

// wakeName is the name of its wake-up.
const wakeName = "probe"

// lease bounds the time of a probe: its deadline, and the time to save its result.
const lease = connector.Time + 3*time.Second

// record holds the stored fields of a connector.
type record struct {
	connector.Connector
	// Probe is the probe under way, empty if a change made its result useless. No other probe begins before Until.
	Probe string    `json:"probe,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// core is the state of the actor.
type core struct {
	identity string
	kept     *record
	// publish publishes the state to the node; nil means that there is no connector.
	publish func(domain.Version, *connector.Connector)
	// begin makes the shell start a probe.
	begin func(task)
}

// task is a probe that is to be made.
type task struct {
	ID        string              `json:"id"`
	Until     time.Time           `json:"until"`
	Connector connector.Connector `json:"connector"`
}

type (
	// put sets the connector. Sealed is empty if the secret does not change.
	put struct {
		URL     string `json:"url"`
		Enabled bool   `json:"enabled"`
		Sealed  []byte `json:"sealed,omitempty"`
	}
	// ended brings the result of a probe.
	ended struct {
		ID    string          `json:"id"`
		Probe connector.Probe `json:"probe"`
	}
	// started answers a request for a probe: the probe, or the time until which another one may be under way.
	started struct {
		Task *task     `json:"task,omitempty"`
		Busy time.Time `json:"busy,omitzero"`
	}
)

var connectorKind = grain.NewKind[*core](kindConnector, 1, 10*time.Minute)

// The methods of the connector actor.
var (
	connectorPut    = grain.On(connectorKind, "put", (*core).onPut)
	connectorDelete = grain.On(connectorKind, "delete", (*core).onDelete)
	connectorBegin  = grain.On(connectorKind, "begin", (*core).onBegin)
	connectorEnded  = grain.On(connectorKind, "ended", (*core).onEnded, grain.Repeatable)
	_               = grain.On(connectorKind, "wake", (*core).onWake)
)

// Restore reads the connector.
func (k *core) Restore(entities []domain.Entity) error {
	k.kept = nil
	for _, entity := range entities {
		read, err := grain.Decode[record](entity)
		if err != nil {
			return err
		}
		k.kept = &read
	}
	return nil
}

// onPut sets the connector. After a change of the address or the secret, or after switching on, there is no verdict
// yet.
func (k *core) onPut(now time.Time, m put) (grain.Outcome[connector.Connector], error) {
	next := record{Connector: connector.Connector{CreatedAt: now}}
	if k.kept != nil {
		next = *k.kept
	}
	if len(m.Sealed) == 0 && len(next.Sealed) == 0 {
		return grain.Outcome[connector.Connector]{}, domain.Invalid(domain.FieldError{Field: "secret", Code: "required", Message: "A new connector needs a secret."})
	}
	switch {
	case k.kept == nil || next.URL != m.URL || len(m.Sealed) > 0:
		next.Health = connector.Health{}
		next.Probe = ""
	case m.Enabled && !next.Enabled:
		next.Health.Verdict, next.Health.Failures = "", 0
		next.Probe = ""
	}
	next.URL, next.Enabled, next.UpdatedAt = m.URL, m.Enabled, now
	if len(m.Sealed) > 0 {
		next.Sealed = m.Sealed
	}
	k.kept = &next
	return grain.Outcome[connector.Connector]{Answer: next.Connector, Effects: k.saved(now)}, nil
}

// saved returns the effects of a change: the record is stored and published, and the next probe is due at an instant.
func (k *core) saved(due time.Time) grain.Effects {
	effects := grain.Effects{Writes: []grain.Write{grain.Put(kindConnector, kindConnector, *k.kept)}, After: k.changed}
	if !k.kept.Enabled {
		due = time.Time{}
	}
	effects.Wakeups = []domain.Wakeup{k.wakeup(due)}
	return effects
}

// wakeup returns the wake-up of the actor at an instant, or its removal for the zero time.
func (k *core) wakeup(due time.Time) domain.Wakeup {
	return domain.Wakeup{Kind: kindConnector, Identity: k.identity, Name: wakeName, Due: due}
}

func (k *core) changed(version domain.Version) {
	if k.kept == nil {
		k.publish(version, nil)
		return
	}
	connector := k.kept.Connector
	k.publish(version, &connector)
}

func (k *core) onDelete(time.Time, grain.None) (grain.Outcome[grain.None], error) {
	if k.kept == nil {
		return grain.Outcome[grain.None]{}, domain.NotFound("connector")
	}
	k.kept = nil
	return grain.Outcome[grain.None]{Effects: grain.Effects{
		Writes: []grain.Write{grain.Delete(kindConnector, kindConnector)}, Wakeups: []domain.Wakeup{k.wakeup(time.Time{})}, After: k.changed,
	}}, nil
}

// onBegin begins a probe for a caller, which makes the probe and reports its end.
func (k *core) onBegin(now time.Time, _ grain.None) (grain.Outcome[started], error) {
	if k.kept == nil {
		return grain.Outcome[started]{}, domain.NotFound("connector")
	}
	if now.Before(k.kept.Until) {
		return grain.Answer(started{Busy: k.kept.Until}), nil
	}
	begun := k.next(now)
	effects := k.saved(now.Add(connector.Every))
	return grain.Outcome[started]{Answer: started{Task: &begun}, Effects: effects}, nil
}

// next records that a probe is under way.
func (k *core) next(now time.Time) task {
	k.kept.Probe, k.kept.Until = strconv.FormatInt(now.UnixNano(), 36), now.Add(lease)
	return task{ID: k.kept.Probe, Until: k.kept.Until, Connector: k.kept.Connector}
}

// onEnded applies the result of the probe under way. Any other result is dropped: the connector was changed since, or
// the result is too late.
func (k *core) onEnded(now time.Time, m ended) (grain.Outcome[*connector.Connector], error) {
	if k.kept == nil {
		return grain.Answer[*connector.Connector](nil), nil
	}
	if m.ID == "" || k.kept.Probe != m.ID {
		connector := k.kept.Connector
		return grain.Answer(&connector), nil
	}
	k.kept.Probe, k.kept.Until, k.kept.Health = "", time.Time{}, k.kept.Health.After(&m.Probe)
	c := k.kept.Connector
	due := m.Probe.At.Add(connector.Every)
	if due.Before(now) {
		due = now
	}
	return grain.Outcome[*connector.Connector]{Answer: &c, Effects: k.saved(due)}, nil
}

// onWake begins the probe that is due. If one is under way, it sets the wake-up to its deadline.
func (k *core) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	switch {
	case k.kept == nil:
		return grain.Answer(grain.None{}), nil // the wake-up was removed with the connector
	case !k.kept.Enabled:
		return grain.Outcome[grain.None]{Effects: k.saved(time.Time{})}, nil
	case now.Before(k.kept.Until):
		return grain.Outcome[grain.None]{Effects: k.saved(k.kept.Until)}, nil
	}
	begun := k.next(now)
	effects := k.saved(now.Add(connector.Every))
	published := effects.After
	effects.After = func(version domain.Version) {
		published(version)
		k.begin(begun)
	}
	return grain.Outcome[grain.None]{Effects: effects}, nil
}
