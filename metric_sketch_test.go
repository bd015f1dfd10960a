package svc_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"svc"
)

// TestSketchAccuracy holds every percentile of random observations of many sizes to
// the bound.
func TestSketchAccuracy(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		scale := math.Pow(10, rng.Float64()*30-11)
		values := make([]float64, 1+rng.IntN(500))
		bins := map[int16]uint64{}
		totals := svc.MetricTotals{}
		for i := range values {
			values[i] = rng.NormFloat64() * scale * rng.ExpFloat64()
			if rng.IntN(20) == 0 {
				values[i] = 0
			}
			bins[svc.SketchKey(values[i])]++
			totals.Add(svc.MetricTotals{Count: 1, Sum: values[i], Min: values[i], Max: values[i]})
		}
		slices.Sort(values)
		var sketch svc.Sketch
		for key := range bins {
			sketch.Keys = append(sketch.Keys, key)
		}
		slices.Sort(sketch.Keys)
		for _, key := range sketch.Keys {
			sketch.Counts = append(sketch.Counts, bins[key])
		}
		for _, q := range append(svc.Percentiles(), 0, 0.001, 0.999, 1) {
			exact := values[max(0, int(math.Ceil(float64(len(values))*q))-1)]
			got := sketch.Quantile(q, totals)
			if got == nil || math.Abs(*got-exact) > svc.SketchAccuracy*math.Abs(exact)*(1+1e-9)+1e-12 {
				t.Fatalf("seed %d: quantile %v is %v instead of %v", seed, q, *got, exact)
			}
		}
	}
	if got := (svc.Sketch{}).Quantile(0.5, svc.MetricTotals{}); got != nil {
		t.Errorf("the quantile of nothing is %v", *got)
	}
}
