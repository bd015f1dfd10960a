package alert

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"svc/domain/metric"
)

// Counter defines the rows that a rule counts, and the length of its window. Rules with equal counters share the
// counts.
type Counter struct {
	Environment uint64 `json:"environment"`
	// Kind is event_volume, error_rate, or metric for points of metrics and vitals.
	Kind Kind `json:"kind"`
	// Word is the name of the events, the level of the errors ("" counts all), or the name of the metric.
	Word string `json:"word,omitempty"`
	// Labels are the labels that a point must have, as EncodeLabels writes them.
	Labels  string `json:"labels,omitempty"`
	Minutes int    `json:"minutes"`
	// Bins says that percentiles are needed.
	Bins bool `json:"bins,omitempty"`
}

// Counter returns the rule's counter. It returns false if the rule's value is not a sum over stored rows: for notified
// rules, and for errors per session, because distinct sessions do not add up.
func (r *Rule) Counter() (Counter, bool) {
	c := Counter{Environment: r.Number, Kind: r.Kind, Minutes: r.WindowMinutes}
	switch r.Kind {
	case EventVolume:
		c.Word = r.Condition.Name
	case ErrorRate:
		c.Word = r.Condition.Level
	case Metric, Vital:
		c.Kind, c.Word, c.Labels = Metric, r.Condition.Name, EncodeLabels(r.labels())
		_, c.Bins = r.Agg().Percentile()
		if r.Kind == Vital {
			c.Word = r.Condition.Vital
		}
	case Uptime, NewIssue:
		return Counter{}, false
	}
	return c, r.Condition.Per == ""
}

// labels returns the labels that the rule's points must have.
func (r *Rule) labels() (labels []metric.Label) {
	if r.Kind == Vital {
		if r.Condition.Path == "" {
			return nil
		}
		return []metric.Label{{Key: "path", Value: r.Condition.Path}}
	}
	for key, value := range r.Condition.Labels {
		labels = append(labels, metric.Label{Key: key, Value: value})
	}
	slices.SortFunc(labels, func(a, b metric.Label) int { return cmp.Compare(a.Key, b.Key) })
	return labels
}

// Agg returns how the rule aggregates its rows: events and errors are counted, vitals are judged by their third
// quartile.
func (r *Rule) Agg() metric.Agg {
	switch r.Kind {
	case Metric:
		return metric.Agg(r.Condition.Agg)
	case Vital:
		return metric.AggP75
	case EventVolume, ErrorRate, Uptime, NewIssue:
	}
	return metric.AggCount
}

// EncodeLabels writes labels so that different labels have different texts; DecodeLabels reads them.
func EncodeLabels(labels []metric.Label) string {
	var out []byte
	for _, label := range labels {
		for _, text := range [2]string{label.Key, label.Value} {
			out = append(strconv.AppendInt(out, int64(len(text)), 10), ':')
			out = append(out, text...)
		}
	}
	return string(out)
}

// DecodeLabels decodes the output of EncodeLabels. From any other text it returns the part that it can read.
func DecodeLabels(text string) (labels []metric.Label) {
	next := func() (string, bool) {
		at := 0
		for at < len(text) && text[at] != ':' {
			at++
		}
		n, err := strconv.Atoi(text[:at])
		if err != nil || n < 0 || at == len(text) || n > len(text)-at-1 {
			return "", false
		}
		word := text[at+1 : at+1+n]
		text = text[at+1+n:]
		return word, true
	}
	for text != "" {
		key, ok := next()
		value, whole := next()
		if !ok || !whole {
			return labels
		}
		labels = append(labels, metric.Label{Key: key, Value: value})
	}
	return labels
}

// windowSlots is the approximate number of slots of a window; no slot is shorter than a second.
const windowSlots = 300

// Window is the span that is counted.
func (c *Counter) Window() time.Duration { return time.Duration(c.Minutes) * time.Minute }

// Step is the width of a slot, in whole seconds.
func (c *Counter) Step() int64 { return max(1, int64(c.Minutes)*60/windowSlots) }

// Slot returns the number of the slot of an instant.
func (c *Counter) Slot(at time.Time) int64 { return at.Unix() / c.Step() }

// Slot holds the counts of one slot. Slots of the same number add up to the same counts in any order and grouping;
// only sums may differ in their last digits.
type Slot struct {
	At int64 `json:"at"`
	metric.Totals
	Bins []Bin `json:"bins,omitempty"`
}

