package alert

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"svc/domain/metric"
)

// TestAlertSlotsAddUp folds observations in parts and in any order. The slots equal the slots of all at once, and
// percentiles are within the accuracy of a sketch.
func TestAlertSlotsAddUp(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	counter, now := Counter{Kind: Metric, Minutes: 5, Bins: true}, time.Unix(1e9, 0)
	for range 50 {
		var whole Slots
		parts, values := make([]Slots, 4), []float64{}
		for range 1 + chance.IntN(200) {
			value, at := math.Round(chance.NormFloat64()*1000), counter.Slot(now.Add(-time.Duration(chance.IntN(300))*time.Second))
			values = append(values, value)
			for _, slots := range []*Slots{&whole, &parts[chance.IntN(len(parts))]} {
				slot := slots.At(at)
				slot.Totals.Add(metric.Totals{Count: 1, Sum: value, Min: value, Max: value})
				slot.Observe(value, 1)
			}
		}
		var joined Slots
		for _, n := range chance.Perm(len(parts)) {
			joined.Add(parts[n])
		}
		slices.Sort(values)
		for _, agg := range metric.Aggs() {
			got, _ := counter.Value(agg, now, joined)
			apart, _ := counter.Value(agg, now, parts...)
			want, known := counter.Value(agg, now, whole)
			if got != want || apart != want || !known {
				t.Fatalf("%s: %v joined, %v apart, %v at once", agg, got, apart, want)
			}
			if at, percentile := agg.Percentile(); percentile {
				exact := values[int(math.Ceil(float64(len(values))*metric.Percentiles()[at]))-1]
				if math.Abs(got-exact) > metric.SketchAccuracy*math.Abs(exact)+1e-9 {
					t.Errorf("%s is %v, exactly %v", agg, got, exact)
				}
			}
		}
	}
}

// TestAlertWindowsEnd tests when slots leave windows of several lengths, and that the value changes exactly then.
func TestAlertWindowsEnd(t *testing.T) {
	for _, minutes := range []int{1, 5, 10, 60, MaxWindowMinutes} {
		counter, at := Counter{Kind: EventVolume, Minutes: minutes}, time.Unix(1e9+7, 0)
		var slots Slots
		slots.At(counter.Slot(at)).Count = 3
		next, empty := counter.Changes(slots, at)
		if !next.Equal(empty) || next.Before(at.Add(counter.Window())) || next.After(at.Add(counter.Window()+time.Duration(counter.Step())*time.Second)) {
			t.Errorf("%d minutes: it changes at %s and is empty at %s", minutes, next.Sub(at), empty.Sub(at))
		}
		before, _ := counter.Value(metric.AggCount, next.Add(-time.Millisecond), slots)
		after, _ := counter.Value(metric.AggCount, next, slots)
		if before != 3 || after != 0 || len(counter.Trim(slots, next)) != 0 {
			t.Errorf("%d minutes: %v before the end, %v after it", minutes, before, after)
		}
	}
}

func FuzzDecodeLabels(f *testing.F) {
	f.Add("1:a2:bc")
	f.Add("1:a")
	f.Add("9:a0:")
	f.Fuzz(func(t *testing.T, text string) {
		labels := DecodeLabels(text)
		if again := DecodeLabels(EncodeLabels(labels)); !slices.Equal(labels, again) {
			t.Errorf("%q: %q, again %q", text, labels, again)
		}
	})
}
