package alerting

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/monitor"
)

// checkedNow brings the result of a check that a caller asked for.
type checkedNow struct {
	Spec   monitor.Spec        `json:"spec"`
	Result monitor.CheckResult `json:"result"`
}

// onBegin returns the definition to check. It fails with rate_limited within monitor.CheckPause of the latest check.
func (m *monitorActor) onBegin(now time.Time, _ grain.None) (grain.Outcome[monitor.Spec], error) {
	if m.monitor == nil {
		return grain.Outcome[monitor.Spec]{}, domain.NotFound("monitor")
	}
	latest := m.begun
	if m.state.LastCheckedAt.After(latest) {
		latest = m.state.LastCheckedAt
	}
	if wait := latest.Add(monitor.CheckPause).Sub(now); wait > 0 {
		return grain.Outcome[monitor.Spec]{}, &domain.Error{Code: domain.CodeRateLimited, RetryAfter: wait, Message: "The monitor was checked a moment ago."}
	}
	m.begun = now
	return grain.Answer(m.monitor.Spec), nil
}

// onCheckedNow applies a check that a caller asked for, and returns the state. A check of a definition that was
// replaced meanwhile changes nothing. A check of a disabled monitor changes nothing either: no later check would report
// it up.
func (m *monitorActor) onCheckedNow(_ time.Time, c checkedNow) (grain.Outcome[monitor.State], error) {
	switch {
	case m.monitor == nil:
		return grain.Outcome[monitor.State]{}, domain.NotFound("monitor")
	case m.monitor.Spec == c.Spec && c.Spec.Enabled:
		m.fresh = &checked{c.Spec, c.Result}
		return grain.Answer(m.state.Apply(c.Spec, c.Result)), nil
	}
	return grain.Answer(m.state), nil
}

// CheckNow checks a monitor at once. It returns the result and the state after it. The check counts like any other. It
// fails with not_found if no monitor has the id, and with rate_limited shortly after another check.
func (m *Monitors) CheckNow(ctx context.Context, ref domain.AppRef, id string) (monitor.Check, error) {
	identity := monitorIdentity(ref, id)
	spec, err := monitorBegin.Ask(ctx, m.Actors, identity, grain.None{})
	if err != nil {
		return monitor.Check{}, err
	}
	check := monitor.Check{App: ref, Monitor: id, Result: m.Prober.Check(ctx, spec)}
	check.State, err = monitorChecked.Ask(ctx, m.Actors, identity, checkedNow{spec, check.Result})
	return check, err
}

// Monitor returns one monitor with the results of its checks, and its checks on each of some days. It fails with
// not_found if no monitor has the id.
func (m *Monitors) Monitor(ctx context.Context, ref domain.AppRef, id string) (monitor.Row, error) {
	found, err := m.Store.Monitors(ctx, ref, id, m.Now())
	if err == nil && (len(found) != 1 || id == "" || found[0].ID != id) {
		err = domain.NotFound("monitor")
	}
	if err != nil {
		return monitor.Row{}, err
	}
	return found[0], nil
}
