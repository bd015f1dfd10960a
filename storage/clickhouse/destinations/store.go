package destinations

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/destination"
	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var files embed.FS

// Store writes and reads the delivery log. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// New returns the delivery store of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}

// logDays is the number of days for which deliveries are listed, unless the application has a shorter retention.
const logDays = 30

// expiry returns the day on which a record expires.
func expiry(record *destination.Dispatch) time.Time {
	days := logDays
	if kept := int(record.Conversion.RetentionDays); kept > 0 {
		days = min(days, kept)
	}
	return record.CreatedAt.UTC().Truncate(24*time.Hour).AddDate(0, 0, days+1)
}

// write stores records. A repetition under the same token changes nothing.
func (db *Store) write(ctx context.Context, token string, records []destination.Dispatch) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token})
	return clickhouse.WriteError("storing deliveries", db.conn.Write(func() error {
		var rows clickhouse.Rows
		for i := range records {
			r := &records[i]
			payload := ""
			if r.Status == destination.DispatchParked {
				encoded, err := json.Marshal(r.Conversion)
				if err != nil {
					return fmt.Errorf("encoding a conversion: %w", err)
				}
				payload = string(encoded)
			}
			next := r.NextAt
			if next.IsZero() {
				next = time.Unix(0, 0)
			}
			err := rows.Append(ctx, db.conn, db.queries["deliveries.Append"], deliveryColumns(),
				r.App.String(), r.DestinationID, r.CreatedAt, r.ID, r.At, r.Conversion.EnvironmentNumber, r.Conversion.Visitor, r.EventID, r.EventName, r.SourceEvent,
				string(r.Status), uint16(r.Attempts), next, uint16(r.StatusCode), uint32(r.Latency/time.Millisecond), r.Test, r.Error, r.Request, r.Response, payload, expiry(r))
			if err != nil {
				return err
			}
		}
		return rows.Send()
	}))
}

func deliveryColumns() []clickhouse.Column {
	const word, instant = "LowCardinality(String)", "DateTime64(3, 'UTC')"
	return []clickhouse.Column{
		{Name: "app", Type: word},
		{Name: "destination", Type: word},
		{Name: "created", Type: instant},
		{Name: "id", Type: "String"},
		{Name: "at", Type: instant},
		{Name: "environment", Type: "UInt64"},
		{Name: "visitor", Type: "UInt64"},
		{Name: "event_id", Type: "String"},
		{Name: "event", Type: word},
		{Name: "source_event", Type: word},
		{Name: "status", Type: word},
		{Name: "attempts", Type: "UInt16"},
		{Name: "next", Type: instant},
		{Name: "code", Type: "UInt16"},
		{Name: "latency", Type: "UInt32"},
		{Name: "test", Type: "Bool"},
		{Name: "error", Type: "String"},
		{Name: "request", Type: "String"},
		{Name: "response", Type: "String"},
		{Name: "payload", Type: "String"},
		{Name: "expires", Type: "Date"},
	}
}

// Dispatches returns a page of the deliveries of a destination, newest first.
func (db *Store) Dispatches(ctx context.Context, q destination.DispatchQuery) ([]destination.Dispatch, error) {
	args := clickhouse.Args{
		"app": q.App.String(), "destination": q.DestinationID, "status": string(q.Status), "id": q.ID, "limit": uint32(q.Limit),
		"first_page": q.Before == nil, "before": time.Time{}, "before_id": "",
	}
	if q.Before != nil {
		args["before"], args["before_id"] = time.UnixMilli(q.Before.CreatedMs).UTC(), q.Before.ID
	}
	return db.read(ctx, "deliveries.List", q.App, q.DestinationID, args)
}

// Parked returns parked deliveries with their conversions, oldest first, from a position on. If id is set, it returns
// only that delivery.
func (db *Store) Parked(ctx context.Context, ref domain.AppRef, d, id string, after *destination.DispatchKey, limit int) ([]destination.Dispatch, error) {
	args := clickhouse.Args{
		"app": ref.String(), "destination": d, "id": id, "limit": uint32(limit), "since": time.Now().Add(-destination.ParkedFor).UTC(),
		"first_page": after == nil, "after": time.Time{}, "after_id": "",
	}
	if after != nil {
		args["after"], args["after_id"] = time.UnixMilli(after.CreatedMs).UTC(), after.ID
	}
	return db.read(ctx, "deliveries.Parked", ref, d, args)
}

// read reads records. Records without a payload have no conversion.
func (db *Store) read(ctx context.Context, query string, ref domain.AppRef, d string, args clickhouse.Args) (records []destination.Dispatch, err error) {
	err = db.conn.Read(ctx, "reading deliveries", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		r := destination.Dispatch{App: ref, DestinationID: d}
		var status, payload string
		var attempts, code uint16
		var latency uint32
		err := rows.Scan(&r.ID, &r.CreatedAt, &r.At, &r.EventID, &r.EventName, &r.SourceEvent, &status, &attempts, &r.NextAt, &code, &latency, &r.Test, &r.Error, &r.Request, &r.Response, &payload)
		if err != nil {
			return false, err
		}
		r.Status, r.Attempts, r.StatusCode, r.Latency = destination.DispatchStatus(status), int(attempts), int(code), time.Duration(latency)*time.Millisecond
		if r.NextAt.Unix() <= 0 {
			r.NextAt = time.Time{}
		}
		if payload != "" {
			r.Conversion = &destination.Conversion{}
			if err := json.Unmarshal([]byte(payload), r.Conversion); err != nil {
				return false, fmt.Errorf("reading a parked conversion: %w", err)
			}
		}
		records = append(records, r)
		return true, nil
	})
	return records, err
}
