package people_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// define parses a definition.
func define(t testing.TB, definition string) segment.Segment {
	t.Helper()
	group, problems := segment.ParseSegmentDefinition(json.RawMessage(definition))
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", definition, problems)
	}
	return segment.Segment{ID: "seg_" + definition, Name: definition, Kind: segment.Dynamic, Definition: group}
}

// atoms returns conditions, each with its meaning for a person with events in chronological order.
func atoms(now time.Time) []atom {
	told := func(events []*event.Row, key string) string {
		value, once := "", ""
		for _, row := range events {
			var traits map[string]json.RawMessage
			if row.Name != event.IdentifyEvent || json.Unmarshal(row.Properties, &traits) != nil {
				continue
			}
			if text, ok := traits[key]; ok {
				value = strings.Trim(string(text), `"`)
			}
			var first map[string]json.RawMessage
			if json.Unmarshal(traits["$set_once"], &first) == nil && first[key] != nil && once == "" {
				once = string(first[key])
			}
		}
		if value == "" {
			return once
		}
		return value
	}
	did := func(events []*event.Row, name string, since time.Time) (times int) {
		for _, row := range events {
			if row.Name == name && !row.Ts.Before(since) {
				times++
			}
		}
		return times
	}
	since := now.AddDate(0, 0, -1).Truncate(15 * time.Minute)
	visits := func(events []*event.Row) (all []*event.Row) {
		for _, row := range events {
			if row.Name != event.IdentifyEvent && row.Name != event.AliasEvent {
				all = append(all, row)
			}
		}
		return all
	}
	return []atom{
		{`{"field":"trait.plan","op":"gte","value":40}`, func(e []*event.Row) bool {
			n := 0
			_, err := fmt.Sscan(told(e, "plan"), &n)
			return err == nil && n >= 40
		}},
		{`{"field":"trait.plan","op":"neq","value":7}`, func(e []*event.Row) bool { return told(e, "plan") != "7" }},
		{`{"field":"trait.plan","op":"in","value":[3,7,21,22,23,24,25,26,"x"]}`, func(e []*event.Row) bool {
			return slices.Contains([]string{"3", "7", "21", "22", "23", "24", "25", "26"}, told(e, "plan"))
		}},
		{`{"field":"trait.first","op":"lt","value":30}`, func(e []*event.Row) bool {
			n := 0
			_, err := fmt.Sscan(told(e, "first"), &n)
			return err == nil && n < 30
		}},
		{`{"field":"trait.first","op":"exists"}`, func(e []*event.Row) bool { return told(e, "first") != "" }},
		{`{"field":"trait.email","op":"contains","value":"1@example"}`, func(e []*event.Row) bool { return strings.Contains(told(e, "email"), "1@example") }},
		{`{"field":"property.plan","op":"in","value":[1,2,3,"x",30,31,32,33]}`, func(e []*event.Row) bool {
			return slices.ContainsFunc(e, func(row *event.Row) bool {
				var p map[string]any
				return json.Unmarshal(row.Properties, &p) == nil && slices.Contains([]any{1.0, 2.0, 3.0, "x", 30.0, 31.0, 32.0, 33.0}, p["plan"])
			})
		}},
		{`{"field":"events","op":"gt","value":4}`, func(e []*event.Row) bool { return len(e) > 4 }},
		{`{"field":"did_event","op":"gte","event":{"name":"order","count":2}}`, func(e []*event.Row) bool { return did(e, "order", time.Time{}) >= 2 }},
		{`{"field":"did_event","op":"within_days","value":1,"event":{"name":"page_view"}}`, func(e []*event.Row) bool { return did(e, event.PageView, since) >= 1 }},
		{`{"field":"not_did_event","op":"within_days","value":1,"event":{"name":"order"}}`, func(e []*event.Row) bool { return did(e, "order", since) == 0 }},
		{`{"field":"last_seen_at","op":"within_days","value":1}`, func(e []*event.Row) bool { return !e[len(e)-1].Ts.Before(now.AddDate(0, 0, -1)) }},
		{`{"field":"first_seen_at","op":"gte","value":"2026-11-02"}`, func(e []*event.Row) bool { return !e[0].Ts.Before(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)) }},
		{`{"field":"first_seen_at","op":"lt","value":"2026-11-02"}`, func(e []*event.Row) bool { return e[0].Ts.Before(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)) }},
		{`{"field":"first_source","op":"in","value":["source0","source1","source2","source5","source9","source12"]}`, func(e []*event.Row) bool {
			all := visits(e)
			return len(all) > 0 && slices.Contains([]string{"source0", "source1", "source2", "source5", "source9", "source12"}, all[0].Source)
		}},
		{`{"field":"country","op":"eq","value":"c1"}`, func(e []*event.Row) bool { all := visits(e); return len(all) > 0 && all[len(all)-1].Country == "c1" }},
		{`{"field":"revenue.status","op":"eq","value":"none"}`, func([]*event.Row) bool { return true }},
	}
}

// atom is a condition with its meaning.
type atom struct {
	text  string
	meets func(events []*event.Row) bool
}

