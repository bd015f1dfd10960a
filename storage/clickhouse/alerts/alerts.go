package alerts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/alert"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/state"
)

// Alerting stores the state of alerting actors. An actor does not load its incidents and the outcomes of its notices,
// because the states of its rules hold the latest incident of each.
type Alerting struct{ *state.Store }

// Alerting returns the store of alerting actors.
func (db *Store) Alerting() Alerting { return Alerting{db.state} }

// Load returns the last version of every entity of an owner, without incidents and notices.
func (a Alerting) Load(ctx context.Context, owner string) ([]domain.Entity, error) {
	return a.LoadWithout(ctx, owner, "incident", "notice")
}

// Incidents returns a page of incidents, and reports whether more follow.
func (db *Store) Incidents(ctx context.Context, q alert.IncidentQuery) (out []alert.Incident, more bool, err error) {
	args := clickhouse.Args{
		"owner": "alerting/" + q.App.String(), "search": string(q.Status), "environment": q.Environment, "name": q.Before, "limit": q.Limit + 1,
	}
	err = db.conn.Read(ctx, "listing incidents", db.queries["incidents.List"], args, func(rows driver.Rows) (bool, error) {
		var payload []byte
		if err := rows.Scan(&payload); err != nil {
			return false, err
		}
		var incident alert.Incident
		if err := json.Unmarshal(payload, &incident); err != nil {
			db.conn.Skipped(domain.Entity{Owner: "alerting/" + q.App.String(), Kind: "incident"}, err)
			return true, nil
		}
		out = append(out, incident)
		return true, nil
	})
	if len(out) > q.Limit {
		return out[:q.Limit], true, err
	}
	return out, false, err
}

// ErrorVolumes counts the errors of an environment in a window by level.
func (db *Store) ErrorVolumes(ctx context.Context, environment uint64, from, to time.Time) (map[string]uint64, error) {
	args, out := clickhouse.Args{"environment": environment, "since": from, "until": to}, map[string]uint64{}
	err := db.conn.ReadFirst(ctx, "counting errors for alerts", db.queries["alerts.Errors"], args, func(rows driver.Rows) (bool, error) {
		var word string
		var found uint64
		err := rows.Scan(&word, &found)
		out[word] += found
		return true, err
	})
	return out, err
}

// SessionVolume counts the sessions of an environment with any event in a window, without bots.
func (db *Store) SessionVolume(ctx context.Context, environment uint64, from, to time.Time) (sessions uint64, err error) {
	args := clickhouse.Args{"environment": environment, "since": from, "until": to}
	err = db.conn.ReadFirst(ctx, "counting sessions for alerts", db.queries["alerts.Sessions"], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&sessions)
	})
	return sessions, err
}
