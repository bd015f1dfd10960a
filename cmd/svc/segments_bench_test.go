package main

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// BenchmarkSegments measures reads of 350 events of 50 people, filtered by a segment and, in turns with it, by a source.
// The ratio of the two is the price of a segment. The first read of each is reported apart.
func BenchmarkSegments(b *testing.B) {
	s := startServer(b, b.TempDir(), nil)
	start := time.Now().Add(-20 * time.Hour)
	for person := range 50 {
		var items []map[string]any
		visitor, device := fmt.Sprintf("person-%d", person), fmt.Sprintf("device-%d", person)
		for n := range 5 {
			page := item(fmt.Sprintf("page-%d-%d", person, n), "", "/p/"+fmt.Sprint(n), start.Add(time.Duration(person*10+n)*time.Minute))
			page["anonymousId"], page["url"] = device, "https://acme.example/p?utm_source="+[]string{"news", "ads"}[person%2]
			items = append(items, page)
		}
		at := start.Add(time.Duration(person*10+6) * time.Minute).UTC().Format(time.RFC3339Nano)
		items = append(items,
			map[string]any{"type": "identify", "distinctId": visitor, "anonymousId": device, "ts": at, "traits": map[string]any{"plan": []string{"free", "pro", "team"}[person%3]}},
			map[string]any{"type": "event", "name": []string{"order", "search"}[person%2], "distinctId": visitor, "ts": at})
		s.send(items...)
	}
	s.settled()
	for name, definition := range map[string]string{
		"trait":  `{"all":[{"field":"trait.plan","op":"eq","value":"pro"}]}`,
		"event":  `{"all":[{"field":"did_event","op":"gte","value":1,"event":{"name":"order"}}]}`,
		"mixed":  `{"all":[{"field":"stage","op":"neq","value":"paying"},{"any":[{"field":"country","op":"eq","value":"DE"},{"field":"first_source","op":"eq","value":"news"}]}]}`,
		"not in": `{"all":[{"field":"not_did_event","op":"exists","event":{"name":"order"}},{"field":"sessions","op":"lt","value":9}]}`,
	} {
		made := s.call("POST", appPath+"/segments", s.boot.Token, []byte(fmt.Sprintf(`{"name":%q,"definition":%s}`, name, definition)), nil)
		if made.status/100 != 2 {
			b.Fatalf("making a segment: %d %s", made.status, made.body)
		}
		id := object(b, made.body)["id"].(string)
		for _, path := range []string{"overview?range=7d", "timeseries?range=7d&interval=day", "breakdown?range=7d&dimension=path"} {
			b.Run(name+"/"+path, func(b *testing.B) {
				one, other := &stopwatch{}, &stopwatch{}
				segment := func() { s.get(appPath + "/analytics/" + path + "&filter=" + url.QueryEscape("segment:"+id)) }
				source := func() { s.get(appPath + "/analytics/" + path + "&filter=source:news") }
				began := time.Now()
				segment()
				cold := time.Since(began)
				began = time.Now()
				source()
				coldSource := time.Since(began)
				for b.Loop() {
					one.time(segment)
					other.time(source)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(millis(cold), "cold-ms")
				b.ReportMetric(millis(coldSource), "cold-source-ms")
				b.ReportMetric(one.at(0.5), "p50-ms")
				b.ReportMetric(other.at(0.5), "source-p50-ms")
				b.ReportMetric(one.at(0.5)/other.at(0.5), "ratio")
			})
		}
		b.Run(name+"/people", func(b *testing.B) {
			one, other := &stopwatch{}, &stopwatch{}
			for b.Loop() {
				one.time(func() { s.get(appPath + "/people?segment=" + id) })
				other.time(func() { s.get(appPath + "/people") })
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(one.at(0.5), "p50-ms")
			b.ReportMetric(one.at(0.5)/other.at(0.5), "ratio")
		})
	}
}
