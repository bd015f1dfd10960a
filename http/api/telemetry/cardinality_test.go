package telemetry

import (
	"context"
	"testing"
	"time"

	"svc"
	"svc/http/route"
)

// widths returns data for both halves.
type widths struct{}

func (widths) MetricCardinality(context.Context, svc.CardinalityQuery) (svc.MetricCardinality, error) {
	return svc.MetricCardinality{Series: 3, Metrics: []svc.MetricWidth{{Name: "orders", Series: 3}}}, nil
}

func (widths) PropertyCardinality(_ context.Context, q svc.CardinalityQuery) (svc.PropertyCardinality, error) {
	return svc.PropertyCardinality{Keys: 2, Events: 9, Truncated: !q.Masked}, nil
}

// TestCardinalityHalvesAreOfWhoMayReadThem sends requests with every combination of permissions.
func TestCardinalityHalvesAreOfWhoMayReadThem(t *testing.T) {
	t.Parallel()
	handler := telemetry{Ports{Cardinality: widths{}}}
	for name, tc := range map[string]struct {
		may                 []svc.Permission
		metrics, properties bool
		truncated           bool
	}{
		"neither":    {[]svc.Permission{svc.PermAppsRead}, false, false, false},
		"metrics":    {[]svc.Permission{svc.PermMetricsRead}, true, false, false},
		"properties": {[]svc.Permission{svc.PermAnalyticsRead}, false, true, false},
		"both":       {[]svc.Permission{svc.PermMetricsRead, svc.PermAnalyticsRead, svc.PermPeoplePIIRead}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := &route.Call{Grant: svc.Grant{Permissions: tc.may}, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
			got, err := handler.cardinality(t.Context(), call, getCardinality{Days: 7})
			if err != nil {
				t.Fatal(err)
			}
			if (got.Metrics != nil) != tc.metrics || (got.Series != nil) != tc.metrics || (got.Properties != nil) != tc.properties || (got.PropertyKeys != nil) != tc.properties || got.Truncated != tc.truncated {
				t.Errorf("the answer is %+v", got)
			}
		})
	}
}
