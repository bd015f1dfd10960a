package share

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[uint64][2]string{
		0: {"0", "0"}, 999: {"999", "999"}, 1000: {"1k", "1,000"}, 1049: {"1k", "1,049"}, 1050: {"1.1k", "1,050"}, 12_345: {"12.3k", "12,345"},
		99_949: {"99.9k", "99,949"}, 99_950: {"100k", "99,950"}, 999_499: {"999k", "999,499"}, 999_500: {"1M", "999,500"}, 999_999: {"1M", "999,999"},
		1_250_000: {"1.3M", "1,250,000"}, 999_999_999: {"1B", "999,999,999"}, 1e12: {"1T", "1,000,000,000,000"}, 5e15: {"5000T", "5,000,000,000,000,000"},
	} {
		if got := [2]string{short(n), exact(n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for millis, want := range map[uint64]string{
		0: "0s", 499: "0s", 500: "1s", 59_499: "59s", 59_500: "1m 0s", 95_000: "1m 35s", 3_599_500: "1h 0m", 7_384_000: "2h 3m",
	} {
		if got := length(millis); got != want {
			t.Errorf("%d ms: %q, want %q", millis, got, want)
		}
	}
}

func TestReadablePaths(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/pricing": "/pricing", "/%C3%BCber-uns": "/über-uns", "/%E6%97%A5%E6%9C%AC": "/日本", "/%e6%97%a5": "/日", "/c++": "/c++",
		"/a%2Fb": "/a%2Fb", "/a%2fb": "/a%2fb", "/100%25": "/100%25", "/a%20b": "/a%20b", "/what%3F": "/what%3F", "/50%": "/50%",
		"/%FF": "/%FF", "/a%0Ab": "/a%0Ab", "/%E2%80%AEgpj": "/%E2%80%AEgpj", "/%3Cb%3E": "/<b>", "": "",
	} {
		if got := readable(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	for name, test := range map[string]struct {
		now, before float64
		fewer       bool
		want        change
	}{
		"more":              {150, 100, false, change{"up", "50%", "yes", "x"}},
		"less":              {95, 100, false, change{"down", "5%", "no", "x"}},
		"a little":          {100.4, 100, false, change{"up", "0.4%", "yes", "x"}},
		"fewer is better":   {50, 100, true, change{"down", "50%", "yes", "x"}},
		"more is worse":     {150, 100, true, change{"up", "50%", "no", "x"}},
		"the same":          {100, 100, false, change{"same", "0%", "", "x"}},
		"nothing":           {0, 0, false, change{"same", "0%", "", "x"}},
		"from nothing":      {5, 0, false, change{"up", "new", "yes", "x"}},
		"to nothing":        {0, 5, false, change{"down", "100%", "no", "x"}},
		"very much more":    {50_000, 1, false, change{"up", "5M%", "yes", "x"}},
		"rounded just once": {12_345, 10_000, false, change{"up", "23%", "yes", "x"}},
	} {
		if got := *changeOf(test.now, test.before, "x", test.fewer); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestRatesOfNothingAreNotCompared checks headlines without earlier sessions.
func TestRatesOfNothingAreNotCompared(t *testing.T) {
	r := &report{view: view{compare: true}}
	r.overview.Current = analytics.Headline{Visitors: 3, Pageviews: 4, Sessions: 3, BounceRate: 0.5, AvgDurationMs: 1000}
	var got []string
	for _, m := range r.metrics("/s/x") {
		text := "none"
		if m.Change != nil {
			text = m.Change.Text
		}
		got = append(got, text)
	}
	if want := []string{"new", "new", "new", "none", "none", "none"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSteps(t *testing.T) {
	for top, want := range map[float64]float64{0: 1, 1: 1, 5: 1, 6: 2, 10: 2, 11: 5, 25: 5, 26: 10, 114: 50, 100_001: 50_000} {
		if got := stepOf(top); got != want {
			t.Errorf("up to %v: steps of %v, want %v", top, got, want)
		}
	}
}

// drawing makes the chart of values in buckets of a window.
func drawing(t *testing.T, span string, interval domain.Interval, zone string, values, before []float64) *chart {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	window, problem := domain.ParseWindow(span, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), location)
	if problem != nil {
		t.Fatal(problem)
	}
	points := func(window domain.Window, values []float64) (points []analytics.Point) {
		buckets := window.Buckets(interval)
		for i, at := range buckets[len(buckets)-len(values):] {
			points = append(points, analytics.Point{T: at, Value: values[i]})
		}
		return points
	}
	r := &report{window: window, view: view{span: span, grain: interval, metric: analytics.MetricVisitors, compare: before != nil}}
	r.series = analytics.Series{Interval: interval, Points: points(window, values)}
	r.before = analytics.Series{Interval: interval, Points: points(window.Previous(), before)}
	return draw(r)
}

// TestDrawing compares a whole drawing of three months; the window cuts both ends.
func TestDrawing(t *testing.T) {
	got := drawing(t, "90d", domain.Month, "Europe/Berlin", []float64{4, 8, 10, 2}, []float64{1, 3, 5})
	want := &chart{
		Height: 260, PlotTop: 22, PlotHeight: 208, AxisY: 250, Max: 10,
		Area: "M125 600L375 200L625 0L875 800L875 1000L125 1000Z", Line: "M375 200L625 0",
		Partial: []string{"M625 0L875 800", "M125 600L375 200"}, Before: "M375 900L625 700L875 500",
		Ticks:  []tick{{230, "0"}, {188, "2"}, {147, "4"}, {105, "6"}, {64, "8"}, {22, "10"}},
		Labels: []label{{"12.5", "Aug"}, {"37.5", "Sep"}, {"62.5", "Oct"}, {"87.5", "Nov"}},
		Bands: []band{
			{"0", "25", "August 2026 (in part): 4 visitors"},
			{"25", "25", "September 2026: 8 visitors, before: 1"},
			{"50", "25", "October 2026: 10 visitors, before: 3"},
			{"75", "25", "November 2026 (in part): 2 visitors, before: 5"},
		},
		Summary: "The most visitors: 10, October 2026.",
		Rows: []dataRow{
			{"August 2026 (in part)", "4", ""}, {"September 2026", "8", "1"}, {"October 2026", "10", "3"}, {"November 2026 (in part)", "2", "5"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("drew\n%+v\nwant\n%+v", got, want)
	}
}

// TestDrawingsOfFewOrNoNumbers must neither divide by zero nor lose the base.
func TestDrawingsOfFewOrNoNumbers(t *testing.T) {
	two := drawing(t, "30d", domain.Month, "UTC", []float64{10, 5}, nil)
	if !reflect.DeepEqual(two.Partial, []string{"M250 0L750 500"}) || strings.Contains(two.Line, "L") {
		t.Errorf("two months, both in part: %+v", two)
	}
	one := drawing(t, "24h", domain.Month, "UTC", []float64{7}, nil)
	if one.Line != "M0 125L1000 125" || len(one.Bands) != 1 {
		t.Errorf("one bucket: %+v", one)
	}
	quiet := drawing(t, "7d", domain.Day, "UTC", make([]float64, 8), nil)
	if quiet.Max != 1 || quiet.Summary != "No visitors in this range." || !strings.HasSuffix(quiet.Line, "1000") {
		t.Errorf("quiet: %+v", quiet)
	}
	none := drawing(t, "7d", domain.Day, "UTC", []float64{}, nil)
	if none.Line != "" || none.Area != "" || len(none.Rows) != 0 {
		t.Errorf("no bucket: %+v", none)
	}
}

// TestHoursOfManyDays checks that midnights have labels, as many as fit.
func TestHoursOfManyDays(t *testing.T) {
	hours := drawing(t, "7d", domain.Hour, "Europe/Berlin", make([]float64, 168), nil)
	var names []string
	for _, label := range hours.Labels {
		names = append(names, label.Text)
	}
	if want := []string{"15 Nov", "17 Nov", "19 Nov"}; !slices.Equal(names, want) {
		t.Errorf("named %q, want %q", names, want)
	}
	if long := drawing(t, "30d", domain.Hour, "UTC", make([]float64, 720), nil); len(long.Bands) != 0 || len(long.Rows) != 720 {
		t.Errorf("%d bands, %d rows", len(long.Bands), len(long.Rows))
	}
}

func TestCountries(t *testing.T) {
	for code, want := range map[string]string{"DE": "Germany", "AD": "Andorra", "ZW": "Zimbabwe", "XX": "XX", "de": "de", "": "", "D": "D", "E\n": "E\n", "Germany": "Germany"} {
		if got := countryName(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
