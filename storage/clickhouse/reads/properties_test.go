package reads

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/storage/clickhouse/clickhousetest"
)

// TestProperties counts the properties of a few events: by pages, for one name, and for a caller that may not see
// addresses.
func TestProperties(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i, c := range []struct{ name, properties string }{
		{"order", `{"plan":"pro","total":19.5,"items":[1,2],"gift":true}`},
		{"order", `{"plan":"free","total":20,"items":[],"gift":false}`},
		{"order", `{"plan":"pro","total":"much","note":null}`},
		{"invite", `{"plan":"pro","to":"ada@acme.example","by":{"team":"x"}}`},
		{"invite", `{"to":"bob@acme.example"}`},
		{"view", `{}`},
		{svc.IdentifyEvent, `{"name":"Ada Lovelace"}`},
	} {
		e := svc.Event{ID: string(rune('a' + i)), Ts: at.Add(time.Duration(i) * time.Second), Name: c.name, DistinctID: "1", Properties: []byte(c.properties)}
		b.Append(&svc.EventRow{Event: e, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
	}
	insert(t, db, "1", 1, b)
	property := func(key string, count, distinct uint64, types string, values ...svc.EventPropertyValue) svc.EventProperty {
		row := svc.EventProperty{Key: key, Count: count, DistinctValues: distinct, Values: append([]svc.EventPropertyValue{}, values...)}
		for word := range strings.FieldsSeq(types) {
			row.Types = append(row.Types, svc.PropertyType(word))
		}
		return row
	}
	plan := property("plan", 4, 2, "string", svc.EventPropertyValue{Value: "pro", Count: 3}, svc.EventPropertyValue{Value: "free", Count: 1})
	total := property("total", 3, 3, "number string", svc.EventPropertyValue{Value: "19.5", Count: 1}, svc.EventPropertyValue{Value: "20", Count: 1}, svc.EventPropertyValue{Value: "much", Count: 1})
	gift := property("gift", 2, 2, "boolean", svc.EventPropertyValue{Value: "false", Count: 1}, svc.EventPropertyValue{Value: "true", Count: 1})
	items, note, by := property("items", 2, 2, "array"), property("note", 1, 1, "null"), property("by", 1, 1, "object")
	to := property("to", 2, 2, "string", svc.EventPropertyValue{Value: "ada@acme.example", Count: 1}, svc.EventPropertyValue{Value: "bob@acme.example", Count: 1})
	masked := property("to", 2, 2, "string", svc.EventPropertyValue{Value: "***", Count: 2})
	person := property("name", 1, 1, "string", svc.EventPropertyValue{Value: "Ada Lovelace", Count: 1})
	for name, c := range map[string]struct {
		query  svc.EventPropertiesQuery
		events uint64
		want   []svc.EventProperty
	}{
		"all":      {svc.EventPropertiesQuery{}, 7, []svc.EventProperty{plan, total, gift, items, to, by, person, note}},
		"masked":   {svc.EventPropertiesQuery{Masked: true}, 6, []svc.EventProperty{plan, total, gift, items, masked, by, note}},
		"one name": {svc.EventPropertiesQuery{Name: "invite"}, 2, []svc.EventProperty{to, by, property("plan", 1, 1, "string", svc.EventPropertyValue{Value: "pro", Count: 1})}},
		"search":   {svc.EventPropertiesQuery{Search: "T"}, 7, []svc.EventProperty{total, gift, items, to, note}},
		"filter":   {svc.EventPropertiesQuery{AnalyticsScope: svc.AnalyticsScope{Filters: svc.Filters{{Dimension: svc.DimEvent, Value: "view"}}}}, 1, []svc.EventProperty{}},
	} {
		for _, limit := range []int{2, 50} {
			q, got := c.query, []svc.EventProperty{}
			q.Environment, q.Limit = clickhousetest.Production(), limit
			q.Window = svc.Window{From: at.Add(-time.Hour), To: at.Add(time.Hour), Location: time.UTC}
			for more := true; more; {
				page, err := db.Properties(deadline(t), q)
				if err != nil || page.Events != c.events || page.Capped {
					t.Fatalf("%s: %+v %v", name, page, err)
				}
				got, more = append(got, page.Rows...), page.More
				if more {
					last := got[len(got)-1]
					q.After = &svc.EventPropertyKey{Count: last.Count, Key: last.Key}
				}
			}
			for i := range got {
				slices.SortFunc(got[i].Values, func(a, b svc.EventPropertyValue) int {
					return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
				})
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s by pages of %d:\n got %+v\nwant %+v", name, limit, got, c.want)
			}
		}
	}
}
