package filter

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
)

// Dimension is a property of events for filters and breakdowns.
type Dimension string

// The dimensions of the specification.
const (
	DimPath           Dimension = "path"
	DimEntryPath      Dimension = "entry_path"
	DimExitPath       Dimension = "exit_path"
	DimReferrerDomain Dimension = "referrer_domain"
	DimSource         Dimension = "source"
	DimMedium         Dimension = "medium"
	DimUTMSource      Dimension = "utm_source"
	DimUTMMedium      Dimension = "utm_medium"
	DimUTMCampaign    Dimension = "utm_campaign"
	DimUTMTerm        Dimension = "utm_term"
	DimUTMContent     Dimension = "utm_content"
	DimCountry        Dimension = "country"
	DimRegion         Dimension = "region"
	DimCity           Dimension = "city"
	DimDevice         Dimension = "device"
	DimBrowser        Dimension = "browser"
	DimOS             Dimension = "os"
	DimEvent          Dimension = "event"
)

// DimSegment filters by the membership in a segment, identified by its id. It is not a dimension of breakdowns.
const DimSegment Dimension = "segment"

// FilterDimensions lists the dimensions that filters may name.
func FilterDimensions() []Dimension { return append(Dimensions(), DimSegment) }

// Dimensions lists all dimensions in display order.
func Dimensions() []Dimension {
	return []Dimension{
		DimPath, DimEntryPath, DimExitPath, DimReferrerDomain, DimSource, DimMedium,
		DimUTMSource, DimUTMMedium, DimUTMCampaign, DimUTMTerm, DimUTMContent,
		DimCountry, DimRegion, DimCity, DimDevice, DimBrowser, DimOS, DimEvent,
	}
}

// Filter selects the rows with one value of a dimension.
type Filter struct {
	Dimension Dimension
	Value     string
}

// Filters are ANDed; each dimension occurs once.
type Filters []Filter

// ParseFilters parses the repeated filter parameter. The first colon ends the dimension. If a dimension repeats, its
// last value counts. The result is ordered by dimension so that equal filters have equal texts.
func ParseFilters(words []string) (Filters, []domain.FieldError) {
	var problems []domain.FieldError
	last := map[Dimension]string{}
	for _, word := range words {
		name, value, found := strings.Cut(word, ":")
		switch {
		case !slices.Contains(FilterDimensions(), Dimension(name)):
			problem := UnknownDimension("filter", name)
			if name == "" {
				problem.Message = "A filter is written <dimension>:<value>."
			}
			problems = append(problems, problem)
		case !found || value == "":
			problems = append(problems, domain.FieldError{
				Field: "filter", Code: "missing_value",
				Message: fmt.Sprintf("The filter on %q has no value; write %s:<value>.", name, name),
			})
		default:
			last[Dimension(name)] = value
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	var filters Filters
	for _, dimension := range FilterDimensions() {
		if value, set := last[dimension]; set {
			filters = append(filters, Filter{dimension, value})
		}
	}
	return filters, nil
}

// UnknownDimension is the problem of an unknown dimension; it lists the known ones.
func UnknownDimension(field, name string) domain.FieldError {
	known := Dimensions()
	if field == "filter" {
		known = FilterDimensions()
	}
	return domain.FieldError{Field: field, Code: "unknown_dimension", Message: fmt.Sprintf("Unknown dimension %q.", name), Allowed: domain.Texts(known)}
}

// Value returns the value that the filters require of a dimension, "" if they do not name it.
func (f Filters) Value(dimension Dimension) string {
	for _, filter := range f {
		if filter.Dimension == dimension {
			return filter.Value
		}
	}
	return ""
}

// Without returns the filters on other dimensions.
func (f Filters) Without(dimension Dimension) Filters {
	return slices.DeleteFunc(slices.Clone(f), func(filter Filter) bool { return filter.Dimension == dimension })
}

// String returns a text that differs for different filters, for cursors and keys.
func (f Filters) String() string {
	parts := make([]string, len(f))
	for i, filter := range f {
		parts[i] = string(filter.Dimension) + ":" + url.QueryEscape(filter.Value)
	}
	return strings.Join(parts, "&")
}

// PropertyPrefix is the prefix of a dimension that is a custom property; the key follows.
const PropertyPrefix = "property."

// MaxPropertyKey is the length of the longest property key that a breakdown accepts, in bytes.
const MaxPropertyKey = 200

// Property returns the key of the custom property that a dimension names, and false if the dimension is a standard one.
func (d Dimension) Property() (key string, ok bool) {
	return strings.CutPrefix(string(d), PropertyPrefix)
}

// ParseBreakdownDimension parses the dimension of a breakdown: one of Dimensions, or property.<key>.
func ParseBreakdownDimension(word string) (Dimension, *domain.FieldError) {
	key, isProperty := Dimension(word).Property()
	switch {
	case word == "":
		problem := UnknownDimension("dimension", "")
		problem.Code, problem.Message = "missing_value", "A breakdown needs a dimension."
		return "", &problem
	case isProperty && (key == "" || len(key) > MaxPropertyKey):
		return "", &domain.FieldError{
			Field: "dimension", Code: "invalid_value",
			Message: fmt.Sprintf("The key behind %s must have 1 to %d bytes.", PropertyPrefix, MaxPropertyKey),
		}
	case isProperty:
		return Dimension(word), nil
	}
	for _, dimension := range Dimensions() {
		if dimension == Dimension(word) {
			return dimension, nil
		}
	}
	problem := UnknownDimension("dimension", word)
	return "", &problem
}
