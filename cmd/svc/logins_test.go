package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"testing"
	"time"
)

// login is the items of one visit with a login in the middle. Each item names the visit by the ids that it carries.
type login struct{ session, page, identify, goal map[string]any }

// items returns the page, the identify and the goal of a visit at an instant.
func (l login) items(name string, at time.Time) []map[string]any {
	made := []map[string]any{
		{"type": "page", "url": "https://acme.example/?utm_source=News", "referrer": "https://mail.example/", "ts": at},
		{"type": "identify", "traits": map[string]any{"plan": "pro"}, "ts": at.Add(time.Minute)},
		{"type": "event", "name": "order", "ts": at.Add(2 * time.Minute)},
	}
	for n, ids := range []map[string]any{l.page, l.identify, l.goal} {
		made[n]["id"] = fmt.Sprint(name, n)
		made[n]["ts"] = made[n]["ts"].(time.Time).UTC().Format(time.RFC3339Nano)
		for _, more := range []map[string]any{ids, l.session} {
			for key, id := range more {
				made[n][key] = fmt.Sprint(id, name)
			}
		}
	}
	return made
}

// TestALoginKeepsTheVisit sends visits with a login in every order, in one request and in several requests. A restart
// happens in the middle. Each visit is one visit of one visitor. Its conversion counts for the source of the visit.
func TestALoginKeepsTheVisit(t *testing.T) {
	anon, known, both := map[string]any{"anonymousId": "a"}, map[string]any{"distinctId": "u"}, map[string]any{"anonymousId": "a", "distinctId": "u"}
	named := map[string]any{"sessionId": "s"}
	shapes := map[string]login{
		"the client names the visit":   {named, anon, both, known},
		"the device is on every item":  {nil, anon, both, both},
		"both":                         {named, anon, both, both},
		"no identify names the device": {named, anon, known, known},
	}
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}}
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	s.post(appPath+"/goals", `{"name":"Order","kind":"event","match":"order"}`)
	start, visits := time.Now().Add(-3*time.Hour), 0
	var first, rest []map[string]any
	random := rand.New(rand.NewPCG(1, 1))
	for shape, l := range shapes {
		for _, order := range orders {
			items := l.items(fmt.Sprint(" ", shape, order), start.Add(time.Duration(random.IntN(60))*time.Minute))
			visits++
			cut := random.IntN(4)
			for n, at := range order {
				if n < cut {
					first = append(first, items[at])
				} else {
					rest = append(rest, items[at])
				}
			}
		}
	}
	// A login without any later event is neither a visit nor a visitor.
	first = append(first, map[string]any{"type": "identify", "distinctId": "nobody", "traits": map[string]any{"plan": "free"}})
	s.send(first...)
	s.settled()
	s.stopped()
	s = startServer(t, dir, nil)
	for _, one := range rest {
		s.send(one)
	}
	s.settled()
	n := float64(visits)
	got := s.overview()
	if got["visitors"] != n || got["sessions"] != n || got["bounceRate"] != 0.0 || got["conversions"] != n {
		t.Errorf("%v visitors, %v sessions, bounce rate %v, %v conversions; want %v, %v, 0, %v", got["visitors"], got["sessions"], got["bounceRate"], got["conversions"], n, n, n)
	}
	for filter, want := range map[string][3]float64{"source:news": {n, n, n}, "source:direct": {0, 0, 0}} {
		got := s.get(appPath + "/analytics/overview?range=24h&filter=" + filter)
		if found := [3]float64{got["visitors"].(float64), got["sessions"].(float64), got["conversions"].(float64)}; found != want {
			t.Errorf("%s: %v, want %v", filter, found, want)
		}
	}
	rows := map[any]any{}
	for _, row := range s.get(appPath + "/analytics/breakdown?range=24h&dimension=source")["data"].([]any) {
		one := row.(map[string]any)
		rows[one["value"]] = []any{one["visitors"], one["sessions"], one["conversions"]}
	}
	if want := (map[any]any{"news": []any{n, n, n}}); !reflect.DeepEqual(rows, want) {
		t.Errorf("by source: %v, want %v", rows, want)
	}
}

// TestALoginKeepsThePerson sends visits in which the first event of a known id belongs to a running visit. It sends
// them in one request and in several requests. Each id finds the person. The person has the source of the visit and one
// session.
func TestALoginKeepsThePerson(t *testing.T) {
	anon, known, both := map[string]any{"anonymousId": "a"}, map[string]any{"distinctId": "u"}, map[string]any{"anonymousId": "a", "distinctId": "u"}
	shape := login{map[string]any{"sessionId": "s"}, anon, both, known}
	robot := map[string]any{"userAgent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}
	s := startServer(t, t.TempDir(), nil)
	want := map[string]map[string]any{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}} {
		for _, apart := range []bool{false, true} {
			name := fmt.Sprint("-", order[0], order[1], order[2], apart)
			items, sent := shape.items(name, time.Now().Add(-time.Hour)), []map[string]any{}
			for _, at := range order {
				if sent = append(sent, items[at]); apart {
					s.send(sent...)
					s.settled()
					sent = nil
				}
			}
			if !apart {
				s.send(sent...)
			}
			const source, page = "news", "https://acme.example/?utm_source=News"
			want[name] = map[string]any{
				"distinctId": "u" + name, "distinctIds": []any{"a" + name, "u" + name}, "events": 3.0, "sessions": 1.0,
				"firstSource": source, "lastSource": source, "firstUrl": page, "lastUrl": page,
			}
		}
	}
	// An identify by a bot makes a person with an id, and no session.
	earlier := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
	s.send(map[string]any{"type": "event", "name": "crawl", "distinctId": "u-robot", "context": robot, "ts": earlier}, map[string]any{"type": "identify", "distinctId": "u-robot", "context": robot})
	s.send(map[string]any{"type": "identify", "distinctId": "u-login", "traits": map[string]any{"plan": "pro"}})
	for _, name := range []string{"-robot", "-login"} {
		want[name] = map[string]any{
			"distinctId": "u" + name, "distinctIds": []any{"u" + name}, "events": 1.0, "sessions": 0.0, "firstSource": nil, "lastSource": nil, "firstUrl": nil, "lastUrl": nil,
		}
	}
	s.settled()
	for name, want := range want {
		for _, id := range want["distinctIds"].([]any) {
			found := s.get(appPath + "/people?q=" + url.QueryEscape(id.(string)))["data"].([]any)
			if len(found) != 1 {
				t.Errorf("%s: %d people are found by %s", name, len(found), id)
				continue
			}
			person, got := s.get(appPath+"/people/"+found[0].(map[string]any)["id"].(string)), map[string]any{}
			for key := range want {
				got[key] = person[key]
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, found by %s:\n got %v\nwant %v", name, id, got, want)
			}
		}
	}
}
