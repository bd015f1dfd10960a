package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/telemetry"
	"svc/http/route"
)

// onePolicy stores one policy. If raced is true, another caller changes it between the handler's read and its write.
type onePolicy struct {
	state telemetry.State
	raced bool
}

func (p *onePolicy) Telemetry(context.Context, domain.AppRef, domain.Environment) (telemetry.State, error) {
	return p.state, nil
}

func (p *onePolicy) UpdateTelemetry(_ context.Context, _ domain.AppRef, _ domain.Environment, expected int64, policy telemetry.Policy) (state telemetry.State, stale bool, err error) {
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

func callOf(may ...domain.Permission) *route.Call {
	return &route.Call{Grant: domain.Grant{Permissions: may}, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
}

// TestChannelsOfBudgetAlertsNeedTheirPermission changes a policy with and without metrics.write. Without it the
// channels stay unchanged, and everything else may change, even if the request contains the present channels.
func TestChannelsOfBudgetAlertsNeedTheirPermission(t *testing.T) {
	t.Parallel()
	present, other := []string{"chn_1"}, []string{"chn_1", "chn_2"}
	rate := 0.5
	for name, tc := range map[string]struct {
		may      []domain.Permission
		channels *[]string
		refused  bool
	}{
		"other channels":                    {[]domain.Permission{domain.PermAppsWrite}, &other, true},
		"no channels any more":              {[]domain.Permission{domain.PermAppsWrite}, &[]string{}, true},
		"the same channels":                 {[]domain.Permission{domain.PermAppsWrite}, &present, false},
		"channels are absent":               {[]domain.Permission{domain.PermAppsWrite}, nil, false},
		"other channels with metrics.write": {[]domain.Permission{domain.PermAppsWrite, domain.PermMetricsWrite}, &other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policies := &onePolicy{state: telemetry.State{Revision: 4, Policy: telemetry.DefaultTelemetryPolicy()}}
			policies.state.Policy.Alerts.ChannelIDs = present
			patch := policyPatch{Events: &eventsPatch{SampleRate: &rate}, Alerts: &alertsPatch{ChannelIDs: tc.channels}}
			_, err := handlers{Ports{Policies: policies}}.update(t.Context(), callOf(tc.may...), changing(4, patch))
			if tc.refused {
				refusal, _ := errors.AsType[*domain.Error](err)
				if refusal == nil || refusal.Code != domain.CodeForbidden || refusal.Required == nil || refusal.Required.Permission != domain.PermMetricsWrite {
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
			policies := &onePolicy{raced: raced, state: telemetry.State{Revision: 4, Policy: telemetry.DefaultTelemetryPolicy()}}
			expected := int64(3)
			if raced {
				expected = 4
			}
			off := false
			_, err := handlers{Ports{Policies: policies}}.update(t.Context(), callOf(domain.PermAppsWrite), changing(expected, policyPatch{Events: &eventsPatch{Enabled: &off}}))
			refusal, _ := errors.AsType[*domain.Error](err)
			if refusal == nil || refusal.Code != domain.CodeConflict || refusal.Reason != "stale_revision" || refusal.Present == nil {
				t.Fatalf("the change is answered %v", err)
			}
			present, _ := refusal.Present.Policy.(*telemetry.Policy)
			if refusal.Present.Revision != policies.state.Revision || present == nil || present.Events.DropBots != raced || !policies.state.Policy.Events.Enabled {
				t.Errorf("the answer has %+v of %+v", refusal.Present, policies.state)
			}
		})
	}
}
