// Package metrics contains the routes that read metrics.
//
// # From a metric point to a bucket
//
//  1. Package http/ingest makes a protos.MetricPoint of each native, OTLP or remote-write point. emitPoint checks it
//     against the policy: its labels, their number, and the series of the environment. All series of a metric share a
//     partition.
//  2. The intake drops duplicates and turns cumulative series into differences (actors/pipeline/deltas.go,
//     docs/decisions/0045-accept-otlp-and-prometheus.md). Points are a third kind of row in the same block. Each row
//     of a cumulative series carries the total of its sender.
//  3. Views maintain metric_rollups for each series and metric_totals for each metric, in slots of five minutes with
//     sketches, and metric_hours from the totals (docs/decisions/0044-store-metrics-as-bounded-sketches.md). After the
//     points, the block's series are inserted into metric_seen, which stores nothing itself: a view adds them to the
//     catalog. Repeating that insert changes nothing.
//  4. A read uses points for windows of up to six hours, and totals for longer windows without labels. It uses the
//     hourly totals if all its buckets begin with an hour, and the rollups if it needs labels.
package metrics
