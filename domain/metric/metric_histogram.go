package metric

import (
	"math"
	"slices"
)

// Histogram holds observations counted in buckets. An explicit histogram has ascending Bounds, and one more of Buckets:
// bucket i counts observations over Bounds[i-1] and not over Bounds[i]. In an exponential histogram, bucket i counts
// observations over b^i and not over b^(i+1), with b = 2^(2^-Scale), beginning with i = offset. It has the same buckets
// for negative observations.
type Histogram struct {
	Bounds      []float64
	Buckets     []uint64
	Exponential bool
	Scale       int32
	Zero        uint64

	PositiveOffset int32
	Positive       []uint64
	NegativeOffset int32
	Negative       []uint64
}

// Scales of exponential histograms (OpenTelemetry's data model).
const (
	MinHistogramScale = -10
	MaxHistogramScale = 20
)

// Valid reports whether the histogram is well formed.
func (h *Histogram) Valid() bool {
	if h.Exponential {
		const reach = 1 << 30 // no scale has an index beyond it
		return h.Scale >= MinHistogramScale && h.Scale <= MaxHistogramScale &&
			h.PositiveOffset > -reach && h.PositiveOffset < reach && h.NegativeOffset > -reach && h.NegativeOffset < reach
	}
	if len(h.Buckets) == 0 {
		return len(h.Bounds) == 0
	}
	for i, bound := range h.Bounds {
		if math.IsNaN(bound) || math.IsInf(bound, 0) || i > 0 && bound <= h.Bounds[i-1] {
			return false
		}
	}
	return len(h.Buckets) == len(h.Bounds)+1
}

// Count returns the number of observations in the buckets.
func (h *Histogram) Count() uint64 {
	sum := h.Zero
	for _, counts := range [...][]uint64{h.Buckets, h.Positive, h.Negative} {
		for _, n := range counts {
			sum += n
		}
	}
	return sum
}

// Since returns the observations since an earlier state of the same histogram. It returns false if h cannot be a later
// state: the bounds differ, or a count is lower.
func (h *Histogram) Since(before *Histogram) (*Histogram, bool) {
	if h.Exponential != before.Exponential || !slices.Equal(h.Bounds, before.Bounds) {
		return nil, false
	}
	out := *h
	if !h.Exponential {
		var ok bool
		out.Buckets, ok = lessCounts(h.Buckets, before.Buckets, 0)
		return &out, ok
	}
	if before.Scale < h.Scale || before.Zero > h.Zero {
		return nil, false
	}
	shift := before.Scale - h.Scale
	offset, counts := downscaled(before.PositiveOffset, before.Positive, shift)
	var positive, negative bool
	out.Positive, positive = lessCounts(h.Positive, counts, offset-h.PositiveOffset)
	offset, counts = downscaled(before.NegativeOffset, before.Negative, shift)
	out.Negative, negative = lessCounts(h.Negative, counts, offset-h.NegativeOffset)
	out.Zero -= before.Zero
	return &out, positive && negative
}

// lessCounts returns the difference of two lists of counts. The second list begins at index at of the first.
func lessCounts(counts, before []uint64, at int32) ([]uint64, bool) {
	out := slices.Clone(counts)
	for i, n := range before {
		place := int(at) + i
		switch {
		case n == 0:
		case place < 0 || place >= len(out) || out[place] < n:
			return nil, false
		default:
			out[place] -= n
		}
	}
	return out, true
}

// downscaled merges the buckets of an exponential histogram into the buckets of a lower scale.
func downscaled(offset int32, counts []uint64, shift int32) (int32, []uint64) {
	if shift == 0 || len(counts) == 0 {
		return offset, counts
	}
	first := offset >> shift
	out := make([]uint64, int((offset+int32(len(counts))-1)>>shift-first)+1)
	for i, n := range counts {
		out[(offset+int32(i))>>shift-first] += n
	}
	return first, out
}

// histogramSplit is the number of values that represent the observations of an explicit bucket. They are spread evenly
// over it, because the positions of the observations within it are unknown.
const histogramSplit = 4

// Values returns values that represent the histogram's observations, each with its weight. An explicit bucket's values
// are spread over the bucket, an exponential bucket's are at its middle. The extremes limit them if they are known.
func (h *Histogram) Values(low, high *float64) (values []float64, weights []uint64) {
	add := func(value float64, weight uint64) {
		if low != nil {
			value = max(value, *low)
		}
		if high != nil {
			value = min(value, *high)
		}
		if weight > 0 {
			values, weights = append(values, value), append(weights, weight)
		}
	}
	if h.Exponential {
		h.exponentialValues(add)
		return values, weights
	}
	for i, n := range h.Buckets {
		from, to := h.bucket(i, low, high)
		parts := min(n, histogramSplit)
		for p := range parts {
			share := n / parts
			if p < n%parts {
				share++
			}
			add(from+(to-from)*(float64(p)+0.5)/float64(parts), share)
		}
	}
	return values, weights
}

// bucket returns the borders of an explicit bucket. Without known extremes, the first bucket begins at 0, or has no
// width if its bound is negative; the last bucket has no width.
func (h *Histogram) bucket(i int, low, high *float64) (from, to float64) {
	last := len(h.Bounds)
	switch {
	case last == 0:
	case i == 0:
		to = h.Bounds[0]
		from = min(to, 0)
	case i == last:
		from, to = h.Bounds[last-1], h.Bounds[last-1]
	default:
		from, to = h.Bounds[i-1], h.Bounds[i]
	}
	if low != nil && (i == 0 || *low > from && *low < to) {
		from = *low
	}
	if high != nil && (i == last || *high < to && *high > from) {
		to = *high
	}
	return from, to
}

func (h *Histogram) exponentialValues(add func(value float64, weight uint64)) {
	step := math.Exp2(-float64(h.Scale)) // the binary logarithm of the base
	middle := func(index int) float64 { return min(math.Exp2((float64(index)+0.5)*step), math.MaxFloat64) }
	for i := len(h.Negative) - 1; i >= 0; i-- {
		add(-middle(int(h.NegativeOffset)+i), h.Negative[i])
	}
	add(0, h.Zero)
	for i, n := range h.Positive {
		add(middle(int(h.PositiveOffset)+i), n)
	}
}
