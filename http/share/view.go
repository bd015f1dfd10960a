package share

import (
	"net/url"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/share"
)

// The words of the parameters that do not belong to a panel, in the order of the page. The first range is not the
// default.
func ranges() []string { return []string{"24h", "7d", "30d", "90d"} }

// defaultRange is used if a request names no known range.
const defaultRange = "30d"

func grains() []domain.Interval {
	return []domain.Interval{domain.Hour, domain.Day, domain.Week, domain.Month}
}

func metrics() []analytics.Metric {
	return []analytics.Metric{analytics.MetricVisitors, analytics.MetricPageviews, analytics.MetricSessions}
}

// defaultGrain returns the granularity of a range if the request names none (contract 94).
func defaultGrain(span string) domain.Interval {
	switch span {
	case "24h":
		return domain.Hour
	case "90d":
		return domain.Week
	}
	return domain.Day
}

// offeredGrains lists the granularities that the page offers for a range; requests may use others.
func offeredGrains(span string) []domain.Interval {
	switch span {
	case "24h":
		return []domain.Interval{domain.Hour, domain.Day}
	case "7d":
		return []domain.Interval{domain.Hour, domain.Day, domain.Week}
	case "90d":
		return []domain.Interval{domain.Day, domain.Week, domain.Month}
	}
	return []domain.Interval{domain.Day, domain.Week, domain.Month}
}

// panel is one list of the page; its name is the name of its parameter.
type panel struct {
	name, title string
	dimensions  []filter.Dimension
}

// panels lists the panels in the order of the page.
func panels() []panel {
	return []panel{
		{"pages", "Pages", []filter.Dimension{filter.DimPath, filter.DimEntryPath, filter.DimExitPath}},
		{"sources", "Sources", []filter.Dimension{filter.DimSource, filter.DimMedium, filter.DimReferrerDomain}},
		{"locations", "Locations", []filter.Dimension{filter.DimCountry, filter.DimRegion, filter.DimCity}},
		{"devices", "Devices", []filter.Dimension{filter.DimDevice, filter.DimBrowser, filter.DimOS}},
		{"campaigns", "Campaigns", []filter.Dimension{filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMCampaign}},
	}
}

// offered lists the dimensions that readers may choose in a panel; only the first if the others are private to the
// owner.
func (p panel) offered(share *share.Share) []filter.Dimension {
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
	grain   domain.Interval
	metric  analytics.Metric
	compare bool
	// chosen holds the dimension of each of panels().
	chosen [5]filter.Dimension
}

// parseView reads a query; an unknown word falls back to its default.
func parseView(query url.Values, share *share.Share) view {
	v := view{span: defaultRange, metric: analytics.MetricVisitors, compare: query.Get("compare") == "1"}
	if word := query.Get("range"); slices.Contains(ranges(), word) {
		v.span = word
	}
	v.grain = defaultGrain(v.span)
	if word := domain.Interval(query.Get("granularity")); slices.Contains(grains(), word) {
		v.grain = word
	}
	if word := analytics.Metric(query.Get("metric")); slices.Contains(metrics(), word) {
		v.metric = word
	}
	for i, panel := range panels() {
		v.chosen[i] = panel.dimensions[0]
		if word := filter.Dimension(query.Get(panel.name)); slices.Contains(panel.offered(share), word) {
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
	add("metric", string(v.metric), string(analytics.MetricVisitors))
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

func (v view) inGrain(grain domain.Interval) view {
	v.grain = grain
	return v
}

func (v view) inMetric(metric analytics.Metric) view {
	v.metric = metric
	return v
}

func (v view) comparing(compare bool) view {
	v.compare = compare
	return v
}

// choosing returns the view with another dimension of the panel at a position.
func (v view) choosing(place int, dimension filter.Dimension) view {
	v.chosen[place] = dimension
	return v
}