// Bin is one bin of a slot's sketch (metric.SketchKey): the number of observations, the lowest
// and the highest.
type Bin struct {
	Key  int16   `json:"key"`
	N    uint64  `json:"n"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Observe adds n observations of a value.
func (s *Slot) Observe(value float64, n uint64) {
	s.bin(Bin{metric.SketchKey(value), n, value, value})
}

func (s *Slot) bin(b Bin) {
	at, known := slices.BinarySearchFunc(s.Bins, b.Key, func(x Bin, key int16) int { return cmp.Compare(x.Key, key) })
	if !known {
		s.Bins = slices.Insert(s.Bins, at, b)
		return
	}
	mine := &s.Bins[at]
	mine.N, mine.Low, mine.High = mine.N+b.N, min(mine.Low, b.Low), max(mine.High, b.High)
}

// Slots are slots in the order of their numbers.
type Slots []Slot

// Window holds the counts of a counter in its window, and the blocks that they come from.
type Window struct {
	Slots  Slots
	Blocks []uint64
}

// At returns the slot of a number and creates it if it is missing.
func (s *Slots) At(number int64) *Slot {
	list := *s
	if last := len(list) - 1; last >= 0 && list[last].At == number {
		return &list[last]
	}
	at, known := slices.BinarySearchFunc(list, number, func(x Slot, n int64) int { return cmp.Compare(x.At, n) })
	if !known {
		*s = slices.Insert(list, at, Slot{At: number})
	}
	return &(*s)[at]
}

// Add merges other slots.
func (s *Slots) Add(others Slots) {
	for i := range others {
		slot := s.At(others[i].At)
		slot.Totals.Add(others[i].Totals)
		slot.Sum = min(max(slot.Sum, -math.MaxFloat64), math.MaxFloat64) // JSON has no infinity
		for _, b := range others[i].Bins {
			slot.bin(b)
		}
	}
}

// Clone returns a copy that shares nothing.
func (s Slots) Clone() Slots {
	out := slices.Clone(s)
	for i := range out {
		out[i].Bins = slices.Clone(out[i].Bins)
	}
	return out
}

// span returns the numbers of the first and the last slot of the window that ends at an instant. A slot counts until
// all of it has left the window.
func (c *Counter) span(now time.Time) (first, last int64) {
	return c.Slot(now.Add(-c.Window())), c.Slot(now)
}

// Trim drops the slots that have left the window that ends at an instant.
func (c *Counter) Trim(slots Slots, now time.Time) Slots {
	first, _ := c.span(now)
	return slices.DeleteFunc(slots, func(s Slot) bool { return s.At < first })
}

// Value returns the value of the window that ends at an instant, from slots that may be spread over several lists.
// Without observations there is no value, except for counts of events and errors. Percentiles are within
// metric.SketchAccuracy.
func (c *Counter) Value(agg metric.Agg, now time.Time, lists ...Slots) (value float64, known bool) {
	first, last := c.span(now)
	var totals metric.Totals
	each := func(work func(*Slot)) {
		for _, list := range lists {
			for i := range list {
				if slot := &list[i]; slot.At >= first && slot.At <= last {
					work(slot)
				}
			}
		}
	}
	each(func(s *Slot) { totals.Add(s.Totals) })
	if c.Kind != Metric {
		return float64(totals.Count), true
	}
	if totals.Count == 0 {
		return 0, false
	}
	found := agg.Of(totals)
	if at, percentile := agg.Percentile(); percentile {
		found = alertQuantile(metric.Percentiles()[at], each)
	}
	if found == nil {
		return 0, false
	}
	return *found, true
}

// alertQuantile finds a quantile of the bins of slots. The only observation of a bin is returned
// exactly.
func alertQuantile(q float64, each func(func(*Slot))) *float64 {
	first, last := int16(math.MaxInt16), int16(math.MinInt16)
	each(func(s *Slot) {
		if n := len(s.Bins); n > 0 {
			first, last = min(first, s.Bins[0].Key), max(last, s.Bins[n-1].Key)
		}
	})
	if first > last {
		return nil
	}
	counts, all := make([]uint64, int(last)-int(first)+1), uint64(0)
	each(func(s *Slot) {
		for _, b := range s.Bins {
			counts[int(b.Key)-int(first)] += b.N
			all += b.N
		}
	})
	rank, seen, at := max(uint64(math.Ceil(float64(all)*q)), 1), uint64(0), last
	for i, n := range counts {
		if seen += n; seen >= rank {
			at = first + int16(i)
			break
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	each(func(s *Slot) {
		if i, known := slices.BinarySearchFunc(s.Bins, at, func(x Bin, key int16) int { return cmp.Compare(x.Key, key) }); known {
			low, high = min(low, s.Bins[i].Low), max(high, s.Bins[i].High)
		}
	})
	return metric.SketchValue(at, metric.Totals{Min: low, Max: high})
}

// Changes returns when the value may change without new rows: when the next slot leaves or enters the window, and when
// the last one leaves. Both are the zero time if no slot is left.
func (c *Counter) Changes(slots Slots, now time.Time) (next, empty time.Time) {
	first, last := c.span(now)
	for i := range slots {
		at, leaves := slots[i].At, time.Unix((slots[i].At+1)*c.Step(), 0).Add(c.Window())
		if at < first {
			continue
		}
		if at > last {
			leaves = time.Unix(at*c.Step(), 0)
		}
		if next.IsZero() || leaves.Before(next) {
			next = leaves
		}
		empty = time.Unix((at+1)*c.Step(), 0).Add(c.Window())
	}
	return next, empty
}

// Ages reports whether a rule can begin to fire, or lose its data, without new rows, because a falling value may breach
// it. A rule with only an upper threshold cannot.
func (r *Rule) Ages() bool {
	agg := r.Agg()
	grows := agg == metric.AggCount || agg == metric.AggMax
	return r.Suppressible() || !grows
}
