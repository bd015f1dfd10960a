package alerts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/metrics"
)

// AlertVolumes returns by word the counts of event counters, or of error counters, in their windows before and after a
// time. It also returns the blocks from the number recent on with any of the counted rows. The counters differ only in
// their words.
func (db *Store) AlertVolumes(ctx context.Context, counter svc.AlertCounter, words []string, at time.Time, recent uint64) (map[string]svc.AlertWindow, error) {
	return db.volumes(ctx, &counter, words, alertArguments(&counter, at, recent))
}

// volumes counts events, or errors, by word and slot.
func (db *Store) volumes(ctx context.Context, counter *svc.AlertCounter, words []string, args clickhouse.Args) (map[string]svc.AlertWindow, error) {
	query := "alerts.EventSlots"
	if counter.Kind == svc.AlertErrorRate {
		query = "alerts.ErrorSlots"
	}
	slots, blocks := map[string]*svc.AlertSlots{}, map[uint64]struct{}{}
	for _, word := range words {
		slots[word] = &svc.AlertSlots{}
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
func (db *Store) AlertPoints(ctx context.Context, counter svc.AlertCounter, words []string, at time.Time, recent uint64) (map[string]svc.AlertWindow, error) {
	return db.points(ctx, &counter, words, alertArguments(&counter, at, recent))
}

// points counts points of metrics by word and slot.
func (db *Store) points(ctx context.Context, counter *svc.AlertCounter, words []string, args clickhouse.Args) (map[string]svc.AlertWindow, error) {
	bins := "alerts.NoBins"
	if counter.Bins {
		bins = "alerts.Bins"
	}
	labels := svc.DecodeLabels(counter.Labels)
	query := strings.ReplaceAll(db.queries["alerts.PointSlots"], "$(bins)", db.queries[bins])
	args = args.With(metrics.LabelArgs(labels)).With(clickhouse.Args{"words": words, "name": words[0], "all": len(labels) == 0})
	slots, blocks := map[string]*svc.AlertSlots{}, map[uint64]struct{}{}
	for _, word := range words {
		slots[word] = &svc.AlertSlots{}
	}
	err := db.conn.ReadFirst(ctx, "counting points for alerts", query, args, func(rows driver.Rows) (bool, error) {
		var word string
		var slot svc.AlertSlot
		var keys []int16
		var counts, in []uint64
		var lows, highs []float64
		if err := rows.Scan(&word, &slot.At, &slot.Count, &slot.Sum, &slot.Min, &slot.Max, &keys, &counts, &lows, &highs, &in); err != nil {
			return false, err
		}
		for i, key := range keys {
			slot.Bins = append(slot.Bins, svc.AlertBin{Key: key, N: counts[i], Low: lows[i], High: highs[i]})
		}
		slots[word].Add(svc.AlertSlots{slot})
		noteBlocks(blocks, in)
		return true, nil
	})
	return alertWindows(slots, blocks), err
}

// alertWindows assigns the blocks of all words to every word: a block with rows of one word also has all of its rows of
// the other words.
func alertWindows(slots map[string]*svc.AlertSlots, blocks map[uint64]struct{}) map[string]svc.AlertWindow {
	list := slices.Sorted(maps.Keys(blocks))
	out := make(map[string]svc.AlertWindow, len(slots))
	for word, found := range slots {
		out[word] = svc.AlertWindow{Slots: *found, Blocks: list}
	}
	return out
}

// alertArguments returns the values that all counters need.
func alertArguments(counter *svc.AlertCounter, at time.Time, recent uint64) clickhouse.Args {
	since := time.Unix(counter.Slot(at.Add(-counter.Window()))*counter.Step(), 0)
	return clickhouse.Args{"environment": counter.Environment, "since": since, "step": uint32(counter.Step()), "recent": recent}
}

func noteBlocks(into map[uint64]struct{}, blocks []uint64) {
	for _, block := range blocks {
		into[block] = struct{}{}
	}
}
