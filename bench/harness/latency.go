package harness

import (
	"math/bits"
	"time"
)

// Latency is a histogram of durations: 64 buckets per power of two of nanoseconds, so that a percentile is at most 1.6
// % too high. The zero value is empty. Only one goroutine may use it at a time; use one per connection and merge them.
type Latency struct {
	buckets [latencyBuckets]uint64
	count   uint64
	max     time.Duration
	sum     time.Duration
}

const (
	latencyBits    = 6
	latencyWidth   = 1 << latencyBits
	latencyBuckets = (65 - latencyBits) * latencyWidth
)

// Record adds one duration; a negative one counts as zero.
func (l *Latency) Record(d time.Duration) {
	d = max(0, d)
	l.buckets[bucketOf(uint64(d))]++
	l.count++
	l.sum += d
	l.max = max(l.max, d)
}

func bucketOf(n uint64) int {
	if n < 2*latencyWidth {
		return int(n)
	}
	shift := bits.Len64(n) - latencyBits - 1
	return shift*latencyWidth + int(n>>shift)
}

// edgeOf returns the largest value of a bucket.
func edgeOf(bucket int) time.Duration {
	if bucket < 2*latencyWidth {
		return time.Duration(bucket)
	}
	shift := bucket/latencyWidth - 1
	return time.Duration((uint64(bucket-shift*latencyWidth)+1)<<shift - 1)
}

// Merge adds the durations of another histogram.
func (l *Latency) Merge(other *Latency) {
	for n, count := range other.buckets {
		l.buckets[n] += count
	}
	l.count += other.count
	l.sum += other.sum
	l.max = max(l.max, other.max)
}

// Percentile returns the duration that a share q of all does not exceed, zero without durations.
func (l *Latency) Percentile(q float64) time.Duration {
	if l.count == 0 {
		return 0
	}
	rank := min(max(uint64(q*float64(l.count)+0.999999), 1), l.count)
	var seen uint64
	for n, count := range l.buckets {
		if seen += count; seen >= rank {
			return min(edgeOf(n), l.max)
		}
	}
	return l.max
}

// Count returns the number of recorded durations.
func (l *Latency) Count() uint64 { return l.count }

// Max returns the longest duration.
func (l *Latency) Max() time.Duration { return l.max }

// Spread returns the figures of a result.
func (l *Latency) Spread() Spread {
	if l.count == 0 {
		return Spread{}
	}
	return Spread{
		Mean: millis(l.sum / time.Duration(l.count)), P50: millis(l.Percentile(0.50)), P95: millis(l.Percentile(0.95)),
		P99: millis(l.Percentile(0.99)), P999: millis(l.Percentile(0.999)), Max: millis(l.max), Count: l.count,
	}
}

// Spread is a distribution in milliseconds.
type Spread struct {
	Mean  float64 `json:"meanMs"`
	P50   float64 `json:"p50Ms"`
	P95   float64 `json:"p95Ms"`
	P99   float64 `json:"p99Ms"`
	P999  float64 `json:"p999Ms"`
	Max   float64 `json:"maxMs"`
	Count uint64  `json:"count"`
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
