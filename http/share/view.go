package share

import (
	"net/url"
	"slices"
	"strings"

	"svc"
)

// The words of the parameters that do not belong to a panel, in the order of the page. The first range is not the
// default.
func ranges() []string { return []string{"24h", "7d", "30d", "90d"} }

// defaultRange is used if a request names no known range.
const defaultRange = "30d"

func grains() []svc.Interval { return []svc.Interval{svc.Hour, svc.Day, svc.Week, svc.Month} }

func metrics() []svc.Metric {
	return []svc.Metric{svc.MetricVisitors, svc.MetricPageviews, svc.MetricSessions}
}

// defaultGrain returns the granularity of a range if the request names none (contract 94).
func defaultGrain(span string) svc.Interval {
	switch span {
	case "24h":
		return svc.Hour
	case "90d":
		return svc.Week
	}
	return svc.Day
}

// offeredGrains lists the granularities that the page offers for a range; requests may use others.
func offeredGrains(span string) []svc.Interval {
	switch span {
	case "24h":
		return []svc.Interval{svc.Hour, svc.Day}
	case "7d":
		return []svc.Interval{svc.Hour, svc.Day, svc.Week}
	case "90d":
		return []svc.Interval{svc.Day, svc.Week, svc.Month}
	}
	return []svc.Interval{svc.Day, svc.Week, svc.Month}
}

// panel is one list of the page; its name is the name of its parameter.
type panel struct {
	name, title string
	dimensions  []svc.Dimension
}

// panels lists the panels in the order of the page.
func panels() []panel {
	return []panel{
		{"pages", "Pages", []svc.Dimension{svc.DimPath, svc.DimEntryPath, svc.DimExitPath}},
		{"sources", "Sources", []svc.Dimension{svc.DimSource, svc.DimMedium, svc.DimReferrerDomain}},
		{"locations", "Locations", []svc.Dimension{svc.DimCountry, svc.DimRegion, svc.DimCity}},
		{"devices", "Devices", []svc.Dimension{svc.DimDevice, svc.DimBrowser, svc.DimOS}},
		{"campaigns", "Campaigns", []svc.Dimension{svc.DimUTMSource, svc.DimUTMMedium, svc.DimUTMCampaign}},
	}
}

// offered lists the dimensions that readers may choose in a panel; only the first if the others are private to the
// owner.
func (p panel) offered(share *svc.Share) []svc.Dimension {
	offered := p.dimensions[:1:1]
	for _, dimension := range p.dimensions[1:] {
		if share.Shows(dimension) {
			offered = append(offered, dimension)
		}
	}
	return offered
}

// view is the selection of one request, in known words.
type view struct {
	span    string
	grain   svc.Interval
	metric  svc.Metric
	compare bool
	// chosen holds the dimension of each of panels().
	chosen [5]svc.Dimension
}

// parseView reads a query; an unknown word falls back to its default.
func parseView(query url.Values, share *svc.Share) view {
	v := view{span: defaultRange, metric: svc.MetricVisitors, compare: query.Get("compare") == "1"}
	if word := query.Get("range"); slices.Contains(ranges(), word) {
		v.span = word
	}
	v.grain = defaultGrain(v.span)
	if word := svc.Interval(query.Get("granularity")); slices.Contains(grains(), word) {
		v.grain = word
	}
	if word := svc.Metric(query.Get("metric")); slices.Contains(metrics(), word) {
		v.metric = word
	}
	for i, panel := range panels() {
		v.chosen[i] = panel.dimensions[0]
		if word := svc.Dimension(query.Get(panel.name)); slices.Contains(panel.offered(share), word) {
			v.chosen[i] = word
		}
	}
	return v
}

// query writes a view as its shortest query string; equal views have equal ones.
func (v view) query() string {
	var words []string
	add := func(name, word, preset string) {
		if word != preset {
			words = append(words, name+"="+word)
		}
	}
	add("range", v.span, defaultRange)
	add("granularity", string(v.grain), string(defaultGrain(v.span)))
	add("metric", string(v.metric), string(svc.MetricVisitors))
	if v.compare {
		words = append(words, "compare=1")
	}
	for i, panel := range panels() {
		add(panel.name, string(v.chosen[i]), string(panel.dimensions[0]))
	}
	return strings.Join(words, "&")
}

// href returns the address of a view below a base path.
func (v view) href(base string) string {
	if query := v.query(); query != "" {
		return base + "?" + query
	}
	return base
}

// inRange returns the view with another range and the default granularity of that range.
func (v view) inRange(span string) view {
	v.span, v.grain = span, defaultGrain(span)
	return v
}

func (v view) inGrain(grain svc.Interval) view {
	v.grain = grain
	return v
}

func (v view) inMetric(metric svc.Metric) view {
	v.metric = metric
	return v
}

func (v view) comparing(compare bool) view {
	v.compare = compare
	return v
}

// choosing returns the view with another dimension of the panel at a position.
func (v view) choosing(place int, dimension svc.Dimension) view {
	v.chosen[place] = dimension
	return v
}
