package alerts

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/monitor"
	"svc/storage/clickhouse"
)

// monitorKind is the kind of monitors' entities, and the first part of their owners' names:
// monitor/<organization>/<application>/<id>.
const monitorKind = "monitor"

// MonitorState returns the state that results from the checks of a monitor, or the zero state without checks. Callers
// that arrive while a query is under way share the next one.
func (db *Store) MonitorState(ctx context.Context, app domain.AppRef, id string) (monitor.State, error) {
	wanted := &latestCheck{monitor: [2]string{app.String(), id}}
	err := clickhouse.SharedError(db.latest.Commit(ctx, wanted))
	return wanted.state, err
}

// monitorsAtOnce limits the monitors of one query.
const monitorsAtOnce = 1000

// latestCheck is one call of MonitorState, with an application and an id, and its result.
type latestCheck struct {
	monitor [2]string
	state   monitor.State
}

// loadStates loads the states for several callers.
func (db *Store) loadStates(ctx context.Context, checks []*latestCheck) error {
	for some := range slices.Chunk(checks, monitorsAtOnce) {
		apps, monitors := map[string]bool{}, make([]string, 0, len(some))
		for _, wanted := range some {
			apps[wanted.monitor[0]] = true
			monitors = append(monitors, wanted.monitor[1])
		}
		args := clickhouse.Args{"apps": slices.Sorted(maps.Keys(apps)), "monitors": monitors}
		states, err := db.monitorStates(ctx, "checks.LatestOf", args)
		if err != nil {
			return err
		}
		for _, wanted := range some {
			wanted.state = states[wanted.monitor]
		}
	}
	return nil
}

// monitorStates returns states by application and id.
func (db *Store) monitorStates(ctx context.Context, query string, args clickhouse.Args) (map[[2]string]monitor.State, error) {
	states := map[[2]string]monitor.State{}
	err := db.conn.ReadFirst(ctx, "loading the latest checks", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		var app, m, status string
		var total uint32
		var state monitor.State
		err := rows.Scan(&app, &m, &state.LastCheckedAt, &status, &state.ConsecutiveFailures, &state.LastError, &total)
		state.LastStatus, state.LastLatencyMs = monitor.Status(status), monitor.LatencyMs(total)
		states[[2]string{app, m}] = state
		return true, err
	})
	return states, err
}

// Monitors returns the monitors of an application by id, with the results of their checks until now. With an id it
// returns only that monitor.
func (db *Store) Monitors(ctx context.Context, app domain.AppRef, id string, now time.Time) ([]monitor.Row, error) {
	entities, err := db.state.LoadUnder(ctx, monitorKind+"/"+app.String()+"/"+id, monitorKind)
	if err != nil {
		return nil, err
	}
	query, of := "checks.Latest", clickhouse.Args{"app": app.String()}
	if id != "" {
		query, of = "checks.LatestOf", clickhouse.Args{"apps": []string{app.String()}, "monitors": []string{id}}
	}
	states, err := db.monitorStates(ctx, query, of)
	if err != nil {
		return nil, err
	}
	type counts struct{ checks, up uint64 }
	counted := map[string]counts{}
	args := clickhouse.Args{"app": app.String(), "monitor": id, "since": now.AddDate(0, 0, -30).Truncate(time.Hour)}
	err = db.conn.Read(ctx, "counting checks", db.queries["checks.Uptime"], args, func(rows driver.Rows) (bool, error) {
		var monitor string
		var n counts
		err := rows.Scan(&monitor, &n.checks, &n.up)
		counted[monitor] = n
		return true, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]monitor.Row, 0, len(entities))
	for _, entity := range entities {
		var row monitor.Row
		if err := json.Unmarshal(entity.Payload, &row.Monitor); err != nil {
			db.conn.Skipped(entity, err)
			continue
		}
		row.State = states[[2]string{app.String(), row.ID}]
		row.Checks30d, row.Up30d = counted[row.ID].checks, counted[row.ID].up
		out = append(out, row)
	}
	return out, nil
}

// AllMonitors yields every monitor.
func (db *Store) AllMonitors(ctx context.Context, yield func(monitor.StoredMonitor)) error {
	var entities []domain.Entity
	var states map[[2]string]monitor.State
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		entities, err = db.state.LoadKind(ctx, monitorKind)
		return err
	})
	group.Go(func() (err error) {
		states, err = db.monitorStates(ctx, "checks.LatestOfAll", nil)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for _, entity := range entities {
		found := monitor.StoredMonitor{Entity: entity}
		parts := strings.Split(entity.Owner, "/")
		if err := json.Unmarshal(entity.Payload, &found.Monitor); err != nil || len(parts) != 4 {
			db.conn.Skipped(entity, err)
			continue
		}
		found.App = domain.AppRef{Org: parts[1], App: parts[2]}
		found.State = states[[2]string{found.App.String(), found.Monitor.ID}]
		yield(found)
	}
	return nil
}
