package alerting

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/monitor"
)

// MonitorStore reads the definitions of monitors with the results of their checks.
type MonitorStore interface {
	// Monitors returns the monitors of an application, or the one with an id.
	Monitors(ctx context.Context, app domain.AppRef, id string, now time.Time) ([]monitor.Row, error)
}

// Rules is Alerts for members: it checks requests and makes changes visible on this node.
type Rules struct {
	*Alerts
	Monitors MonitorStore
	Now      func() time.Time
	// Sync applies a change that another node's actor made to the snapshots of this node.
	Sync func(ctx context.Context, kind, identity string) error
}

// PutRule calls Alerts.PutRule. It also fails with invalid_request if the rule names a monitor that does not exist: it
// would never fire. This node's stream follows the rule once PutRule has returned.
func (r *Rules) PutRule(ctx context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch) (alert.Row, error) {
	if patch.Condition != nil && patch.Condition.MonitorID != "" {
		found, err := r.Monitors.Monitors(ctx, ref, patch.Condition.MonitorID, r.Now())
		if err != nil {
			return alert.Row{}, err
		}
		if len(found) != 1 {
			return alert.Row{}, domain.Invalid(alert.UnknownMonitor(patch.Condition.MonitorID))
		}
	}
	row, err := r.Alerts.PutRule(ctx, ref, id, env, patch)
	if err != nil {
		return row, err
	}
	return row, r.Sync(ctx, KindAlerting, ref.String())
}
