package metric

import (
	"math"
	"strings"

	"svc/domain"
)

// VitalRating is the rating of a vital.
type VitalRating string

// The ratings.
const (
	VitalGood VitalRating = "good"
	VitalFair VitalRating = "needs_improvement"
	VitalPoor VitalRating = "poor"
)

// Values lists the ratings.
func (VitalRating) Values() []VitalRating { return []VitalRating{VitalGood, VitalFair, VitalPoor} }

// vitalBounds returns the limit up to which a vital is good, and the limit from which it is poor, as web.dev defines
// them.
func vitalBounds(vital string) (good, poor float64) {
	switch vital {
	case "LCP":
		return 2500, 4000
	case "INP":
		return 200, 500
	case "CLS":
		return 0.1, 0.25
	case "FCP":
		return 1800, 3000
	}
	return 800, 1800 // TTFB
}

// VitalBins are the observations of a vital as a sketch: bins (SketchKey) with their counts.
type VitalBins struct {
	Keys   []int16
	Counts []uint64
	Totals Totals
}

// VitalScore holds the 75th percentile, the shares and the rating of a vital.
type VitalScore struct {
	Samples uint64
	P75     float64
	Rating  VitalRating
	// Good and Poor are shares of the observations, 0..1.
	Good, Poor float64
}

// Score rates the observations of a vital, nil without observations. Shares count complete bins, so an observation
// within SketchAccuracy of a limit may be counted on its other side.
func (b *VitalBins) Score(vital string) *VitalScore {
	var all, good, poor uint64
	goodTo, poorFrom := vitalBounds(vital)
	for i, key := range b.Keys {
		n := b.Counts[i]
		all += n
		if key <= SketchKey(goodTo) {
			good += n
		}
		if key > SketchKey(poorFrom) {
			poor += n
		}
	}
	if all == 0 {
		return nil
	}
	score := &VitalScore{Samples: all, Good: float64(good) / float64(all), Poor: float64(poor) / float64(all), Rating: VitalFair}
	rank, seen := max(uint64(math.Ceil(float64(all)*0.75)), 1), uint64(0)
	for i, key := range b.Keys { // ascending, as the store sums them up
		if seen += b.Counts[i]; seen >= rank {
			if value := SketchValue(key, b.Totals); value != nil {
				score.P75 = *value
			}
			break
		}
	}
	switch {
	case score.P75 <= goodTo:
		score.Rating = VitalGood
	case score.P75 > poorFrom:
		score.Rating = VitalPoor
	}
	return score
}

// VitalGroup is a path or a kind of device with its vitals.
type VitalGroup struct {
	Value   string
	Samples uint64
	Vitals  map[string]VitalBins
}

// VitalsQuery selects a page of the vitals of an environment, ordered by observations, the most first.
type VitalsQuery struct {
	Environment domain.Environment
	Window      domain.Window
	// By is path or device; Path and Device select the observations of one.
	By, Path, Device string
	After            *VitalKey
	Limit            int
}

// VitalKey is a group's place in the list.
type VitalKey struct {
	Samples uint64
	Value   string
}

// VitalDevice returns the kind of device of a user agent for the label of vitals: mobile, tablet or desktop, empty
// without a user agent.
func VitalDevice(userAgent string) string {
	lower := strings.ToLower(userAgent)
	has := func(word string) bool { return strings.Contains(lower, word) }
	switch {
	case userAgent == "":
		return ""
	case has("ipad"), has("tablet"), has("android") && !has("mobile"):
		return "tablet"
	case has("mobi"), has("iphone"):
		return "mobile"
	}
	return "desktop"
}
