package health

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Shards reports the lag of the store's shards.
type Shards struct {
	behind func(now time.Time) []time.Duration
	now    func() time.Time
	gauge  *prometheus.Desc
}

// NewShards returns a collector of the values of behind.
func NewShards(behind func(now time.Time) []time.Duration, now func() time.Time) *Shards {
	return &Shards{behind: behind, now: now, gauge: prometheus.NewDesc(
		"svc_shard_behind_seconds", "For how long a shard has not taken what is to be stored there.", []string{"shard"}, nil,
	)}
}

// Describe implements prometheus.Collector.
func (s *Shards) Describe(descs chan<- *prometheus.Desc) { descs <- s.gauge }

// Collect implements prometheus.Collector.
func (s *Shards) Collect(metrics chan<- prometheus.Metric) {
	for shard, behind := range s.behind(s.now()) {
		metrics <- prometheus.MustNewConstMetric(s.gauge, prometheus.GaugeValue, behind.Seconds(), strconv.Itoa(shard))
	}
}