// composed returns a random definition of atoms.
func composed(random *rand.Rand, all []atom, depth int) atom {
	var parts [2][]atom
	for i := range parts {
		for range random.IntN(3) {
			one := all[random.IntN(len(all))]
			if depth < 3 && random.IntN(3) == 0 {
				one = composed(random, all, depth+1)
			}
			parts[i] = append(parts[i], one)
		}
	}
	if len(parts[0])+len(parts[1]) == 0 {
		parts[0] = all[:1]
	}
	list := func(of []atom) string {
		texts := make([]string, len(of))
		for i := range of {
			texts[i] = of[i].text
		}
		return strings.Join(texts, ",")
	}
	return atom{fmt.Sprintf(`{"all":[%s],"any":[%s]}`, list(parts[0]), list(parts[1])), func(e []*event.Row) bool {
		meets := func(one atom) bool { return one.meets(e) }
		misses := func(one atom) bool { return !one.meets(e) }
		return !slices.ContainsFunc(parts[0], misses) && (len(parts[1]) == 0 || slices.ContainsFunc(parts[1], meets))
	}}
}

// TestSegmentsMeanWhatTheySay stores random histories of people on shared devices and with several ids. It compares
// counts, members and the segments of each person with the result of plain code over the rows.
func TestSegmentsMeanWhatTheySay(t *testing.T) {
	for seed := range seeds(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			db, rows := open(t), history(random, 40+random.IntN(100))
			for i := range rows {
				rows[i].Country = fmt.Sprint("c", random.IntN(3))
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
			now := rows[len(rows)-1].Ts.Add(time.Minute)
			definitions := atoms(now)
			for range 12 {
				definitions = append(definitions, composed(random, atoms(now), 1))
			}
			compareSegments(t, db, rows, now, definitions)
		})
	}
}

// compareSegments reads segments in every way.
func compareSegments(t *testing.T, db *testDB, rows []event.Row, now time.Time, definitions []atom) {
	t.Helper()
	persons, known := grouped(rows)
	segments := make([]segment.Segment, len(definitions))
	for i, definition := range definitions {
		if !strings.HasPrefix(definition.text, `{"all"`) {
			definition.text = `{"all":[` + definition.text + `]}`
		}
		segments[i] = define(t, definition.text)
	}
	counts, err := db.SegmentCounts(clickhousetest.Deadline(t), domain.Environment{Number: environment}, segments, now)
	if err != nil {
		t.Fatal(err)
	}
	for i, definition := range definitions {
		want := []string{}
		for _, events := range persons {
			if definition.meets(events) {
				want = append(want, count(events, known).DistinctID)
			}
		}
		slices.Sort(want)
		got := []string{}
		list, err := db.People(clickhousetest.Deadline(t), person.Query{Environment: domain.Environment{Number: environment}, Segment: &segments[i], Now: now, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Rows {
			got = append(got, one.DistinctID)
		}
		slices.Sort(got)
		alone := counts[i : i+1]
		if i%2 == 0 {
			if alone, err = db.SegmentCounts(clickhousetest.Deadline(t), domain.Environment{Number: environment}, segments[i:i+1], now); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) || counts[i] != uint64(len(want)) || alone[0] != counts[i] {
			t.Errorf("%s\nhas %q (counted %d, alone %d)\nwant %q", definition.text, got, counts[i], alone[0], want)
		}
	}
	for _, events := range persons {
		want := []string{}
		for i, definition := range definitions {
			if definition.meets(events) {
				want = append(want, segments[i].ID)
			}
		}
		last := events[len(events)-1]
		if last.DistinctID == "" {
			continue // a shared device may belong to another person by now
		}
		got, err := db.SegmentsOf(clickhousetest.Deadline(t), environment, people.VisitorNumber(last.DistinctID), segments, now)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is in %q, %v\nwant %q", last.DistinctID, got, err, want)
		}
	}
}

// TestALongDefinitionIsAnswered counts and lists segments with up to the maximum number of conditions, each of which
// compiles to a long expression.
func TestALongDefinitionIsAnswered(t *testing.T) {
	db, rows := open(t), history(rand.New(rand.NewPCG(1, 5)), 60)
	block := db.blocks.NewBlock()
	for i := range rows {
		block.Append(&rows[i])
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block-1", 1, block); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{8, 16, 24, segment.MaxSegmentConditions} {
		conditions := make([]string, length)
		for i := range conditions {
			conditions[i] = fmt.Sprintf(`{"field":"trait.renewal%d","op":"within_days","value":%d}`, i, i+1)
		}
		conditions[0] = `{"field":"trait.plan","op":"exists"}`
		segment := define(t, `{"any":[`+strings.Join(conditions, ",")+`]}`)
		compareBounds(t, db, &segment, rows[len(rows)-1].Ts)
	}
}

// compareBounds counts and lists the people of a segment with several bounds on the number of visitors to look at.
func compareBounds(t *testing.T, db *testDB, s *segment.Segment, now time.Time) {
	t.Helper()
	for _, bound := range [][2]int{{1, 0}, {1, 1}, {512, 8192}} {
		db.LookAmong(bound[0], bound[1])
		counts, err := db.SegmentCounts(clickhousetest.Deadline(t), domain.Environment{Number: environment}, []segment.Segment{*s}, now)
		if err != nil || counts[0] < 2 {
			t.Fatalf("with %v: counted %v, %v", bound, counts, err)
		}
		list, err := db.People(clickhousetest.Deadline(t), person.Query{Environment: domain.Environment{Number: environment}, Segment: s, Now: now, Limit: 100})
		if err != nil || uint64(len(list.Rows)) != counts[0] {
			t.Errorf("with %v: listed %d of %d, %v", bound, len(list.Rows), counts[0], err)
		}
	}
}
