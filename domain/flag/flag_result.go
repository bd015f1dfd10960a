package flag

import (
	"math"
	"time"

	"svc/domain/goal"
)

// Count is the number of times that a flag served a variant on a UTC day; the empty variant is a multivariate flag
// that was off.
type Count struct {
	Environment uint64
	Flag        string
	Variant     string
	Day         time.Time
	Count       uint64
}

// Exposure is the first time that a visitor was served a variant.
type Exposure struct {
	Environment uint64
	Flag        string
	Variant     string
	Visitor     uint64
	At          time.Time
	// Expires is the day after which no data of the visitor is stored.
	Expires time.Time
}

// ResultQuery selects the conversions of the persons that were served a flag in a window.
type ResultQuery struct {
	Environment uint64
	Flag        string
	From, To    time.Time
	Goals       []goal.Goal
}

// Exposed is the number of persons that were first served a variant; Several of them were served other variants as
// well.
type Exposed struct {
	Variant string
	Persons uint64
	Several uint64
}

// Totals is the answer to a ResultQuery.
type Totals struct {
	Days    []Count
	Exposed []Exposed
	// Conversions is the number of persons that reached a goal after their exposure, by goal and variant.
	Conversions map[string]map[string]uint64
}

// zOf95 is the quantile of the normal distribution for an interval of 95 %.
const zOf95 = 1.959963984540054

// Wilson returns the score interval of a share of successes at a quantile z: E. B. Wilson, Probable Inference, the Law
// of Succession, and Statistical Inference, JASA 22 (1927).
func Wilson(successes, trials uint64, z float64) (low, high float64) {
	if trials == 0 {
		return 0, 1
	}
	n, p := float64(trials), float64(successes)/float64(trials)
	middle := p + z*z/(2*n)
	margin := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	return max(0, (middle-margin)/whole), min(1, (middle+margin)/whole)
}

// Wilson95 is Wilson at 95 %.
func Wilson95(successes, trials uint64) (low, high float64) { return Wilson(successes, trials, zOf95) }

// MinExposures is the number of persons that each variant needs before a winner is named.
const MinExposures = 100

// Arm holds the exposures and conversions of one variant.
type Arm struct {
	Variant     string
	Exposed     uint64
	Conversions uint64
}

// Winner returns the variant with a higher share of conversions than every other one, or the empty text if the data do
// not support any. The difference of two shares has the interval of R. G. Newcombe, Interval estimation for the
// difference between independent proportions, Statistics in Medicine 17 (1998), method 10. It must lie above zero for
// each of the others, at 95 % for all of them together (Bonferroni). why gives the reason if there is no winner.
func Winner(arms []Arm) (variant, why string) {
	if len(arms) < 2 {
		return "", "one_variant"
	}
	best := 0
	for n, arm := range arms {
		if arm.Exposed < MinExposures {
			return "", "too_few_exposures"
		}
		if rate(arm) > rate(arms[best]) {
			best = n
		}
	}
	z := normalQuantile(1 - 0.05/(2*float64(len(arms)-1)))
	for n, arm := range arms {
		if n != best && differenceLow(arms[best], arm, z) <= 0 {
			return "", "no_clear_difference"
		}
	}
	return arms[best].Variant, ""
}

func rate(arm Arm) float64 { return float64(arm.Conversions) / float64(max(arm.Exposed, 1)) }

// differenceLow returns the lower end of the interval of the difference of two shares.
func differenceLow(a, b Arm, z float64) float64 {
	lowA, _ := Wilson(a.Conversions, a.Exposed, z)
	_, highB := Wilson(b.Conversions, b.Exposed, z)
	pa, pb := rate(a), rate(b)
	return pa - pb - math.Sqrt((pa-lowA)*(pa-lowA)+(highB-pb)*(highB-pb))
}

// normalQuantile returns the quantile of the normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
