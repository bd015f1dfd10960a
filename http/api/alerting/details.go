package alerting

import (
	"context"
	"slices"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/issue"
	"svc/domain/metric"
	"svc/domain/monitor"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Details reads single incidents and the results of a monitor's checks.
type Details interface {
	// Incident returns an incident with the delivery of its notices; it fails with not_found if the incident does not
	// exist.
	Incident(ctx context.Context, app domain.AppRef, id string) (alert.Incident, []alert.NoticeRecord, error)
	// MonitorDays returns the checks of a monitor by day. days contains the beginning of each day and the end of the
	// last one.
	MonitorDays(ctx context.Context, app domain.AppRef, monitor string, days []time.Time) ([]monitor.Day, error)
	// CheckSeries returns the checks of a monitor until an instant. buckets contains the beginning of each bucket.
	CheckSeries(ctx context.Context, app domain.AppRef, monitor string, buckets []time.Time, until time.Time) ([]monitor.CheckBucket, error)
	// FailedChecks returns a page of the failed checks, the newest first, and whether more follow.
	FailedChecks(ctx context.Context, query monitor.CheckQuery) (page []monitor.Check, more bool, err error)
}

// Checker checks monitors on request.
type Checker interface {
	// Monitor returns one monitor; it fails with not_found if no monitor has the id.
	Monitor(ctx context.Context, ref domain.AppRef, id string) (monitor.Row, error)
	// CheckNow checks a monitor at once. It fails with not_found, and with rate_limited if the monitor was checked a
	// moment ago.
	CheckNow(ctx context.Context, ref domain.AppRef, id string) (monitor.Check, error)
}

// details serves the routes of single incidents and monitors.
type details struct {
	details Details
	checker Checker
}

func detailRoutes(ports Ports) []route.Route {
	details := details{ports.Details, ports.Checker}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/incidents/{id}", Operation: "incidents.get", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "One incident with its notices and their answers", Handler: route.Typed(details.incident),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/monitors/{id}", Operation: "monitors.get", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "One monitor with its uptime on each of 90 days", Handler: route.Typed(details.monitor),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/monitors/{id}/checks", Operation: "monitors.checks", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "How long the checks of a monitor took, and those that failed", Handler: route.Typed(details.checks),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/monitors/{id}/check", Operation: "monitors.check", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.External, Unrecorded: "a check changes nothing that people decide about", Rate: domain.RateDefault,
			Summary: "Check a monitor at once", Codes: []domain.Code{domain.CodeRateLimited}, Handler: route.Typed(details.check),
		},
	}
}

// notice shows the delivery of a notice to one channel.
type notice struct {
	ID          string            `json:"id"`
	Event       alert.NoticeEvent `json:"event" open:"true" doc:"open or resolved."`
	ChannelID   string            `json:"channelId"`
	ChannelName string            `json:"channelName"`
	ChannelKind alert.ChannelKind `json:"channelKind" open:"true"`
	State       alert.NoticeState `json:"state" open:"true" doc:"waiting, delivered, failed, or dropped with its channel."`
	Attempts    int               `json:"attempts"`
	CreatedAt   route.Time        `json:"createdAt"`
	AttemptedAt *route.Time       `json:"attemptedAt"`
	NextAt      *route.Time       `json:"nextAt" doc:"When it is tried again."`
	Answer      *string           `json:"answer" doc:"Why the latest attempt failed."`
}

func noticeOf(call *route.Call) func(n *alert.NoticeRecord) notice {
	text := textOf(call)
	return func(n *alert.NoticeRecord) notice { return shownNotice(n, text(n.Answer)) }
}

func shownNotice(n *alert.NoticeRecord, answer string) notice {
	row := notice{
		ID: n.ID, Event: n.Event, ChannelID: n.ChannelID, ChannelName: n.ChannelName, ChannelKind: n.ChannelKind, State: n.State, Attempts: n.Attempts,
		CreatedAt: route.Time(n.CreatedAt), Answer: api.OrNull(answer),
	}
	if !n.AttemptedAt.IsZero() {
		row.AttemptedAt = route.TimeOf(&n.AttemptedAt)
	}
	if !n.NextAt.IsZero() {
		row.NextAt = route.TimeOf(&n.NextAt)
	}
	return row
}

