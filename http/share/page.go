package share

import (
	"html/template"
	"slices"
	"strings"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
)

// page holds the values that the template shows.
type page struct {
	Style  template.CSS
	Script template.JS

	App, Span, Zone, Updated string
	// Embed is true if the page is shown in a frame; Whole is then the address of the page outside.
	Embed bool
	Whole string

	Ranges, Grains []choice
	Compare        choice
	Metrics        []metric
	Metric         string
	Compares       bool
	Before         string
	Chart          *chart
	Empty          bool
	Panels         []section
}

// choice is one of several views, with its link.
type choice struct {
	Text, Href string
	Current    bool
}

// metric is one headline number; a number without a link has no chart.
type metric struct {
	Name, Href string
	Current    bool
	Shown      string
	Exact      string
	Change     *change
}

// section is one panel.
type section struct {
	Name, Title, Column string
	Choices             []choice
	// Private is true if the owner does not publish the panel's values.
	Private bool
	Rows    []bar
}

// bar is one row of a panel. Width is in percent of the longest.
type bar struct {
	Text, Hint, Width, Shown, Exact string
}

// page turns a report into the data of the template, with links below a base.
func (r *report) page(base string, embed bool) *page {
	p := &page{
		App: r.public.App.Name, Span: spanName(r.window), Zone: r.window.Location.String(),
		Updated: r.asked.In(r.window.Location).Format("15:04"), Embed: embed,
		Metric: unitOf(r.view.metric), Compares: r.view.compare, Before: beforeName(r.view.span), Chart: draw(r),
		Empty: r.overview.Current.Events == 0,
	}
	if embed {
		p.Whole = r.view.href("/s/" + strings.TrimPrefix(base, "/embed/"))
	}
	for _, span := range ranges() {
		p.Ranges = append(p.Ranges, choice{Text: rangeName(span), Href: r.view.inRange(span).href(base), Current: span == r.view.span})
	}
	for _, grain := range grains() {
		if current := grain == r.view.grain; current || slices.Contains(offeredGrains(r.view.span), grain) {
			p.Grains = append(p.Grains, choice{Text: strings.ToUpper(string(grain[:1])) + string(grain[1:]), Href: r.view.inGrain(grain).href(base), Current: current})
		}
	}
	p.Compare = choice{Text: "Compare with the " + beforeName(r.view.span), Href: r.view.comparing(!r.view.compare).href(base), Current: r.view.compare}
	p.Metrics = r.metrics(base)
	for i, panel := range panels() {
		p.Panels = append(p.Panels, r.section(i, panel, base))
	}
	return p
}

func rangeName(span string) string {
	return map[string]string{"24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days"}[span]
}

// beforeName names the window before the one of a range.
func beforeName(span string) string { return "previous " + rangeName(span) }

// metrics lists the headline numbers, the ones with a chart first.
func (r *report) metrics(base string) []metric {
	now, before := r.overview.Current, r.overview.Previous
	count := func(name string, key analytics.Metric, now, before uint64) metric {
		m := metric{Name: name, Href: r.view.inMetric(key).href(base), Current: r.view.metric == key, Shown: short(now), Exact: exact(now)}
		if r.view.compare {
			m.Change = changeOf(float64(now), float64(before), short(before), false)
		}
		return m
	}
	rate := func(name, now, before string, valueNow, valueBefore float64, fewerIsBetter bool) metric {
		m := metric{Name: name, Shown: now}
		if r.view.compare && r.overview.Current.Sessions > 0 && r.overview.Previous.Sessions > 0 { // Without sessions a rate is undefined.
			m.Change = changeOf(valueNow, valueBefore, before, fewerIsBetter)
		}
		return m
	}
	each := func(h analytics.Headline) float64 { return float64(h.Pageviews) / float64(max(1, h.Sessions)) }
	return []metric{
		count("Visitors", analytics.MetricVisitors, now.Visitors, before.Visitors),
		count("Page views", analytics.MetricPageviews, now.Pageviews, before.Pageviews),
		count("Sessions", analytics.MetricSessions, now.Sessions, before.Sessions),
		rate("Views per session", perVisit(now), perVisit(before), each(now), each(before), false),
		rate("Bounce rate", percent(now.BounceRate), percent(before.BounceRate), now.BounceRate, before.BounceRate, true),
		rate("Session length", length(now.AvgDurationMs), length(before.AvgDurationMs), float64(now.AvgDurationMs), float64(before.AvgDurationMs), false),
	}
}

// section makes the panel at a position.
func (r *report) section(place int, panel panel, base string) section {
	chosen := r.view.chosen[place]
	out := section{Name: panel.name, Title: panel.title, Column: dimensionName(chosen), Private: !r.public.Share.Shows(chosen)}
	for _, dimension := range panel.offered(&r.public.Share) {
		out.Choices = append(out.Choices, choice{
			Text: dimensionName(dimension), Href: r.view.choosing(place, dimension).href(base) + "#" + panel.name, Current: dimension == chosen,
		})
	}
	var longest uint64
	for _, row := range r.lists[place] {
		longest = max(longest, row.Visitors)
	}
	for _, row := range r.lists[place] {
		text := valueName(chosen, row.Value)
		hint := text
		if isPath(chosen) {
			hint = row.Value
		}
		out.Rows = append(out.Rows, bar{
			Text: text, Hint: hint, Width: decimal(100 * float64(row.Visitors) / float64(longest)), Shown: short(row.Visitors), Exact: exact(row.Visitors),
		})
	}
	return out
}

// dimensionName is the heading of a dimension's column.
func dimensionName(dimension filter.Dimension) string {
	switch dimension {
	case filter.DimPath:
		return "Page"
	case filter.DimEntryPath:
		return "Entry page"
	case filter.DimExitPath:
		return "Exit page"
	case filter.DimReferrerDomain:
		return "Referrer"
	case filter.DimUTMSource:
		return "UTM source"
	case filter.DimUTMMedium:
		return "UTM medium"
	case filter.DimUTMCampaign:
		return "UTM campaign"
	case filter.DimOS:
		return "System"
	}
	return strings.ToUpper(string(dimension[:1])) + string(dimension[1:])
}

// valueName is the displayed text of a value.
func valueName(dimension filter.Dimension, value string) string {
	switch {
	case value == otherPlaces:
		return "Other"
	case value == "" && dimension == filter.DimReferrerDomain:
		return "None"
	case value == "":
		return "Unknown"
	case dimension == filter.DimCountry:
		return countryName(value)
	case isPath(dimension):
		return readable(value)
	case dimension == filter.DimDevice, dimension == filter.DimSource && value == event.SourceDirect:
		return strings.ToUpper(value[:1]) + value[1:]
	}
	return value
}
