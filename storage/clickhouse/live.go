package clickhouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
)

// Live returns who was there in the svc.LiveSeconds up to now, bots excluded.
func (db *DB) Live(ctx context.Context, environment svc.Environment, now time.Time) (svc.Live, error) {
	live := svc.Live{AsOf: now, Pages: []svc.LiveRow{}, Sources: []svc.LiveRow{}, Countries: []svc.LiveRow{}, Devices: []svc.LiveRow{}}
	args := arguments{
		"environment": environment.Number, "limit": svc.LiveRows,
		"since": now.Add(-svc.LiveSeconds * time.Second), "until": now,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.read(ctx, "counting live visitors", db.queries["live.Count"], args, func(rows driver.Rows) (bool, error) {
			return true, rows.Scan(&live.Visitors, &live.Pageviews)
		})
	})
	group.Go(func() error {
		return db.read(ctx, "listing what live visitors show", db.queries["live.Top"], args, func(rows driver.Rows) (bool, error) {
			var kind string
			var row svc.LiveRow
			err := rows.Scan(&kind, &row.Value, &row.Visitors)
			switch kind {
			case "path":
				live.Pages = append(live.Pages, row)
			case "source":
				live.Sources = append(live.Sources, row)
			case "country":
				live.Countries = append(live.Countries, row)
			case "device":
				live.Devices = append(live.Devices, row)
			}
			return true, err
		})
	})
	err := group.Wait()
	return live, err
}
