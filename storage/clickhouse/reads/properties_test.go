package reads

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
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
		{event.IdentifyEvent, `{"name":"Ada Lovelace"}`},
	} {
		e := event.Event{ID: string(rune('a' + i)), Ts: at.Add(time.Duration(i) * time.Second), Name: c.name, DistinctID: "1", Properties: []byte(c.properties)}
		b.Append(&event.Row{Event: e, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
	}
	insert(t, db, "1", 1, b)
	property := func(key string, count, distinct uint64, types string, values ...analytics.EventPropertyValue) analytics.EventProperty {
		row := analytics.EventProperty{Key: key, Count: count, DistinctValues: distinct, Values: append([]analytics.EventPropertyValue{}, values...)}
		for word := range strings.FieldsSeq(types) {
			row.Types = append(row.Types, analytics.PropertyType(word))
		}
		return row
	}
	plan := property("plan", 4, 2, "string", analytics.EventPropertyValue{Value: "pro", Count: 3}, analytics.EventPropertyValue{Value: "free", Count: 1})
	total := property("total", 3, 3, "number string", analytics.EventPropertyValue{Value: "19.5", Count: 1}, analytics.EventPropertyValue{Value: "20", Count: 1}, analytics.EventPropertyValue{Value: "much", Count: 1})
	gift := property("gift", 2, 2, "boolean", analytics.EventPropertyValue{Value: "false", Count: 1}, analytics.EventPropertyValue{Value: "true", Count: 1})
	items, note, by := property("items", 2, 2, "array"), property("note", 1, 1, "null"), property("by", 1, 1, "object")
	to := property("to", 2, 2, "string", analytics.EventPropertyValue{Value: "ada@acme.example", Count: 1}, analytics.EventPropertyValue{Value: "bob@acme.example", Count: 1})
	masked := property("to", 2, 2, "string", analytics.EventPropertyValue{Value: "***", Count: 2})
	person := property("name", 1, 1, "string", analytics.EventPropertyValue{Value: "Ada Lovelace", Count: 1})
	for name, c := range map[string]struct {
		query  analytics.EventPropertiesQuery
		events uint64
		want   []analytics.EventProperty
	}{
		"all":      {analytics.EventPropertiesQuery{}, 7, []analytics.EventProperty{plan, total, gift, items, to, by, person, note}},
		"masked":   {analytics.EventPropertiesQuery{Masked: true}, 6, []analytics.EventProperty{plan, total, gift, items, masked, by, note}},
		"one name": {analytics.EventPropertiesQuery{Name: "invite"}, 2, []analytics.EventProperty{to, by, property("plan", 1, 1, "string", analytics.EventPropertyValue{Value: "pro", Count: 1})}},
		"search":   {analytics.EventPropertiesQuery{Search: "T"}, 7, []analytics.EventProperty{total, gift, items, to, note}},
		"filter":   {analytics.EventPropertiesQuery{Scope: analytics.Scope{Filters: filter.Filters{{Dimension: filter.DimEvent, Value: "view"}}}}, 1, []analytics.EventProperty{}},
	} {
		for _, limit := range []int{2, 50} {
			q, got := c.query, []analytics.EventProperty{}
			q.Environment, q.Limit = clickhousetest.Production(), limit
			q.Window = domain.Window{From: at.Add(-time.Hour), To: at.Add(time.Hour), Location: time.UTC}
			for more := true; more; {
				page, err := db.Properties(deadline(t), q)
				if err != nil || page.Events != c.events || page.Capped {
					t.Fatalf("%s: %+v %v", name, page, err)
				}
				got, more = append(got, page.Rows...), page.More
				if more {
					last := got[len(got)-1]
					q.After = &analytics.EventPropertyKey{Count: last.Count, Key: last.Key}
				}
			}
			for i := range got {
				slices.SortFunc(got[i].Values, func(a, b analytics.EventPropertyValue) int {
					return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
				})
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s by pages of %d:\n got %+v\nwant %+v", name, limit, got, c.want)
			}
		}
	}
}
