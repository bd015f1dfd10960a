package issues

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
)

// The world of exactlyonce_test.go also has counters. Processes count, report their total since they began, sometimes
// twice, and begin again. Others report the difference since their last report, in points with repetitions that are
// recognized by an id or by their instant.

type storedPoint struct {
	metric.Row
	block uint64
}

// sender is a process that counts; it shares its series with another one.
type sender struct {
	series  uint64
	name    string
	startNs uint64
	sum     float64
	buckets []uint64
}

// The series of the world.
const (
	seriesRequests = iota // a cumulative counter
	seriesLatency         // a cumulative histogram
	seriesOrders          // a counter of differences with ids
	seriesReadings        // a counter of differences with one point per instant
)

// produceMetrics makes one of the senders count and report.
func (w *world) produceMetrics() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.tickLocked()
	if len(w.senders) == 0 {
		for n := range 8 {
			w.senders = append(w.senders, &sender{series: uint64(n / 2), name: []string{"requests", "latency", "orders", "readings"}[n/2]})
		}
	}
	s := w.senders[w.rng.IntN(len(w.senders))]
	raised := w.rng.IntN(4)
	w.raised[s.series] += float64(raised)
	point := &protos.MetricPoint{
		Environment: 1, Name: s.name, Series: s.series, Kind: string(metric.Counter),
		TsMs: now.UnixMilli(), ReceivedMs: now.UnixMilli(), Count: 1, Sum: float64(raised),
	}
	copies := 1 + w.rng.IntN(5)/4
	switch s.series {
	case seriesRequests, seriesLatency:
		w.accumulate(s, point, raised)
	case seriesOrders:
		point.Id = fmt.Sprintf("order-%d", point.TsMs)
	case seriesReadings:
		point.Once = true
	}
	if w.forgetful && !point.Cumulative {
		copies = 1
	}
	value, _ := protos.AppendPoint(nil, point)
	partition := protos.PartitionOfMetric(1, s.name, w.partitions)
	for range copies {
		offset := int64(len(w.log[partition]))
		w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: offset, Time: now, Value: value})
	}
}

// accumulate sets the total of the sender in a point. The sender begins again now and then.
func (w *world) accumulate(s *sender, point *protos.MetricPoint, raised int) {
	if s.startNs == 0 || w.rng.IntN(10) == 0 {
		s.startNs, s.sum, s.buckets = uint64(point.TsMs)*uint64(time.Millisecond), 0, make([]uint64, 3)
	}
	s.sum += float64(raised)
	s.buckets[w.rng.IntN(3)] += uint64(raised)
	point.Cumulative, point.StartNs, point.Sum = true, s.startNs, s.sum
	if s.series == seriesLatency {
		point.Kind, point.Count = string(metric.MetricHistogram), uint64(s.sum)
		point.Histogram = &protos.Histogram{Bounds: []float64{1, 2}, Buckets: slices.Clone(s.buckets)}
	}
}

// insertPoints stores points, and then the rows of a materialized view of them.
func (p *process) insertPoints(token string, id uint64, rows []metric.Row) error {
	if len(rows) == 0 {
		return nil
	}
	for _, table := range []*[]storedPoint{&p.w.points, &p.w.rollups} {
		if err := p.step(); err != nil {
			return err
		}
		if p.w.away {
			p.w.mu.Unlock()
			return errStoreAway
		}
		if note := fmt.Sprintf("points %t %s", table == &p.w.points, token); !p.w.notes[note] {
			p.w.notes[note] = true
			for _, row := range rows {
				*table = append(*table, storedPoint{row, id})
			}
		}
		p.w.mu.Unlock()
	}
	return nil
}

func (p *process) RecentMetrics(_ context.Context, _ time.Time, except uint64, _ int, yield func(uint64, [2]uint64)) error {
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	for _, row := range p.w.points {
		metric := protos.VisitorHash(row.Environment, row.Name)
		switch {
		case p.w.forgetful || row.block == except:
		case row.ID != "":
			yield(metric, protos.PointKey(row.Series, row.ID))
		case row.Once:
			yield(metric, protos.InstantKey(row.Series, row.Ts.UnixMilli()))
		}
	}
	return nil
}

// RecentBillings yields none.
func (p *process) RecentBillings(context.Context, time.Time, uint64, int, func(uint64, [2]uint64, int64)) error {
	return nil
}

// RecentTallies yields none.
func (p *process) RecentTallies(context.Context, time.Time, uint64, func(ingest.TallyMark)) error {
	return nil
}

// Cumulatives yields all states; the newest must win.
func (p *process) Cumulatives(_ context.Context, _ time.Time, except uint64, yield func(metric.CumulativeSeries)) error {
	if err := p.step(); err != nil {
		return err
	}
	defer p.w.mu.Unlock()
	for _, n := range p.w.rng.Perm(len(p.w.points)) {
		if row := p.w.points[n]; row.block != except && len(row.State) > 0 {
			yield(metric.CumulativeSeries{Environment: row.Environment, Name: row.Name, Series: row.Series, State: row.State, SeenAt: row.ReceivedAt})
		}
	}
	return nil
}

// checkMetrics compares the sums of the differences with the true counts.
func (w *world) checkMetrics(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, table := range map[string][]storedPoint{"points": w.points, "rollups": w.rollups} {
		sums, counts := map[uint64]float64{}, map[uint64]uint64{}
		for _, row := range table {
			if row.Sum < 0 {
				t.Errorf("a difference of %v", row.Sum)
			}
			sums[row.Series] += row.Sum
			counts[row.Series] += row.Count
		}
		for series, raised := range w.raised {
			if sums[series] != raised || series == seriesLatency && counts[series] != uint64(raised) {
				t.Errorf("series %d: the differences of the %s sum to %v and count %d, %v was counted", series, name, sums[series], counts[series], raised)
			}
		}
	}
}
