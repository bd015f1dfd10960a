package share_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	domainshare "svc/domain/share"
	"svc/http/route"
	"svc/http/share"
)

// noon is the instant at which the tests first read pages.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

const (
	pageID = "0123456789abcdef01234567"
	legacy = "acme/web"
)

// world is a published page with all its dependencies in memory.
type world struct {
	handler http.Handler

	mu    sync.Mutex
	now   time.Time
	pages map[string]*domainshare.PublicShare
	// asked lists the reads of all pages.
	asked []string
	fail  error
	// behind is true if the node may not know the present pages.
	behind bool
	// during, if set, runs while a headline is read.
	during func(ctx context.Context)
	rows   map[filter.Dimension][]share.Row
}

// open returns a world with a page that is published with settings.
func open(t *testing.T, settings domainshare.Share) *world {
	t.Helper()
	w := &world{now: noon(), pages: map[string]*domainshare.PublicShare{}, rows: topRows()}
	w.publish(settings)
	pages, err := share.New(share.Config{Shares: w, Current: func() bool { return !w.behind }, Traffic: w, Now: w.clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.handler, err = route.New(route.Config{
		Routes: pages.Routes(), Authority: nobody{}, Applications: nobody{}, Cursors: domain.NewCursors([]byte("test")), Now: w.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The gates are unused here, because no row of this surface passes them.
type nobody struct{}

func (nobody) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	return domain.Grant{}, domain.RateState{}, domain.Errorf(domain.CodeUnauthorized, "nobody")
}

func (nobody) Read(context.Context, domain.AppRef, domainshare.AppPart) (domain.Application, domainshare.AppParts, error) {
	return domain.Application{}, domainshare.AppParts{}, domain.NotFound("application")
}

// publish replaces the page by one with settings.
func (w *world) publish(settings domainshare.Share) {
	w.mu.Lock()
	defer w.mu.Unlock()
	app := domain.NewApplication(domain.AppSpec{Name: "Web & <Co>", Timezone: "Europe/Berlin"}, "web", domain.Organization{Slug: "acme"}, domain.AppIDs{}, noon())
	settings.ID = pageID
	w.pages = map[string]*domainshare.PublicShare{}
	for _, link := range settings.Links(app.Ref()) {
		w.pages[link] = &domainshare.PublicShare{App: app, Share: settings}
	}
}

func (w *world) disable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages = map[string]*domainshare.PublicShare{}
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) Share(link string) *domainshare.PublicShare {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pages[link]
}

// ask records a read.
func (w *world) ask(format string, args ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf(format, args...))
	return w.fail
}

// questions returns the recorded reads and clears them.
func (w *world) questions() (asked []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked, w.asked = w.asked, nil
	return asked
}

func (w *world) Overview(ctx context.Context, scope analytics.Scope) (analytics.Overview, error) {
	if w.during != nil {
		w.during(ctx)
	}
	return analytics.Overview{
		Window:   scope.Window,
		Current:  analytics.Headline{Visitors: 12345, Pageviews: 34567, Sessions: 15000, Events: 40000, BounceRate: 0.434, AvgDurationMs: 95_000},
		Previous: analytics.Headline{Visitors: 10000, Pageviews: 34567, Sessions: 30000, Events: 50000, BounceRate: 0.5},
	}, w.ask("overview %s %s bots=%t", scope.Window.Key, scope.Environment.Slug, scope.IncludeBots)
}

func (w *world) Timeseries(_ context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval) (analytics.Series, error) {
	series := analytics.Series{Metric: metric, Interval: interval}
	for i, at := range scope.Window.Buckets(interval) {
		series.Points = append(series.Points, analytics.Point{T: at, Value: float64(100 + i)})
	}
	return series, w.ask("series %s %s %s to %s", scope.Window.Key, metric, interval, scope.Window.To.Format("2 Jan"))
}

func (w *world) Top(_ context.Context, scope analytics.Scope, dimension filter.Dimension, limit int) ([]share.Row, error) {
	rows := w.rows[dimension]
	return rows[:min(limit, len(rows))], w.ask("top %s %s %d", scope.Window.Key, dimension, limit)
}

// topRows has values that may be seen and values that must not.
func topRows() map[filter.Dimension][]share.Row {
	return map[filter.Dimension][]share.Row{
		filter.DimPath: {
			{Value: "/", Visitors: 5000},
			{Value: "/admin/users", Visitors: 400},
			{Value: "/pricing", Visitors: 300},
			{Value: "/u/ada@acme.example", Visitors: 2},
			{Value: "/reset/9f8e7d6c5b4a39281706f5e4d3c2b1a0", Visitors: 1},
			{Value: "/<script>", Visitors: 1},
		},
		filter.DimEntryPath: {{Value: "/entered", Visitors: 5}},
		filter.DimSource:    {{Value: "direct", Visitors: 6000}, {Value: "google", Visitors: 1}},
		filter.DimMedium:    {{Value: "organic", Visitors: 9}},
		filter.DimUTMSource: {{Value: "", Visitors: 9000}, {Value: "newsletter", Visitors: 70}},
		filter.DimCountry:   {{Value: "DE", Visitors: 600}, {Value: "XX", Visitors: 5}, {Value: "FR", Visitors: 4}, {Value: "NO", Visitors: 1}},
		filter.DimDevice:    {{Value: "desktop", Visitors: 7000}, {Value: "", Visitors: 3}},
		filter.DimBrowser:   {{Value: "Firefox", Visitors: 3000}},
	}
}

// get reads a path.
func (w *world) get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	return w.send(t, http.MethodGet, path, nil)
}

func (w *world) send(t *testing.T, method, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response := httptest.NewRecorder()
	w.handler.ServeHTTP(response, request)
	return response
}

var errAway = errors.New("the store is away")
