package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/monitor"
	"svc/storage/clickhouse"
)

// AlertHistory returns the counts of a counter since a time, in slots of a minute or of the counter's step, whichever
// is longer.
func (db *Store) AlertHistory(ctx context.Context, counter alert.Counter, since time.Time) (alert.Slots, error) {
	step := max(60, counter.Step())
	args := clickhouse.Args{"environment": counter.Environment, "since": since, "step": uint32(step), "recent": uint64(math.MaxUint64)}
	read := db.volumes
	if counter.Kind == alert.Metric {
		read = db.points
	}
	found, err := read(ctx, &counter, []string{counter.Word}, args)
	if err != nil {
		return nil, err
	}
	slots := alert.Slots{}
	for _, slot := range found[counter.Word].Slots {
		slot.At = slot.At * step / counter.Step()
		slots.Add(alert.Slots{slot})
	}
	return slots, nil
}

// RateHistory returns the errors of a level and the sessions of an environment in spans of equal width within a time
// range. The empty level counts all errors.
func (db *Store) RateHistory(ctx context.Context, environment uint64, level string, width time.Duration, since, until time.Time) ([]alert.RateSlot, error) {
	slots := make([]alert.RateSlot, int(until.Sub(since)/width))
	for i := range slots {
		slots[i].At = since.Add(time.Duration(i+1) * width)
	}
	args := clickhouse.Args{"environment": environment, "level": level, "width": uint32(width / time.Second), "since": since, "until": until}
	for query, count := range map[string]func(slot *alert.RateSlot, n uint64){
		"alerts.RateErrors":   func(slot *alert.RateSlot, n uint64) { slot.Errors = n },
		"alerts.RateSessions": func(slot *alert.RateSlot, n uint64) { slot.Sessions = n },
	} {
		err := db.conn.Read(ctx, "counting rates for alerts", db.queries[query], args, func(rows driver.Rows) (bool, error) {
			var span int64
			var n uint64
			err := rows.Scan(&span, &n)
			if span >= 0 && span < int64(len(slots)) {
				count(&slots[span], n)
			}
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// CheckHistory returns the measurements that a rule about a monitor would have received since a time, oldest first.
func (db *Store) CheckHistory(ctx context.Context, app domain.AppRef, monitor string, since time.Time) (out []alert.Measurement, err error) {
	args := clickhouse.Args{"app": app.String(), "monitor": monitor, "since": since}
	err = db.conn.Read(ctx, "reading the checks of a monitor", db.queries["checks.History"], args, func(rows driver.Rows) (bool, error) {
		var down uint32
		m := alert.Measurement{Known: true}
		err := rows.Scan(&m.At, &down)
		m.Value = float64(down)
		out = append(out, m)
		return true, err
	})
	return out, err
}

// MonitorDays returns the checks of a monitor by day. days has the start of each day and the end of the last one.
func (db *Store) MonitorDays(ctx context.Context, app domain.AppRef, m string, days []time.Time) ([]monitor.Day, error) {
	out := make([]monitor.Day, len(days)-1)
	places := make(map[uint32]int, len(out))
	for i := range out {
		out[i].Day, places[uint32(days[i].Unix())] = days[i], i
	}
	args := clickhouse.BucketArgs(days[:len(out)]).With(clickhouse.Args{"app": app.String(), "monitor": m, "since": days[0]})
	err := db.conn.Read(ctx, "counting the checks of days", db.queries["checks.Days"], args, func(rows driver.Rows) (bool, error) {
		var day uint32
		var checks, up uint64
		err := rows.Scan(&day, &checks, &up)
		if at, known := places[day]; known {
			out[at].Checks, out[at].Up = checks, up
		}
		return true, err
	})
	return out, err
}

// CheckSeries returns the checks of a monitor by bucket until a time. buckets has the starts.
func (db *Store) CheckSeries(ctx context.Context, app domain.AppRef, m string, buckets []time.Time, until time.Time) ([]monitor.CheckBucket, error) {
	out := make([]monitor.CheckBucket, len(buckets))
	places := make(map[uint32]int, len(out))
	for i := range out {
		out[i].T, places[uint32(buckets[i].Unix())] = buckets[i], i
	}
	args := clickhouse.BucketArgs(buckets).With(clickhouse.Args{"app": app.String(), "monitor": m, "since": buckets[0], "until": until})
	err := db.conn.Read(ctx, "reading the latency of a monitor", db.queries["checks.Series"], args, func(rows driver.Rows) (bool, error) {
		var bucket, high, highest uint32
		var checks, failures uint64
		var mean float64
		err := rows.Scan(&bucket, &checks, &failures, &mean, &high, &highest)
		if at, known := places[bucket]; known {
			b := &out[at]
			b.Checks, b.Failures, b.MeanMs, b.HighMs, b.HighestMs = checks, failures, mean/1e3, float64(high)/1e3, float64(highest)/1e3
		}
		return true, err
	})
	return out, err
}

// FailedChecks returns a page of the failed checks of a monitor, newest first, and reports whether more follow.
func (db *Store) FailedChecks(ctx context.Context, q monitor.CheckQuery) (page []monitor.Check, more bool, err error) {
	args := clickhouse.Args{
		"app": q.App.String(), "monitor": q.Monitor, "since": q.From, "until": q.To, "first_page": q.Before.IsZero(), "before": q.Before, "limit": q.Limit + 1,
	}
	if q.Before.IsZero() {
		args["before"] = q.To
	}
	err = db.conn.Read(ctx, "listing the failures of a monitor", db.queries["checks.Failures"], args, func(rows driver.Rows) (bool, error) {
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		check := monitor.Check{App: q.App, Monitor: q.Monitor}
		r, status, code := &check.Result, "", uint16(0)
		err := rows.Scan(&r.At, &status, &code, &r.Error, &r.Phases.DNS, &r.Phases.Connect, &r.Phases.TLS, &r.Phases.FirstByte, &r.Phases.Total, &check.State.ConsecutiveFailures)
		r.StatusCode, check.State.LastStatus = int(code), monitor.Status(status)
		page = append(page, check)
		return true, err
	})
	return page, more, err
}

// Incident returns one incident with the outcomes of its notices, oldest first. It returns not_found if the application
// has no incident with this id.
func (db *Store) Incident(ctx context.Context, app domain.AppRef, id string) (incident alert.Incident, notices []alert.NoticeRecord, err error) {
	owner, found := "alerting/"+app.String(), false
	args := clickhouse.Args{"owner": owner, "name": id, "prefix": id + "."}
	err = db.conn.Read(ctx, "reading an incident", db.queries["incidents.Get"], args, func(rows driver.Rows) (bool, error) {
		found = true
		return true, decodeRow(rows, &incident)
	})
	switch {
	case err != nil:
		return incident, nil, err
	case !found:
		return incident, nil, domain.NotFound("incident")
	}
	err = db.conn.Read(ctx, "reading the notices of an incident", db.queries["notices.List"], args, func(rows driver.Rows) (bool, error) {
		var record alert.NoticeRecord
		err := decodeRow(rows, &record)
		notices = append(notices, record)
		return true, err
	})
	alert.SortNotices(notices)
	return incident, notices, err
}

// decodeRow decodes the payload of a row.
func decodeRow(rows driver.Rows, into any) error {
	var payload []byte
	if err := rows.Scan(&payload); err != nil {
		return err
	}
	if err := json.Unmarshal(payload, into); err != nil {
		return fmt.Errorf("decoding an entity: %w", err)
	}
	return nil
}