// incidentDetail is the answer of …/incidents/{id}.
type incidentDetail struct {
	views.Incident
	Notices []notice `json:"notices" doc:"The oldest first."`
}

func (d details) incident(ctx context.Context, call *route.Call, in incidentPath) (incidentDetail, error) {
	found, notices, err := d.details.Incident(ctx, call.Ref(), in.ID)
	if err != nil {
		return incidentDetail{}, err
	}
	return incidentDetail{Incident: incidentOf(call)(&found), Notices: api.Convert(notices, noticeOf(call))}, nil
}

// monitorDay is one day of a monitor.
type monitorDay struct {
	Date   string   `json:"date" doc:"In the application's time zone."`
	Checks uint64   `json:"checks"`
	Uptime *float64 `json:"uptime" doc:"The share of the checks after which the monitor was not down; null without checks."`
}

// monitorDetail is the answer of …/monitors/{id}.
type monitorDetail struct {
	monitorJSON
	Days []monitorDay `json:"days" observed:"true" doc:"The last 90 days, the oldest first."`
}

func (d details) monitor(ctx context.Context, call *route.Call, in monitorPath) (monitorDetail, error) {
	found, err := d.checker.Monitor(ctx, call.Ref(), in.ID)
	if err != nil {
		return monitorDetail{}, err
	}
	days, err := d.details.MonitorDays(ctx, call.Ref(), in.ID, issue.LastDays(call.Now, monitor.Days, call.App.Location()))
	if err != nil {
		return monitorDetail{}, err
	}
	return monitorDetail{monitorJSON: monitorOf(&found), Days: api.Convert(days, func(day *monitor.Day) monitorDay {
		return monitorDay{Date: day.Day.Format(time.DateOnly), Checks: day.Checks, Uptime: day.Uptime()}
	})}, nil
}

// checkRange is the parameter range of …/checks.
type checkRange struct {
	key          string
	length, step time.Duration
}

// checkRanges lists the ranges with the widths of their buckets.
func checkRanges() []checkRange {
	const day = 24 * time.Hour
	return []checkRange{
		{"1h", time.Hour, time.Minute},
		{"6h", 6 * time.Hour, 5 * time.Minute},
		{"24h", day, 15 * time.Minute},
		{"7d", 7 * day, 2 * time.Hour},
		{"30d", 30 * day, 6 * time.Hour},
		{"90d", 90 * day, day},
	}
}

// Parse reads the range word; the default is a day.
func (r *checkRange) Parse(_ *route.Call, words []string) []domain.FieldError {
	word := metric.DefaultMetricRange
	if len(words) > 0 {
		word = words[0]
	}
	at := slices.IndexFunc(checkRanges(), func(other checkRange) bool { return other.key == word })
	if at < 0 {
		return []domain.FieldError{api.UnknownWord("range", "range", word, metric.Ranges())}
	}
	*r = checkRanges()[at]
	return nil
}

// Schema describes the parameter.
func (checkRange) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": metric.Ranges(), "default": metric.DefaultMetricRange}
}

// buckets returns the beginnings of the buckets of the range that ends at an instant.
func (r *checkRange) buckets(now time.Time) []time.Time {
	var out []time.Time
	for at := now.UTC().Truncate(r.step).Add(r.step - r.length); !at.After(now); at = at.Add(r.step) {
		out = append(out, at)
	}
	return out
}

type listChecks struct {
	monitorPath
	api.Paging
	Range checkRange `query:"range" doc:"The span of time; it ends now."`
}

// checkBucket is one bucket of the series.
type checkBucket struct {
	T            route.Time `json:"t"`
	Checks       uint64     `json:"checks"`
	Failures     uint64     `json:"failures"`
	AvgLatencyMs *float64   `json:"avgLatencyMs" doc:"Null without checks."`
	P95LatencyMs *float64   `json:"p95LatencyMs"`
	MaxLatencyMs *float64   `json:"maxLatencyMs"`
}

