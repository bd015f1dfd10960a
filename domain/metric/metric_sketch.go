package metric

import "math"

// SketchAccuracy is the relative error of a sketch's percentiles: an estimate of an observation x differs from it by at
// most SketchAccuracy·|x|, for |x| from sketchSmallest to sketchLargest. Smaller observations count as 0, and larger
// ones as the largest, both limited by the extremes of the observations.
const SketchAccuracy = 0.01

const (
	sketchSmallest = 1e-12
	sketchLargest  = 1e30
	// sketchLogGamma is ln((1+a)/(1-a)) for the accuracy a: the logarithm of the growth from bin to bin.
	sketchLogGamma = 0.020000666706669543
	// sketchShift makes the keys of positive observations positive.
	sketchShift = 1382
)

// SketchKey returns the bin of an observation. Bins grow geometrically, like the bins of DDSketch, and ascend with the
// observations. So the bin of a percentile is the percentile of the bins, and counts of bins add up in any order. The
// store computes the same in SQL (migration 08, alerts.Keys).
func SketchKey(x float64) int16 {
	size := math.Abs(x)
	if size < sketchSmallest {
		return 0
	}
	key := int16(math.Ceil(math.Log(min(size, sketchLargest))/sketchLogGamma)) + sketchShift
	if x < 0 {
		return -key
	}
	return key
}

// SketchValue returns the middle of a bin by relative error, limited by the extremes of the observations.
func SketchValue(key int16, totals Totals) *float64 {
	var value float64
	if key != 0 {
		size := max(key, -key)
		value = 2 * math.Exp(float64(size-sketchShift)*sketchLogGamma) / (math.Exp(sketchLogGamma) + 1)
	}
	if key < 0 {
		value = -value
	}
	return finite(min(max(value, totals.Min), totals.Max))
}
