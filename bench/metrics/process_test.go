package main

import (
	"testing"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// TestRequest decodes the requests of a process with OpenTelemetry's own types.
func TestRequest(t *testing.T) {
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := newProcess(3, 110, began)
	p.appendRequest(nil, 90, began.Add(time.Second))
	var request collectmetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(p.appendRequest(nil, 40, began.Add(2*time.Second)), &request); err != nil {
		t.Fatal(err)
	}
	if len(request.ResourceMetrics) != 1 || len(request.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatalf("request %v", &request)
	}
	if host := request.ResourceMetrics[0].Resource.Attributes[1].Value.GetStringValue(); host != "node-3" {
		t.Errorf("host %q", host)
	}
	metrics := request.ResourceMetrics[0].ScopeMetrics[0].Metrics
	sizes := []int{10, 10, 20}
	for n, name := range []string{"bench.histogram.04", "bench.counter.05", "bench.counter.00"} {
		m := metrics[n]
		points := max(len(m.GetSum().GetDataPoints()), len(m.GetHistogram().GetDataPoints()))
		if m.Name != name || points != sizes[n] {
			t.Errorf("metric %q has %d points", m.Name, points)
		}
	}
	h := metrics[0].GetHistogram().DataPoints[0]
	var all uint64
	for _, count := range h.BucketCounts {
		all += count
	}
	if len(h.BucketCounts) != len(h.ExplicitBounds)+1 || h.Count != all || all == 0 || h.ExplicitBounds[14] != 10000 || len(h.Attributes) != 3 {
		t.Errorf("histogram %v", h)
	}
	second := metrics[2].GetSum().DataPoints[0]
	if !metrics[2].GetSum().IsMonotonic || metrics[2].GetSum().AggregationTemporality != 2 || second.GetAsDouble() != p.series[0].sum ||
		second.StartTimeUnixNano != uint64(began.UnixNano()) || second.TimeUnixNano != uint64(began.Add(2*time.Second).UnixNano()) {
		t.Errorf("counter %v", second)
	}
}
