package pipeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"svc/domain/metric"
	"svc/protos"
)

// The times of cumulative series.
const (
	// cumulativeTime is how long a series without a point is remembered.
	cumulativeTime = time.Hour
	// cumulativeHistory is how far back a new owner reads states: cumulativeTime, and as much again for a service that
	// was down.
	cumulativeHistory = 2 * cumulativeTime
	// firstPointTime is the age up to which the first point of a series counts from
	// the start of the series.
	firstPointTime = 10 * time.Minute
)

// deltas turns the points of cumulative series into differences. A sender is identified by its id and by the time at
// which it began to count. So processes with the same labels do not disturb each other, and a restarted process is
// another sender.
//
// The first point of a sender counts from zero if none of it can have been counted before and if it belongs to the
// present. It does if the sender began lately, or after the last point of the series. It also does if another series of
// the metric with the same beginning is known, since SDKs give all series of an instrument one beginning. Otherwise the
// first point only sets the start of the count.
//
// The state is in the rows: each row of a cumulative series carries the total of its sender. A row and its state are
// stored together or not at all. So a new owner, which reads them without the pending block, makes the same differences
// again.
type deltas struct {
	senders map[senderKey]*protos.Cumulative
	// latest is the newest point of a series, from any sender.
	latest map[uint64]instants
	// begins holds the beginnings of a metric's senders, with the time of their last point. A known one is changed
	// through its pointer: an assignment would also replace the text of its key by one that shares memory with the
	// record.
	begins  map[beginKey]*int64
	sweptMs int64
}

// senderKey is one sender of a series; beginNs and sender are 0 if the point does not name them.
type senderKey struct{ series, beginNs, sender uint64 }

type beginKey struct {
	environment uint64
	name        string
	beginNs     uint64
}

// instants are the two times of a point: its own, and its arrival.
type instants struct{ tsMs, receivedMs int64 }

func newDeltas() *deltas {
	return &deltas{senders: map[senderKey]*protos.Cumulative{}, latest: map[uint64]instants{}, begins: map[beginKey]*int64{}}
}

// Restore adds the stored state of a sender.
func (c *deltas) Restore(s metric.CumulativeSeries) error {
	reached := &protos.Cumulative{}
	if len(s.State) < 8 {
		return fmt.Errorf("the state of series %x has %d bytes", s.Series, len(s.State))
	}
	if err := reached.UnmarshalVTUnsafe(bytes.Clone(s.State[8:])); err != nil {
		return fmt.Errorf("decoding the state of series %x: %w", s.Series, err)
	}
	key := senderKey{s.Series, reached.StartNs, reached.Sender}
	if known := c.senders[key]; known == nil || known.TsMs < reached.TsMs {
		c.senders[key] = reached
	}
	c.note(key, beginKey{s.Environment, s.Name, reached.StartNs}, instants{reached.TsMs, s.SeenAt.UnixMilli()})
	return nil
}

// note stores the time and the arrival of a sender's point.
func (c *deltas) note(key senderKey, begin beginKey, at instants) {
	if c.latest[key.series].tsMs <= at.tsMs {
		c.latest[key.series] = at
	}
	if heardMs, known := c.begins[begin]; known {
		*heardMs = max(*heardMs, at.receivedMs)
		return
	}
	begin.name = strings.Clone(begin.name)
	c.begins[begin] = &at.receivedMs
}

// fold returns the difference between a point and the previous point of its sender. A late point is not newer than the
// previous one and adds nothing.
func (c *deltas) fold(p *protos.MetricPoint, now measurement) (added measurement, late bool) {
	c.sweep(p.ReceivedMs)
	key := senderKey{p.Series, p.StartNs, p.Sender}
	begin := beginKey{p.Environment, p.Name, p.StartNs}
	before := c.senders[key]
	switch {
	case before != nil && p.TsMs <= before.TsMs:
		return measurement{}, true
	case before != nil:
		added = now.since(before)
	case c.fromZero(p, begin):
		added = now
	}
	c.senders[key] = &protos.Cumulative{StartNs: p.StartNs, Sender: p.Sender, TsMs: p.TsMs, Count: p.Count, Sum: p.Sum, Histogram: proto.CloneOf(p.Histogram)}
	c.note(key, begin, instants{p.TsMs, p.ReceivedMs})
	return added, false
}

// fromZero reports whether the first point of a sender counts from zero.
func (c *deltas) fromZero(p *protos.MetricPoint, begin beginKey) bool {
	if p.StartNs == 0 {
		return false
	}
	startMs := int64(p.StartNs / uint64(time.Millisecond))
	last, known := c.latest[p.Series]
	_, sibling := c.begins[begin]
	return p.TsMs-startMs <= firstPointTime.Milliseconds() || known && startMs >= last.tsMs || sibling
}

// since returns the difference from an earlier state of the same sender. A lower count means that the sender began
// again at zero.
func (m measurement) since(before *protos.Cumulative) measurement {
	if m.histogram == nil {
		if m.sum < before.Sum {
			return m
		}
		return measurement{count: m.count, sum: m.sum - before.Sum}
	}
	var earlier metric.Histogram
	if before.Histogram != nil {
		earlier = *histogramOf(before.Histogram)
	}
	difference, later := m.histogram.Since(&earlier)
	if !later || m.count < before.Count {
		return m
	}
	return measurement{count: m.count - before.Count, sum: m.sum - before.Sum, histogram: difference}
}

// state returns the state of the sender in the row of a point that was just folded. Eight bytes distinguish the sender
// from other senders of the series; the rest is its total.
func (c *deltas) state(p *protos.MetricPoint) []byte {
	reached := c.senders[senderKey{p.Series, p.StartNs, p.Sender}]
	state := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+reached.SizeVT()), reached.StartNs^reached.Sender)
	encoded, err := reached.MarshalVT()
	if err != nil { // impossible: the message holds no text
		return nil
	}
	return append(state, encoded...)
}

// sweep now and then drops senders and series without a point for cumulativeTime.
func (c *deltas) sweep(nowMs int64) {
	limit := nowMs - cumulativeTime.Milliseconds()
	if c.sweptMs > nowMs-cumulativeTime.Milliseconds()/4 {
		return
	}
	c.sweptMs = nowMs
	for key := range c.senders {
		if c.latest[key.series].receivedMs < limit {
			delete(c.senders, key)
		}
	}
	for series, at := range c.latest {
		if at.receivedMs < limit {
			delete(c.latest, series)
		}
	}
	for begin, heardMs := range c.begins {
		if *heardMs < limit {
			delete(c.begins, begin)
		}
	}
}
