package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-faster/city"
)

// visitItem is an item of a plan of visits.
type visitItem struct {
	id, visit, kind              string
	anonymous, distinct, session string
	at                           time.Time
	source                       string
	agent                        int
}

// visitAgents are user agents with the device, the browser and the system that they stand for.
func visitAgents() [][4]string {
	return [][4]string{
		{chrome, "desktop", "Chrome", "Linux"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1", "mobile", "Safari", "iOS"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0", "desktop", "Firefox", "Windows"},
	}
}

// url is the address of a page.
func (i *visitItem) url() string {
	if i.kind != "page" {
		return ""
	}
	if i.source == "direct" {
		return "https://acme.example/" + i.id
	}
	return "https://acme.example/" + i.id + "?utm_source=" + i.source
}

// sent is the item with all ids in a world of their own.
func (i *visitItem) sent(world string) map[string]any {
	out := map[string]any{"type": i.kind, "id": world + i.id, "ts": i.at.Format(time.RFC3339Nano), "context": map[string]any{"userAgent": visitAgents()[i.agent][0]}}
	for field, id := range map[string]string{"anonymousId": i.anonymous, "distinctId": i.distinct, "sessionId": i.session} {
		if id != "" {
			out[field] = world + id
		}
	}
	switch i.kind {
	case "page":
		out["url"] = i.url()
	case "event":
		out["name"] = "goal"
	}
	return out
}

// visitor is who the item is of.
func (i *visitItem) visitor() string { return cmp.Or(i.distinct, i.anonymous) }

// visitPlan makes up visits of some people, each with a device. A login may be in the middle of a visit. The fourth person never
// identifies, so the device and the known id are two persons. The last two share a device.
func visitPlan(random *rand.Rand, start time.Time) (items []*visitItem) {
	for person := range 6 {
		device, known := fmt.Sprint("device-", min(person, 4)), fmt.Sprint("known-", person)
		for visit := range 3 {
			begin, name := start.Add(time.Duration(3*visit)*time.Hour+time.Duration(person/5)*9*time.Hour), fmt.Sprintf("visit-%d-%d", person, visit)
			session, login := "", random.IntN(5)
			if person == 3 || random.IntN(2) == 0 {
				session = name
			}
			agent, count := random.IntN(3), 3+random.IntN(4)
			offsets := make([]int, count)
			for n := range offsets {
				offsets[n] = random.IntN(25 * 60 * 1000)
				if n > 0 && random.IntN(4) == 0 {
					offsets[n] = offsets[n-1] // at one instant
				}
			}
			slices.Sort(offsets)
			for n, offset := range offsets {
				item := &visitItem{id: fmt.Sprintf("%s-%d", name, n), visit: name, kind: "page", anonymous: device, session: session, at: begin.Add(time.Duration(offset) * time.Millisecond), agent: agent}
				item.source = []string{"direct", "news", "mail", "ads"}[random.IntN(4)]
				if random.IntN(3) == 0 {
					item.kind, item.source = "event", "direct"
				}
				if n == login && person != 3 {
					item.kind = "identify"
				}
				if n >= login {
					item.distinct = known
					if session != "" && item.kind != "identify" && random.IntN(2) == 0 {
						item.anonymous = ""
					}
				}
				if random.IntN(5) == 0 {
					item.agent = random.IntN(3)
				}
				items = append(items, item)
			}
		}
	}
	return items
}

// compareIn orders items by time, those of one instant by the hashes of their ids.
func compareIn(world string) func(a, b *visitItem) int {
	return func(a, b *visitItem) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(city.CH64([]byte(world+a.id)), city.CH64([]byte(world+b.id))))
	}
}

