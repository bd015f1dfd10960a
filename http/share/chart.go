package share

import (
	"math"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
)

// The chart's geometry. Lines are drawn in their own units, 1000 by 1000, and stretched to the plot. Shapes and texts
// are placed in percent of the width and in pixels of the height, so that the stretching does not distort them.
const (
	plotTop    = 22
	plotHeight = 208
	axisRoom   = 30
	units      = 1000.0
	maxBands   = 200 // A chart with more buckets has no tooltips without a script.
	axisLabels = 6
)

// chart is the drawing of a series.
type chart struct {
	Height, PlotTop, PlotHeight, AxisY int
	Max                                float64
	// Area, Line and Before are paths in units. Partial holds the first and the last step if the
	// window cuts their buckets.
	Area, Line, Before string
	Partial            []string
	Ticks              []tick
	Labels             []label
	Bands              []band
	Summary            string
	Rows               []dataRow
}

// tick is a horizontal line with its value, at a height in pixels.
type tick struct {
	Y    int
	Text string
}

// label names a bucket below the chart, at a position in percent.
type label struct{ X, Text string }

// band is the strip of one bucket, which shows its text when pointed at.
type band struct{ X, Width, Text string }

// dataRow is one bucket of the table of numbers.
type dataRow struct {
	Name, Value, Before string
}

// draw makes the chart of a report.
func draw(r *report) *chart {
	now, before := r.series.Points, r.before.Points
	top := math.Max(highest(now), highest(before))
	step := stepOf(top)
	drawn := &chart{
		Height: plotTop + plotHeight + axisRoom, PlotTop: plotTop, PlotHeight: plotHeight, AxisY: plotTop + plotHeight + 20,
		Max: step * math.Max(1, math.Ceil(top/step)),
	}
	for value := 0.0; value <= drawn.Max; value += step {
		drawn.Ticks = append(drawn.Ticks, tick{Y: plotTop + int(math.Round(plotHeight*(1-value/drawn.Max))), Text: short(uint64(value))})
	}
	places := drawn.places(now)
	drawn.Area = areaPath(places)
	if last := len(now) - 1; last > 0 && r.series.Interval.Next(now[last].T.In(r.window.Location)).After(r.window.To) {
		drawn.Partial, places = append(drawn.Partial, linePath(places[last-1:])), places[:last]
	}
	if len(places) > 2 && now[0].T.Before(r.window.From) {
		drawn.Partial, places = append(drawn.Partial, linePath(places[:2])), places[1:]
	}
	drawn.Line = linePath(places)
	before, missing := aligned(before, len(now))
	drawn.Before = linePath(drawn.places(before)[missing:])
	drawn.name(r, before, missing)
	return drawn
}

// name labels the buckets and fills the table. missing is the number of first buckets without a counterpart in the
// window before.
func (c *chart) name(r *report, before []analytics.Point, missing int) {
	points := r.series.Points
	width := 100 / math.Max(1, float64(len(points)))
	for i, point := range points {
		row := dataRow{Name: bucketName(point.T, r.series.Interval, r.window), Value: exact(uint64(point.Value))}
		text := row.Name + ": " + row.Value + " " + unitOf(r.view.metric)
		if r.view.compare && len(before) > 0 && i >= missing {
			row.Before = exact(uint64(before[i].Value))
			text += ", before: " + row.Before
		}
		c.Rows = append(c.Rows, row)
		if len(points) <= maxBands {
			c.Bands = append(c.Bands, band{X: decimal(width * float64(i)), Width: decimal(width), Text: text})
		}
	}
	for _, i := range labelled(points, r.series.Interval, r.view.span) {
		at := points[i].T.In(r.window.Location)
		c.Labels = append(c.Labels, label{X: decimal(width * (float64(i) + 0.5)), Text: axisName(at, r.series.Interval, r.view.span)})
	}
	c.Summary = summaryOf(r)
}

// summaryOf describes the chart in a sentence.
func summaryOf(r *report) string {
	var best analytics.Point
	for _, point := range r.series.Points {
		if point.Value > best.Value {
			best = point
		}
	}
	if best.Value == 0 {
		return "No " + unitOf(r.view.metric) + " in this range."
	}
	return "The most " + unitOf(r.view.metric) + ": " + exact(uint64(best.Value)) + ", " + bucketName(best.T, r.series.Interval, r.window) + "."
}

// labelled chooses the buckets with a label below the chart: six at most, and midnights if the chart shows hours of
// many days.
func labelled(points []analytics.Point, interval domain.Interval, span string) []int {
	var candidates []int
	for i, point := range points {
		if interval != domain.Hour || span == "24h" || domain.Day.Floor(point.T).Equal(point.T) {
			candidates = append(candidates, i)
		}
	}
	every := max(1, (len(candidates)+axisLabels-1)/axisLabels)
	var chosen []int
	for i := every / 2; i < len(candidates); i += every {
		chosen = append(chosen, candidates[i])
	}
	return chosen
}

// aligned returns the points of the window before at the positions of n points, so that both end together. missing is
// the number of first positions without a point.
func aligned(before []analytics.Point, n int) (points []analytics.Point, missing int) {
	if len(before) == 0 || len(before) == n {
		return before, 0
	}
	if len(before) > n {
		return before[len(before)-n:], 0
	}
	missing = n - len(before)
	return append(make([]analytics.Point, missing), before...), missing
}

func highest(points []analytics.Point) (top float64) {
	for _, point := range points {
		top = math.Max(top, point.Value)
	}
	return top
}

// stepOf returns the distance of the horizontal lines: 1, 2 or 5 times a power of ten, so that at most five lines are
// above the base.
func stepOf(top float64) float64 {
	for size := 1.0; ; size *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if size*factor*5 >= top {
				return size * factor
			}
		}
	}
}

// place is a point of a line, in units.
type place struct{ x, y float64 }

// places returns the places of points; a single point becomes a horizontal line.
func (c *chart) places(points []analytics.Point) []place {
	out := make([]place, 0, len(points)+1)
	for i, point := range points {
		out = append(out, place{x: units * (float64(i) + 0.5) / float64(len(points)), y: units * (1 - point.Value/c.Max)})
	}
	if len(out) == 1 {
		return []place{{0, out[0].y}, {units, out[0].y}}
	}
	return out
}

func linePath(line []place) string {
	var path strings.Builder
	for i, p := range line {
		path.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		path.WriteString(decimal(p.x) + " " + decimal(p.y))
	}
	return path.String()
}

func areaPath(line []place) string {
	if len(line) == 0 {
		return ""
	}
	return linePath(line) + "L" + decimal(line[len(line)-1].x) + " 1000L" + decimal(line[0].x) + " 1000Z"
}

// decimal writes a number with at most two decimals.
func decimal(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// unitOf returns the noun that a metric counts.
func unitOf(metric analytics.Metric) string {
	if metric == analytics.MetricPageviews {
		return "page views"
	}
	return string(metric)
}
