package analytics_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain/analytics"
)

// recount counts visits by brute force.
func recount(visits []analytics.LiveVisit, now time.Time) analytics.Live {
	since := now.UnixMilli() - analytics.LiveSeconds*1000
	live := analytics.Live{AsOf: now}
	visitors := map[uint64]bool{}
	lists := [4]map[string]map[uint64]bool{{}, {}, {}, {}}
	for _, v := range visits {
		if v.TsMs <= since {
			continue
		}
		visitors[v.Visitor] = true
		if v.Pageview {
			live.Pageviews++
		}
		for n, value := range []string{v.Path, v.Source, v.Country, v.Device} {
			if value == "" {
				continue
			}
			if lists[n][value] == nil {
				lists[n][value] = map[uint64]bool{}
			}
			lists[n][value][v.Visitor] = true
		}
	}
	live.Visitors = uint64(len(visitors))
	for n, list := range []*[]analytics.LiveRow{&live.Pages, &live.Sources, &live.Countries, &live.Devices} {
		*list = []analytics.LiveRow{}
		for value, by := range lists[n] {
			*list = append(*list, analytics.LiveRow{Value: value, Visitors: uint64(len(by))})
		}
		slices.SortFunc(*list, func(a, b analytics.LiveRow) int {
			return cmp.Or(cmp.Compare(b.Visitors, a.Visitors), cmp.Compare(a.Value, b.Value))
		})
		*list = (*list)[:min(len(*list), analytics.LiveRows)]
	}
	return live
}

func TestLiveWindowEqualsARecount(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	window := analytics.NewLiveWindow()
	var visits []analytics.LiveVisit
	for step := range 400 {
		now := start.Add(time.Duration(step) * 2 * time.Second)
		for range rng.IntN(5) {
			visit := analytics.LiveVisit{
				// Whole seconds, in any order, also from before the window.
				TsMs: now.Add(-time.Duration(rng.IntN(400)) * time.Second).UnixMilli(), Visitor: uint64(rng.IntN(40)), Pageview: rng.IntN(2) == 0,
				Path: fmt.Sprintf("/%d", rng.IntN(15)), Source: []string{"", "google", "direct"}[rng.IntN(3)], Country: []string{"", "DE"}[rng.IntN(2)], Device: "desktop",
			}
			visits = append(visits, visit)
			window.Add(visit)
		}
		at := now.Add(500 * time.Millisecond)
		if got, want := window.At(at), recount(visits, at); !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d:\n got %+v\nwant %+v", step, got, want)
		}
	}
}