// wantedTouches recomputes the touches and places of the persons who share no device, by an id of theirs.
func wantedTouches(items []*visitItem, world string) map[string]map[string]any {
	linked, entries, persons := map[string]string{}, map[string]*visitItem{}, map[string][]*visitItem{}
	order := compareIn(world)
	for _, item := range items {
		if item.kind == "identify" {
			linked[item.anonymous] = item.distinct
		}
	}
	of := func(visitor string) string { return cmp.Or(linked[visitor], visitor) }
	for _, item := range items {
		if item.kind != "identify" && (entries[item.visit] == nil || order(item, entries[item.visit]) < 0) {
			entries[item.visit] = item
		}
	}
	for _, item := range items {
		if persons[of(item.visitor())] == nil {
			persons[of(item.visitor())] = []*visitItem{}
		}
	}
	for _, entry := range entries {
		persons[of(entry.visitor())] = append(persons[of(entry.visitor())], entry)
	}
	wanted := map[string]map[string]any{}
	for person, all := range persons {
		want := map[string]any{}
		for _, name := range []string{"firstSource", "firstUrl", "lastSource", "lastUrl", "device", "browser", "os"} {
			want[name] = nil
		}
		if len(all) > 0 {
			first, last := slices.MinFunc(all, order), slices.MaxFunc(all, order)
			agent := visitAgents()[last.agent]
			want["firstSource"], want["lastSource"], want["device"], want["browser"], want["os"] = first.source, last.source, agent[1], agent[2], agent[3]
			for name, item := range map[string]*visitItem{"firstUrl": first, "lastUrl": last} {
				if item.url() != "" {
					want[name] = item.url()
				}
			}
		}
		if !strings.HasSuffix(person, "-4") && !strings.HasSuffix(person, "-5") {
			wanted[person] = want
		}
	}
	return wanted
}

// everybody is the list of all people by each of their ids.
func (s *server) everybody() map[string]map[string]any {
	all, query := map[string]map[string]any{}, url.Values{"limit": {"100"}}
	for {
		page := s.get(appPath + "/people?" + query.Encode())
		for _, one := range page["data"].([]any) {
			row := one.(map[string]any)
			for _, id := range row["distinctIds"].([]any) {
				all[id.(string)] = row
			}
		}
		cursor, more := page["nextCursor"].(string)
		if !more {
			return all
		}
		query.Set("cursor", cursor)
	}
}

// TestEveryOrderOfArrivalGivesOneAnswer sends one plan of visits in 60 orders and batchings, each with ids of its own. The
// touches, devices and places of the persons are always those that are recomputed from the plan; visits count for the source of
// the item that arrived first.
func TestEveryOrderOfArrivalGivesOneAnswer(t *testing.T) {
	const worlds = 60
	s, random := startServer(t, t.TempDir(), nil), rand.New(rand.NewPCG(35, 2))
	items := visitPlan(random, time.Now().UTC().Truncate(24*time.Hour).Add(-38*time.Hour))
	slices.SortStableFunc(items, func(a, b *visitItem) int { return a.at.Compare(b.at) })
	sources := map[string]float64{}
	for n := range worlds {
		order, arrived := slices.Clone(items), map[string]bool{}
		switch n {
		case 0: // as it happened
		case 1:
			slices.Reverse(order)
		default:
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		batch := []map[string]any{}
		for _, item := range order {
			if item.kind != "identify" && !arrived[item.visit] {
				arrived[item.visit] = true
				sources[item.source]++
			}
			if batch = append(batch, item.sent(fmt.Sprintf("w%d-", n))); random.IntN(1+n%20) == 0 {
				s.send(batch...)
				batch = nil
			}
		}
		if len(batch) > 0 {
			s.send(batch...)
		}
	}
	s.settled()
	s.showsSources(t, sources)
	people := s.everybody()
	shared := [2]map[string]any{}
	for n := range worlds {
		world := fmt.Sprintf("w%d-", n)
		for id, want := range wantedTouches(items, world) {
			row := people[world+id]
			if n%10 == 1 && row != nil {
				row = s.get(appPath + "/people/" + row["id"].(string))
			}
			if got := touchesOf(row); !reflect.DeepEqual(got, want) {
				t.Errorf("%s of order %d:\n got %v\nwant %v", id, n, got, want)
			}
		}
		for i, id := range []string{"known-4", "known-5"} {
			got := touchesOf(people[world+id])
			if shared[i] == nil {
				shared[i] = got
			} else if !reflect.DeepEqual(got, shared[i]) {
				t.Errorf("%s of order %d: %v, in the order of time %v", id, n, got, shared[i])
			}
		}
	}
}

// showsSources compares the visits by source with those that are wanted.
func (s *server) showsSources(t *testing.T, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for _, one := range s.get(appPath + "/analytics/breakdown?range=7d&dimension=source&limit=100")["data"].([]any) {
		row := one.(map[string]any)
		got[row["value"].(string)] = row["sessions"].(float64)
	}
	if !maps.Equal(got, want) {
		t.Errorf("visits by source: %v, want %v", got, want)
	}
}

// touchesOf are the members of a person that an order of arrival must not change.
func touchesOf(row map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range []string{"firstSource", "firstUrl", "lastSource", "lastUrl", "device", "browser", "os"} {
		out[name] = row[name]
	}
	return out
}