func checkBucketOf(b *monitor.CheckBucket) checkBucket {
	row := checkBucket{T: route.Time(b.T), Checks: b.Checks, Failures: b.Failures}
	if b.Checks > 0 {
		row.AvgLatencyMs, row.P95LatencyMs, row.MaxLatencyMs = &b.MeanMs, &b.HighMs, &b.HighestMs
	}
	return row
}

// checkResult is one check.
type checkResult struct {
	At                  route.Time     `json:"at"`
	Status              monitor.Status `json:"status" open:"true" doc:"What the monitor was after it: up, degraded or down."`
	Error               *string        `json:"error" doc:"What is wrong; null where the check passed."`
	StatusCode          *int           `json:"statusCode" doc:"That of the answer; null without one."`
	LatencyMs           uint32         `json:"latencyMs"`
	Phases              checkPhases    `json:"phases"`
	ConsecutiveFailures uint32         `json:"consecutiveFailures"`
}

// checkPhases are the durations of a check's phases.
type checkPhases struct {
	DNSMs       float64 `json:"dnsMs"`
	ConnectMs   float64 `json:"connectMs"`
	TLSMs       float64 `json:"tlsMs"`
	FirstByteMs float64 `json:"firstByteMs"`
}

func checkResultOf(c *monitor.Check) checkResult {
	const thousand = 1e3
	p := c.Result.Phases
	row := checkResult{
		At: route.Time(c.Result.At), Status: c.State.LastStatus, Error: api.OrNull(c.Result.Error), LatencyMs: monitor.LatencyMs(p.Total), ConsecutiveFailures: c.State.ConsecutiveFailures,
		Phases: checkPhases{float64(p.DNS) / thousand, float64(p.Connect) / thousand, float64(p.TLS) / thousand, float64(p.FirstByte) / thousand},
	}
	if code := c.Result.StatusCode; code != 0 {
		row.StatusCode = &code
	}
	return row
}

// checkPage is the answer of …/monitors/{id}/checks.
type checkPage struct {
	domain.Page[checkResult]
	Range  string        `json:"range"`
	Series []checkBucket `json:"series" doc:"The oldest first."`
}

// checks lists the failures of a monitor and the durations of its checks.
func (d details) checks(ctx context.Context, call *route.Call, in listChecks) (checkPage, error) {
	if _, err := d.checker.Monitor(ctx, call.Ref(), in.ID); err != nil {
		return checkPage{}, err
	}
	buckets := in.Range.buckets(call.Now)
	query := monitor.CheckQuery{App: call.Ref(), Monitor: in.ID, From: buckets[0], To: call.Now, Limit: int(in.Limit)}
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return checkPage{}, err
	}
	if keyset != nil {
		ms, err := strconv.ParseInt(keyset[0], 10, 64)
		if err != nil {
			return checkPage{}, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
		}
		query.Before = time.UnixMilli(ms).UTC()
	}
	rows, more, err := d.details.FailedChecks(ctx, query)
	if err != nil {
		return checkPage{}, err
	}
	series, err := d.details.CheckSeries(ctx, call.Ref(), in.ID, buckets, call.Now)
	if err != nil {
		return checkPage{}, err
	}
	page := route.PageOf(call, api.Convert(rows, checkResultOf), more, func(checkResult) []string {
		return []string{strconv.FormatInt(rows[len(rows)-1].Result.At.UnixMilli(), 10)}
	})
	return checkPage{Page: page, Range: in.Range.key, Series: api.Convert(series, checkBucketOf)}, nil
}

func (d details) check(ctx context.Context, call *route.Call, in monitorPath) (checkResult, error) {
	found, err := d.checker.CheckNow(ctx, call.Ref(), in.ID)
	if err != nil {
		return checkResult{}, err
	}
	return checkResultOf(&found), nil
}
