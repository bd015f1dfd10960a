package clickhouse

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// monitorKind is the kind of monitors' entities and the beginning of their owners' names:
// monitor/<organization>/<application>/<id>.
const monitorKind = "monitor"

// MonitorState returns what the checks of a monitor led to, the zero state without any.
func (db *DB) MonitorState(ctx context.Context, app svc.AppRef, id string) (svc.MonitorState, error) {
	states, err := db.monitorStates(ctx, app, id)
	return states[id], err
}

func (db *DB) monitorStates(ctx context.Context, app svc.AppRef, id string) (map[string]svc.MonitorState, error) {
	states := map[string]svc.MonitorState{}
	args := arguments{"app": app.String(), "monitor": id}
	err := db.read(ctx, "loading the latest checks", db.queries["checks.Latest"], args, func(rows driver.Rows) (bool, error) {
		var monitor, status string
		var total uint32
		var state svc.MonitorState
		err := rows.Scan(&monitor, &state.LastCheckedAt, &status, &state.ConsecutiveFailures, &state.LastError, &total)
		state.LastStatus, state.LastLatencyMs = svc.MonitorStatus(status), svc.LatencyMs(total)
		states[monitor] = state
		return true, err
	})
	return states, err
}

// Monitors returns the monitors of an application by id, with what their checks found
// until now. An id asks for that one alone.
func (db *DB) Monitors(ctx context.Context, app svc.AppRef, id string, now time.Time) ([]svc.MonitorRow, error) {
	entities, err := db.LoadUnder(ctx, monitorKind+"/"+app.String()+"/"+id, monitorKind)
	if err != nil {
		return nil, err
	}
	states, err := db.monitorStates(ctx, app, id)
	if err != nil {
		return nil, err
	}
	type counts struct{ checks, up uint64 }
	counted := map[string]counts{}
	args := arguments{"app": app.String(), "monitor": id, "since": now.AddDate(0, 0, -30).Truncate(time.Hour)}
	err = db.read(ctx, "counting checks", db.queries["checks.Uptime"], args, func(rows driver.Rows) (bool, error) {
		var monitor string
		var n counts
		err := rows.Scan(&monitor, &n.checks, &n.up)
		counted[monitor] = n
		return true, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]svc.MonitorRow, 0, len(entities))
	for _, entity := range entities {
		var row svc.MonitorRow
		if err := json.Unmarshal(entity.Payload, &row.Monitor); err != nil {
			return nil, fmt.Errorf("decoding a monitor: %w", err)
		}
		row.MonitorState = states[row.ID]
		row.Checks30d, row.Up30d = counted[row.ID].checks, counted[row.ID].up
		out = append(out, row)
	}
	return out, nil
}

// LoadUnder returns the present entities of a kind of all owners whose names begin with
// a prefix.
func (db *DB) LoadUnder(ctx context.Context, prefix, kind string) ([]svc.Entity, error) {
	return db.entities(ctx, db.queries["entities.LoadUnder"], arguments{"prefix": prefix, "kind": kind})
}

// AllMonitors yields every monitor with its application.
func (db *DB) AllMonitors(ctx context.Context, yield func(svc.AppRef, svc.Monitor)) error {
	entities, err := db.LoadKind(ctx, monitorKind)
	if err != nil {
		return err
	}
	for _, entity := range entities {
		parts := strings.Split(entity.Owner, "/")
		var monitor svc.Monitor
		if err := json.Unmarshal(entity.Payload, &monitor); err != nil || len(parts) != 4 {
			return fmt.Errorf("decoding the monitor %s: %w", entity.Owner, err)
		}
		yield(svc.AppRef{Org: parts[1], App: parts[2]}, monitor)
	}
	return nil
}
