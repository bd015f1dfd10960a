package filter_test

import (
	"slices"
	"strings"
	"testing"

	"svc/domain/filter"
)

func TestParseFilters(t *testing.T) {
	for name, test := range map[string]struct {
		words    []string
		want     filter.Filters
		problems []string
	}{
		"none":               {nil, nil, nil},
		"colons in a value":  {[]string{"path:/a:b"}, filter.Filters{{filter.DimPath, "/a:b"}}, nil},
		"the last one wins":  {[]string{"country:DE", "country:FR"}, filter.Filters{{filter.DimCountry, "FR"}}, nil},
		"order is canonical": {[]string{"os:Linux", "path:/"}, filter.Filters{{filter.DimPath, "/"}, {filter.DimOS, "Linux"}}, nil},
		"problems":           {[]string{"path:/", "shoe:9", "path:", "event", "", ":x", "Path:/"}, nil, []string{"unknown_dimension", "missing_value", "missing_value", "unknown_dimension", "unknown_dimension", "unknown_dimension"}},
	} {
		got, problems := filter.ParseFilters(test.words)
		var codes []string
		for _, problem := range problems {
			codes = append(codes, problem.Code)
			if problem.Field != "filter" || (problem.Code == "unknown_dimension") != (len(problem.Allowed) == len(filter.FilterDimensions())) {
				t.Errorf("%s: %+v", name, problem)
			}
		}
		if !slices.Equal(got, test.want) || !slices.Equal(codes, test.problems) {
			t.Errorf("%s: %v %q", name, got, codes)
		}
	}
}

func TestFiltersWithout(t *testing.T) {
	filters := filter.Filters{{filter.DimPath, "/"}, {filter.DimEvent, "signup"}}
	if got := filters.Without(filter.DimEvent); !slices.Equal(got, filters[:1]) || len(filters) != 2 || filters[1].Value != "signup" {
		t.Errorf("%v of %v", got, filters)
	}
}

// TestFiltersString checks that different filters have different texts.
func TestFiltersString(t *testing.T) {
	one, two := filter.Filters{{filter.DimPath, "x&source:y"}}, filter.Filters{{filter.DimPath, "x"}, {filter.DimSource, "y"}}
	if one.String() == two.String() || two.String() != "path:x&source:y" {
		t.Errorf("%s and %s", one, two)
	}
}

func FuzzParseFilters(f *testing.F) {
	f.Add("path:/a:b\nevent:x\npath:/")
	f.Add("nothing\n:\nos:")
	f.Fuzz(func(t *testing.T, words string) {
		filters, problems := filter.ParseFilters(strings.Split(words, "\n"))
		if len(filters) > 0 == (len(problems) > 0) {
			t.Fatalf("%q: %v %v", words, filters, problems)
		}
		again := []string{}
		for _, filter := range filters {
			if filter.Value == "" {
				t.Errorf("%q: %v", words, filters)
			}
			again = append(again, string(filter.Dimension)+":"+filter.Value)
		}
		if got, _ := filter.ParseFilters(again); len(filters) > 0 && !slices.Equal(got, filters) {
			t.Errorf("%q: %v and then %v", words, filters, got)
		}
	})
}
