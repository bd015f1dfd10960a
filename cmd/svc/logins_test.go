package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// login is the items of one visit with a login in its midst. Each names the visit by the ids that it carries.
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

// TestALoginKeepsTheVisit sends visits with a login in every order, in one request and in several, with a restart in their midst. Each
// is one visit of one visitor, and its conversion counts for the source of the visit (D1).
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
	// A login that nothing follows is no visit and no visitor.
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
