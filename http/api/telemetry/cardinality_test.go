package telemetry

import (
	"context"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/telemetry"
	"svc/http/route"
)

// widths returns data for both halves.
type widths struct{}

func (widths) MetricCardinality(context.Context, telemetry.CardinalityQuery) (telemetry.MetricCardinality, error) {
	return telemetry.MetricCardinality{Series: 3, Metrics: []telemetry.MetricWidth{{Name: "orders", Series: 3}}}, nil
}

func (widths) PropertyCardinality(_ context.Context, q telemetry.CardinalityQuery) (telemetry.PropertyCardinality, error) {
	return telemetry.PropertyCardinality{Keys: 2, Events: 9, Truncated: !q.Masked}, nil
}

// TestCardinalityHalvesAreOfWhoMayReadThem sends requests with every combination of permissions.
func TestCardinalityHalvesAreOfWhoMayReadThem(t *testing.T) {
	t.Parallel()
	handler := handlers{Ports{Cardinality: widths{}}}
	for name, tc := range map[string]struct {
		may                 []domain.Permission
		metrics, properties bool
		truncated           bool
	}{
		"neither":    {[]domain.Permission{domain.PermAppsRead}, false, false, false},
		"metrics":    {[]domain.Permission{domain.PermMetricsRead}, true, false, false},
		"properties": {[]domain.Permission{domain.PermAnalyticsRead}, false, true, false},
		"both":       {[]domain.Permission{domain.PermMetricsRead, domain.PermAnalyticsRead, domain.PermPeoplePIIRead}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := &route.Call{Grant: domain.Grant{Permissions: tc.may}, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
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
