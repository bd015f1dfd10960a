package analytics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// LiveVisit is one event as the live view sees it. An empty text counts in no list.
type LiveVisit struct {
	TsMs     int64
	Visitor  uint64
	Pageview bool
	Path     string
	Source   string
	Country  string
	Device   string
}

// LiveWindow holds the visitors of the last LiveSeconds of one environment: the latest instant of every visitor, and of
// every value that a visitor showed. Page views are counted by the second.
type LiveWindow struct {
	visitors  map[uint64]int64
	shown     [4]map[string]map[uint64]int64
	pageviews map[int64]uint64
	prunedMs  int64
}

// NewLiveWindow returns an empty window.
func NewLiveWindow() *LiveWindow {
	w := &LiveWindow{visitors: map[uint64]int64{}, pageviews: map[int64]uint64{}}
	for n := range w.shown {
		w.shown[n] = map[string]map[uint64]int64{}
	}
	return w
}

// Add counts a visit.
func (w *LiveWindow) Add(visit LiveVisit) {
	w.visitors[visit.Visitor] = max(w.visitors[visit.Visitor], visit.TsMs)
	if visit.Pageview {
		w.pageviews[visit.TsMs/1000]++
	}
	for n, value := range [...]string{visit.Path, visit.Source, visit.Country, visit.Device} {
		if value == "" {
			continue
		}
		by := w.shown[n][value]
		if by == nil {
			by = map[uint64]int64{}
			w.shown[n][value] = by
		}
		by[visit.Visitor] = max(by[visit.Visitor], visit.TsMs)
	}
}

// pruneEvery is the interval in milliseconds at which expired values are removed.
const pruneEvery = 30_000

// At returns the view at an instant: the visitors that were present after now minus LiveSeconds.
func (w *LiveWindow) At(now time.Time) Live {
	since := now.UnixMilli() - LiveSeconds*1000
	if now.UnixMilli()-w.prunedMs > pruneEvery {
		w.prune(since)
		w.prunedMs = now.UnixMilli()
	}
	live := Live{AsOf: now, Visitors: countSince(w.visitors, since)}
	for second, count := range w.pageviews {
		if second*1000 >= since {
			live.Pageviews += count
		}
	}
	for n, list := range [...]*[]LiveRow{&live.Pages, &live.Sources, &live.Countries, &live.Devices} {
		*list = topRows(w.shown[n], since)
	}
	return live
}

func countSince(latest map[uint64]int64, since int64) (n uint64) {
	for _, ts := range latest {
		if ts > since {
			n++
		}
	}
	return n
}

// topRows returns the values with the most visitors, at most LiveRows.
func topRows(shown map[string]map[uint64]int64, since int64) []LiveRow {
	rows := []LiveRow{}
	for value, by := range shown {
		if n := countSince(by, since); n > 0 {
			rows = append(rows, LiveRow{Value: value, Visitors: n})
		}
	}
	slices.SortFunc(rows, func(a, b LiveRow) int {
		if a.Visitors != b.Visitors {
			if a.Visitors > b.Visitors {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Value, b.Value)
	})
	return rows[:min(len(rows), LiveRows)]
}

// prune removes values that are not newer than an instant.
func (w *LiveWindow) prune(since int64) {
	old := func(_ uint64, ts int64) bool { return ts <= since }
	maps.DeleteFunc(w.visitors, old)
	for _, shown := range w.shown {
		for value, by := range shown {
			maps.DeleteFunc(by, old)
			if len(by) == 0 {
				delete(shown, value)
			}
		}
	}
	for second := range w.pageviews {
		if second*1000 < since {
			delete(w.pageviews, second)
		}
	}
}

// Mask hides the e-mail-like values of the view's lists. The lists keep their lengths.
func (l *Live) Mask() {
	for _, list := range []*[]LiveRow{&l.Pages, &l.Sources, &l.Countries, &l.Devices} {
		*list = slices.Clone(*list) // the view may be shared
		for i := range *list {
			(*list)[i].Value = domain.MaskShapes((*list)[i].Value)
		}
	}
}
