package metric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"svc/domain/metric"
)

// TestSketchAccuracy checks the value of a bin against the bound, and the order of bins against that of the
// observations.
func TestSketchAccuracy(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		scale := math.Pow(10, rng.Float64()*30-11)
		values := make([]float64, 1+rng.IntN(500))
		totals := metric.Totals{}
		for i := range values {
			values[i] = rng.NormFloat64() * scale * rng.ExpFloat64()
			if rng.IntN(20) == 0 {
				values[i] = 0
			}
			totals.Add(metric.Totals{Count: 1, Sum: values[i], Min: values[i], Max: values[i]})
		}
		slices.Sort(values)
		keys := make([]int16, len(values))
		for i, exact := range values {
			keys[i] = metric.SketchKey(exact)
			got := metric.SketchValue(keys[i], totals)
			if got == nil || math.Abs(*got-exact) > metric.SketchAccuracy*math.Abs(exact)*(1+1e-9)+1e-12 {
				t.Fatalf("seed %d: %v is told as %v", seed, exact, *got)
			}
		}
		if !slices.IsSorted(keys) {
			t.Fatalf("seed %d: the bins of %v do not ascend: %v", seed, values, keys)
		}
	}
}
