package clickhouse

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// AlertWindow is what the store holds of what a counter counts, and which blocks it was
// found in.
type AlertWindow struct {
	Slots  svc.AlertSlots
	Blocks []uint64
}

// AlertVolumes returns by word what counters of events, or of errors, count in their windows
// before an instant and after it, with the blocks that hold any of it from a number on. The
// counters differ in their words alone.
func (db *DB) AlertVolumes(ctx context.Context, counter svc.AlertCounter, words []string, at time.Time, recent uint64) (map[string]AlertWindow, error) {
	query := "alerts.EventSlots"
	if counter.Kind == svc.AlertErrorRate {
		query = "alerts.ErrorSlots"
	}
	slots, blocks := map[string]*svc.AlertSlots{}, map[uint64]struct{}{}
	for _, word := range words {
		slots[word] = &svc.AlertSlots{}
	}
	args := alertArguments(&counter, at, recent).with(arguments{"words": words})
	err := db.read(ctx, "counting for alerts", db.queries[query], args, func(rows driver.Rows) (bool, error) {
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
	out := map[string]AlertWindow{}
	for word, found := range slots {
		out[word] = AlertWindow{*found, blockList(blocks)}
	}
	return out, err
}

// AlertPoints returns what a counter of a metric counts in its window before an instant and
// after it, with the blocks that hold any of it from a number on.
func (db *DB) AlertPoints(ctx context.Context, counter svc.AlertCounter, at time.Time, recent uint64) (out AlertWindow, err error) {
	bins := "alerts.NoBins"
	if counter.Bins {
		bins = "alerts.Bins"
	}
	labels := svc.DecodeLabels(counter.Labels)
	query := strings.ReplaceAll(db.queries["alerts.PointSlots"], "$(bins)", db.queries[bins])
	args := alertArguments(&counter, at, recent).with(labelArguments(labels)).with(arguments{"name": counter.Word, "all": len(labels) == 0})
	blocks := map[uint64]struct{}{}
	err = db.read(ctx, "counting points for alerts", query, args, func(rows driver.Rows) (bool, error) {
		var slot svc.AlertSlot
		var keys []int16
		var counts, in []uint64
		var lows, highs []float64
		if err := rows.Scan(&slot.At, &slot.Count, &slot.Sum, &slot.Min, &slot.Max, &keys, &counts, &lows, &highs, &in); err != nil {
			return false, err
		}
		for i, key := range keys {
			slot.Bins = append(slot.Bins, svc.AlertBin{Key: key, N: counts[i], Low: lows[i], High: highs[i]})
		}
		out.Slots.Add(svc.AlertSlots{slot})
		noteBlocks(blocks, in)
		return true, nil
	})
	out.Blocks = blockList(blocks)
	return out, err
}

// alertArguments are the values that all counters have.
func alertArguments(counter *svc.AlertCounter, at time.Time, recent uint64) arguments {
	since := time.Unix(counter.Slot(at.Add(-counter.Window()))*counter.Step(), 0)
	return arguments{"environment": counter.Environment, "since": since, "step": uint32(counter.Step()), "recent": recent}
}

func noteBlocks(into map[uint64]struct{}, blocks []uint64) {
	for _, block := range blocks {
		into[block] = struct{}{}
	}
}

func blockList(blocks map[uint64]struct{}) []uint64 {
	out := make([]uint64, 0, len(blocks))
	for block := range blocks {
		out = append(out, block)
	}
	return out
}
