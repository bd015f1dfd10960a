package alerts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/alert"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/metrics"
)

// AlertVolumes returns by word the counts of event counters, or of error counters, in their windows before and after a
// time. It also returns the blocks from the number recent on with any of the counted rows. The counters differ only in
// their words.
func (db *Store) AlertVolumes(ctx context.Context, counter alert.Counter, words []string, at time.Time, recent uint64) (map[string]alert.Window, error) {
	return db.volumes(ctx, &counter, words, alertArguments(&counter, at, recent))
}

// volumes counts events, or errors, by word and slot.
func (db *Store) volumes(ctx context.Context, counter *alert.Counter, words []string, args clickhouse.Args) (map[string]alert.Window, error) {
	query := "alerts.EventSlots"
	if counter.Kind == alert.ErrorRate {
		query = "alerts.ErrorSlots"
	}
	slots, blocks := map[string]*alert.Slots{}, map[uint64]struct{}{}
	for _, word := range words {
		slots[word] = &alert.Slots{}
	}
	args = args.With(clickhouse.Args{"words": words})
	err := db.conn.ReadFirst(ctx, "counting for alerts", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		var word string
		var slot int64
		var found uint64
		var in []uint64
		if err := rows.Scan(&word, &slot, &found, &in); err != nil {
			return false, err
		}
		for _, of := range [2]string{word, ""} {
			if slots[of] != nil {
				slots[of].At(slot).Count += found
			}
			if word == "" {
				break
			}
		}
		noteBlocks(blocks, in)
		return true, nil
	})
	return alertWindows(slots, blocks), err
}

// AlertPoints is AlertVolumes for counters of metrics. Counters with labels must come one by one.
func (db *Store) AlertPoints(ctx context.Context, counter alert.Counter, words []string, at time.Time, recent uint64) (map[string]alert.Window, error) {
	return db.points(ctx, &counter, words, alertArguments(&counter, at, recent))
}

// points counts points of metrics by word and slot.
func (db *Store) points(ctx context.Context, counter *alert.Counter, words []string, args clickhouse.Args) (map[string]alert.Window, error) {
	bins := "alerts.NoBins"
	if counter.Bins {
		bins = "alerts.Bins"
	}
	labels := alert.DecodeLabels(counter.Labels)
	query := strings.ReplaceAll(db.queries["alerts.PointSlots"], "$(bins)", db.queries[bins])
	args = args.With(metrics.LabelArgs(labels)).With(clickhouse.Args{"words": words, "name": words[0], "all": len(labels) == 0})
	slots, blocks := map[string]*alert.Slots{}, map[uint64]struct{}{}
	for _, word := range words {
		slots[word] = &alert.Slots{}
	}
	err := db.conn.ReadFirst(ctx, "counting points for alerts", query, args, func(rows driver.Rows) (bool, error) {
		var word string
		var slot alert.Slot
		var keys []int16
		var counts, in []uint64
		var lows, highs []float64
		if err := rows.Scan(&word, &slot.At, &slot.Count, &slot.Sum, &slot.Min, &slot.Max, &keys, &counts, &lows, &highs, &in); err != nil {
			return false, err
		}
		for i, key := range keys {
			slot.Bins = append(slot.Bins, alert.Bin{Key: key, N: counts[i], Low: lows[i], High: highs[i]})
		}
		slots[word].Add(alert.Slots{slot})
		noteBlocks(blocks, in)
		return true, nil
	})
	return alertWindows(slots, blocks), err
}

// alertWindows assigns the blocks of all words to every word: a block with rows of one word also has all of its rows of
// the other words.
func alertWindows(slots map[string]*alert.Slots, blocks map[uint64]struct{}) map[string]alert.Window {
	list := slices.Sorted(maps.Keys(blocks))
	out := make(map[string]alert.Window, len(slots))
	for word, found := range slots {
		out[word] = alert.Window{Slots: *found, Blocks: list}
	}
	return out
}

// alertArguments returns the values that all counters need.
func alertArguments(counter *alert.Counter, at time.Time, recent uint64) clickhouse.Args {
	since := time.Unix(counter.Slot(at.Add(-counter.Window()))*counter.Step(), 0)
	return clickhouse.Args{"environment": counter.Environment, "since": since, "step": uint32(counter.Step()), "recent": recent}
}

func noteBlocks(into map[uint64]struct{}, blocks []uint64) {
	for _, block := range blocks {
		into[block] = struct{}{}
	}
}
