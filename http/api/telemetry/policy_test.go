package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"svc"
	"svc/http/route"
)

// onePolicy stores one policy. If raced is true, another caller changes it between the handler's read and its write.
type onePolicy struct {
	state svc.TelemetryState
	raced bool
}

func (p *onePolicy) Telemetry(context.Context, svc.AppRef, svc.Environment) (svc.TelemetryState, error) {
	return p.state, nil
}

func (p *onePolicy) UpdateTelemetry(_ context.Context, _ svc.AppRef, _ svc.Environment, expected int64, policy svc.TelemetryPolicy) (state svc.TelemetryState, stale bool, err error) {
	if p.raced {
		p.state.Revision++
		p.state.Policy.Events.DropBots = true
	}
	if p.state.Revision != expected {
		return p.state, true, nil
	}
	p.state.Revision, p.state.Policy = expected+1, policy
	return p.state, false, nil
}

// changing is a request for a change that is based on a revision.
func changing(revision int64, patch policyPatch) updateTelemetry {
	return updateTelemetry{Body: policyChange{ExpectedRevision: revision, Policy: patch}}
}

func callOf(may ...svc.Permission) *route.Call {
	return &route.Call{Grant: svc.Grant{Permissions: may}, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

// TestChannelsOfBudgetAlertsNeedTheirPermission changes a policy with and without metrics.write. Without it the
// channels stay unchanged, and everything else may change, even if the request contains the present channels.
func TestChannelsOfBudgetAlertsNeedTheirPermission(t *testing.T) {
	t.Parallel()
	present, other := []string{"chn_1"}, []string{"chn_1", "chn_2"}
	rate := 0.5
	for name, tc := range map[string]struct {
		may      []svc.Permission
		channels *[]string
		refused  bool
	}{
		"other channels":                    {[]svc.Permission{svc.PermAppsWrite}, &other, true},
		"no channels any more":              {[]svc.Permission{svc.PermAppsWrite}, &[]string{}, true},
		"the same channels":                 {[]svc.Permission{svc.PermAppsWrite}, &present, false},
		"channels are absent":               {[]svc.Permission{svc.PermAppsWrite}, nil, false},
		"other channels with metrics.write": {[]svc.Permission{svc.PermAppsWrite, svc.PermMetricsWrite}, &other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policies := &onePolicy{state: svc.TelemetryState{Revision: 4, Policy: svc.DefaultTelemetryPolicy()}}
			policies.state.Policy.Alerts.ChannelIDs = present
			patch := policyPatch{Events: &eventsPatch{SampleRate: &rate}, Alerts: &alertsPatch{ChannelIDs: tc.channels}}
			_, err := telemetry{Ports{Policies: policies}}.update(t.Context(), callOf(tc.may...), changing(4, patch))
			if tc.refused {
				refusal, _ := errors.AsType[*svc.Error](err)
				if refusal == nil || refusal.Code != svc.CodeForbidden || refusal.Required == nil || refusal.Required.Permission != svc.PermMetricsWrite {
					t.Errorf("the change is answered %v", err)
				}
				if policies.state.Revision != 4 || policies.state.Policy.Events.SampleRate != 1 || !slices.Equal(policies.state.Policy.Alerts.ChannelIDs, present) {
					t.Errorf("the refused change made the policy %+v", policies.state.Policy)
				}
				return
			}
			if err != nil || policies.state.Revision != 5 || policies.state.Policy.Events.SampleRate != rate {
				t.Errorf("the change is answered %v; the policy is %+v", err, policies.state.Policy)
			}
		})
	}
}

// TestAStaleChangeIsAnsweredWithThePresentPolicy changes a policy with an outdated revision. The revision is outdated
// before the request, or becomes so while the request is served.
func TestAStaleChangeIsAnsweredWithThePresentPolicy(t *testing.T) {
	t.Parallel()
	for name, raced := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policies := &onePolicy{raced: raced, state: svc.TelemetryState{Revision: 4, Policy: svc.DefaultTelemetryPolicy()}}
			expected := int64(3)
			if raced {
				expected = 4
			}
			off := false
			_, err := telemetry{Ports{Policies: policies}}.update(t.Context(), callOf(svc.PermAppsWrite), changing(expected, policyPatch{Events: &eventsPatch{Enabled: &off}}))
			refusal, _ := errors.AsType[*svc.Error](err)
			if refusal == nil || refusal.Code != svc.CodeConflict || refusal.Reason != "stale_revision" || refusal.Present == nil {
				t.Fatalf("the change is answered %v", err)
			}
			present, _ := refusal.Present.Policy.(*svc.TelemetryPolicy)
			if refusal.Present.Revision != policies.state.Revision || present == nil || present.Events.DropBots != raced || !policies.state.Policy.Events.Enabled {
				t.Errorf("the answer has %+v of %+v", refusal.Present, policies.state)
			}
		})
	}
}
