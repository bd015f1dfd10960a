package people_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/segment"
	"svc/storage/clickhouse/clickhousetest"
)

// TestSegmentsCompareVersions compares versions in traits and in properties of events in the way of flags (G2).
func TestSegmentsCompareVersions(t *testing.T) {
	people := map[string]struct {
		values []string // JSON, one for each event; the trait is the last one
		// release and beta are the operators that hold for the value 2.0.0 and for 2.0.0-beta.2; sent replaces release for properties.
		release, beta, sent string
	}{
		"G2 the same":             {[]string{`"2.0.0"`}, "eq gte lte", "neq gt gte", ""},
		"G2 later":                {[]string{`"10.0.0"`}, "neq gt gte", "neq gt gte", ""},
		"G2 earlier":              {[]string{`"1.9.9"`}, "neq lt lte", "neq lt lte", ""},
		"an earlier pre-release":  {[]string{`"2.0.0-beta.1"`}, "neq lt lte", "neq lt lte", ""},
		"a later pre-release":     {[]string{`"2.0.0-beta.11"`}, "neq lt lte", "neq gt gte", ""},
		"the pre-release":         {[]string{`"2.0.0-beta.2"`}, "neq lt lte", "eq gte lte", ""},
		"a longer pre-release":    {[]string{`"2.0.0-beta.2.0"`}, "neq lt lte", "neq gt gte", ""},
		"a number before a word":  {[]string{`"2.0.0-9"`}, "neq lt lte", "neq lt lte", ""},
		"words by their bytes":    {[]string{`"2.0.0-Beta.2"`}, "neq lt lte", "neq lt lte", ""},
		"build metadata":          {[]string{`"v2.0.0+sha.5114f85"`}, "eq gte lte", "neq gt gte", ""},
		"two parts":               {[]string{`"V2.1"`}, "neq gt gte", "neq gt gte", ""},
		"one part":                {[]string{`"2"`}, "eq gte lte", "neq gt gte", ""},
		"a number":                {[]string{`2.5`}, "neq gt gte", "neq gt gte", ""},
		"a long number":           {[]string{`"99999999999999999999.0.0"`}, "neq gt gte", "neq gt gte", ""},
		"one of a list":           {[]string{`["x","3.0.0"]`}, "neq gt gte", "neq gt gte", ""},
		"both of a list":          {[]string{`["2.0.0","3.0.0"]`}, "eq gt gte lte", "neq gt gte", ""},
		"both of two events":      {[]string{`"2.0.0"`, `"3.0.0"`}, "neq gt gte", "neq gt gte", "eq gt gte lte"},
		"no version and one":      {[]string{`"latest"`, `"1.0.0"`}, "neq lt lte", "neq lt lte", ""},
		"no version":              {[]string{`"latest"`}, "", "", ""},
		"four parts":              {[]string{`"3.0.0.1"`}, "", "", ""},
		"a leading zero":          {[]string{`"03.0.0"`}, "", "", ""},
		"a leading zero within":   {[]string{`"2.0.0-beta.01"`}, "", "", ""},
		"white space":             {[]string{`" 3.0.0"`}, "", "", ""},
		"a line break":            {[]string{`"3.0.0\n"`}, "", "", ""},
		"a negative number":       {[]string{`-3`}, "", "", ""},
		"an empty text":           {[]string{`""`}, "", "", ""},
		"true":                    {[]string{`true`}, "", "", ""},
		"an object":               {[]string{`{"major":3}`}, "", "", ""},
		"an empty list":           {[]string{`[]`}, "", "", ""},
		"an accent":               {[]string{`"3.0.0-é"`}, "", "", ""},
		"an empty identifier":     {[]string{`"3.0.0-a..b"`}, "", "", ""},
		"a key of another person": {nil, "", "", ""},
	}
	db, at, rows := open(t), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), []event.Row{}
	for name, person := range people {
		add := func(event string, properties string) {
			at = at.Add(time.Minute)
			row := clickhousetest.Row(environment, at, fmt.Sprint("e", len(rows)), name, "")
			row.Name, row.Properties = event, []byte(properties)
			rows = append(rows, *row)
		}
		add("opened", `{}`)
		for _, value := range person.values {
			add(event.IdentifyEvent, `{"app":`+value+`}`)
			add("opened", `{"app":`+value+`}`)
		}
	}
	block := db.blocks.NewBlock()
	for i := range rows {
		block.Append(&rows[i])
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block-1", 1, block); err != nil {
		t.Fatal(err)
	}
	if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
		t.Fatal(err)
	}
	var definitions []atom
	for _, op := range []string{"eq", "neq", "gt", "gte", "lt", "lte"} {
		for _, field := range []string{"trait.app", "property.app"} {
			for _, version := range []string{"2.0.0", "v2.0.0-beta.2+build"} {
				definitions = append(definitions, atom{
					fmt.Sprintf(`{"field":%q,"op":"semver_%s","value":%q}`, field, op, version),
					func(events []*event.Row) bool {
						person := people[events[0].DistinctID]
						holds := person.beta
						if version == "2.0.0" {
							holds = person.release
						}
						if field == "property.app" && version == "2.0.0" && person.sent != "" {
							holds = person.sent
						}
						return slices.Contains(strings.Fields(holds), op)
					},
				})
			}
		}
	}
	compareSegments(t, db, rows, at.Add(time.Minute), definitions)
	conditions := make([]string, segment.MaxSegmentConditions)
	for i := range conditions {
		conditions[i] = fmt.Sprintf(`{"field":"property.app","op":"semver_neq","value":"7.%d.0"}`, i)
	}
	longest := define(t, `{"all":[`+strings.Join(conditions, ",")+`]}`)
	counts, err := db.SegmentCounts(clickhousetest.Deadline(t), domain.Environment{Number: environment}, []segment.Segment{longest}, at.Add(time.Minute))
	if err != nil || counts[0] != 18 {
		t.Errorf("the longest definition: %v, %v", counts, err)
	}
}
