package metrics

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/metric"
	"svc/storage/clickhouse"
)

// Vitals returns a page of paths or device kinds with their web vitals, sorted by observations in descending order. It
// also reports whether more follow, and returns the vitals of all of them together. The window counts in whole slots of
// five minutes.
func (db *Store) Vitals(ctx context.Context, q metric.VitalsQuery) (page []metric.VitalGroup, more bool, all metric.VitalGroup, err error) {
	args := clickhouse.Args{
		"environment": q.Environment.Number, "vitals": metric.Vitals(), "since": q.Window.From, "until": q.Window.To, "group_by": q.By,
		"path": q.Path, "device": q.Device, "limit": q.Limit + 1, "first_page": q.After == nil, "after_count": uint64(0), "after_part": "",
		"all": true, "parts": []string{""},
	}
	if q.After != nil {
		args["after_count"], args["after_part"] = q.After.Samples, q.After.Value
	}
	places, words := map[string]int{}, []string{}
	err = db.conn.Read(ctx, "ranking web vitals", db.queries["metrics.VitalsRanked"], args, func(rows driver.Rows) (bool, error) {
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		group := metric.VitalGroup{Vitals: map[string]metric.VitalBins{}}
		err := rows.Scan(&group.Value, &group.Samples)
		places[group.Value] = len(page)
		page, words = append(page, group), append(words, group.Value)
		return true, err
	})
	if err != nil {
		return nil, false, all, err
	}
	all.Vitals = map[string]metric.VitalBins{}
	err = db.scores(ctx, args, func(_, vital string, bins metric.VitalBins) {
		all.Vitals[vital] = bins
		all.Samples += bins.Totals.Count
	})
	if err != nil || len(page) == 0 {
		return page, more, all, err
	}
	err = db.scores(ctx, args.With(clickhouse.Args{"all": false, "parts": words}), func(value, vital string, bins metric.VitalBins) {
		page[places[value]].Vitals[vital] = bins
	})
	return page, more, all, err
}

// scores reads the observations of vitals in bins.
func (db *Store) scores(ctx context.Context, args clickhouse.Args, each func(value, vital string, bins metric.VitalBins)) error {
	return db.conn.Read(ctx, "scoring web vitals", db.queries["metrics.VitalsScores"], args, func(rows driver.Rows) (bool, error) {
		var value, vital string
		var bins metric.VitalBins
		err := rows.Scan(&value, &vital, &bins.Totals.Count, &bins.Totals.Min, &bins.Totals.Max, &bins.Keys, &bins.Counts)
		each(value, vital, bins)
		return true, err
	})
}
