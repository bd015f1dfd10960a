package share

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/share"
)

// Traffic answers the reads of a page; bots never count.
type Traffic interface {
	// Overview returns the headline of a window and of the one before.
	Overview(ctx context.Context, scope analytics.Scope) (analytics.Overview, error)
	// Timeseries returns a dense series.
	Timeseries(ctx context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval) (analytics.Series, error)
	// Top returns the values of a dimension with the most visitors, the highest count first.
	Top(ctx context.Context, scope analytics.Scope, dimension filter.Dimension, limit int) ([]Row, error)
}

// Row is one value of a dimension with its visitors; "" means unknown.
type Row struct {
	Value    string
	Visitors uint64
}

// Sizes of panels.
const (
	shownRows   = 9      // These are the rows of a panel, without the sum of the others.
	askedRows   = 100    // This is the number of rows to read, so that enough remain without the hidden ones.
	askedPlaces = 10_000 // This is the number for places, of which the small ones are added up.
	concurrent  = 3      // This is the number of concurrent reads of one page.
)

// reporter reads the data of a view.
type reporter struct{ traffic Traffic }

// report is all data of a page.
type report struct {
	public   share.PublicShare
	view     view
	window   domain.Window
	asked    time.Time
	overview analytics.Overview
	series   analytics.Series
	// before is the series of the window before, empty unless the view compares.
	before analytics.Series
	// lists contains the rows of each of panels(), nil for hidden ones.
	lists [5][]Row
}

// gather reads the data of a page's view. It does not read data that is private to the owner.
func (r reporter) gather(ctx context.Context, public share.PublicShare, seen view, now time.Time) (*report, error) {
	window, problem := domain.ParseWindow(seen.span, now, public.App.Location())
	if problem != nil {
		return nil, domain.Invalid(*problem)
	}
	environment, known := public.App.Environment(domain.DefaultEnvironment)
	if !known {
		return nil, domain.NotFound("environment")
	}
	found := &report{public: public, view: seen, window: window, asked: now}
	scope := analytics.Scope{App: public.App.Ref(), Environment: environment, Window: window}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	group.Go(func() (err error) {
		found.overview, err = r.traffic.Overview(ctx, scope)
		return wrap("reading the headline", err)
	})
	group.Go(func() (err error) {
		found.series, err = r.traffic.Timeseries(ctx, scope, seen.metric, seen.grain)
		return wrap("reading the series", err)
	})
	if seen.compare {
		before := scope
		before.Window = window.Previous()
		group.Go(func() (err error) {
			found.before, err = r.traffic.Timeseries(ctx, before, seen.metric, seen.grain)
			return wrap("reading the series before", err)
		})
	}
	for i, dimension := range seen.chosen {
		if !public.Share.Shows(dimension) {
			continue
		}
		group.Go(func() error {
			asked := askedRows
			if isPlace(dimension) {
				asked = askedPlaces
			}
			rows, err := r.traffic.Top(ctx, scope, dimension, asked)
			found.lists[i] = fit(&public.Share, dimension, rows)
			return wrap("reading a panel", err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// otherPlaces is the value of the row for the sum of the places with few visitors.
const otherPlaces = "\x00other"

// fit removes the values that readers must not see from a panel's ordered rows, and adds up the places with few
// visitors.
func fit(sh *share.Share, dimension filter.Dimension, rows []Row) []Row {
	fitting := []Row{}
	var others uint64
	for _, row := range rows {
		switch {
		case sh.Hides(dimension, row.Value), row.Value == "" && isCampaign(dimension), row.Visitors == 0:
		case isPlace(dimension) && (row.Visitors < share.SmallCount || len(fitting) == shownRows):
			others += row.Visitors
		case len(fitting) < shownRows:
			fitting = append(fitting, row)
		}
	}
	if others > 0 {
		fitting = append(fitting, Row{Value: otherPlaces, Visitors: others})
	}
	return fitting
}

func isPath(dimension filter.Dimension) bool {
	return dimension == filter.DimPath || dimension == filter.DimEntryPath || dimension == filter.DimExitPath
}

func isPlace(dimension filter.Dimension) bool {
	return dimension == filter.DimCountry || dimension == filter.DimRegion || dimension == filter.DimCity
}

func isCampaign(dimension filter.Dimension) bool {
	return dimension == filter.DimUTMSource || dimension == filter.DimUTMMedium || dimension == filter.DimUTMCampaign
}
