package campaigns

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-faster/city"

	"svc/domain/campaign"
	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var files embed.FS

// Store stores recipients and outcomes. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// New returns the campaign store of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}

// expiry returns the day on which the rows of a campaign expire.
func expiry(campaign *campaign.Mailing) time.Time {
	return campaign.StartedAt.UTC().Truncate(24*time.Hour).AddDate(0, 0, campaign.RetentionDays+1)
}

// insert runs an insert under a token.
func (db *Store) insert(ctx context.Context, what, token string, add func(ctx context.Context, rows *clickhouse.Rows, conn *clickhouse.Conn) error, environment uint64) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token})
	return clickhouse.WriteError(what, db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error {
		var rows clickhouse.Rows
		if err := add(ctx, &rows, conn); err != nil {
			return err
		}
		return rows.Send()
	}))
}

// AppendRecipients adds a page of an audience.
func (db *Store) AppendRecipients(ctx context.Context, campaign *campaign.Mailing, batch uint64, recipients []campaign.Recipient) error {
	token := fmt.Sprintf("recipients-%s-%d", campaign.ID, batch)
	return db.insert(ctx, "storing recipients", token, func(ctx context.Context, rows *clickhouse.Rows, conn *clickhouse.Conn) error {
		for i := range recipients {
			r := &recipients[i]
			err := rows.Append(ctx, conn, db.queries["recipients.Append"], recipientColumns(),
				campaign.EnvironmentNumber, campaign.ID, r.Number, batch, campaign.StartedAt, r.Visitor, r.Address, city.CH64([]byte(r.Address)), r.Name, expiry(campaign))
			if err != nil {
				return err
			}
		}
		return nil
	}, campaign.EnvironmentNumber)
}

func recipientColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "environment", Type: "UInt64"},
		{Name: "campaign", Type: "LowCardinality(String)"},
		{Name: "number", Type: "UInt32"},
		{Name: "batch", Type: "UInt64"},
		{Name: "started", Type: "DateTime64(3, 'UTC')"},
		{Name: "visitor", Type: "UInt64"},
		{Name: "address", Type: "String"},
		{Name: "hash", Type: "UInt64"},
		{Name: "name", Type: "String"},
		{Name: "expires", Type: "Date"},
	}
}

// Recipients returns recipients in the order of their numbers, from a number on. duplicates has the recipients with the
// address of an earlier one. Only rows of the given pages count.
func (db *Store) Recipients(ctx context.Context, c *campaign.Mailing, batches []uint64, first uint32, count int) (recipients []campaign.Recipient, duplicates map[uint32]bool, err error) {
	args := clickhouse.Args{"environment": c.EnvironmentNumber, "campaign": c.ID, "batches": batches, "first": first, "end": first + uint32(count)}
	duplicates = map[uint32]bool{}
	err = db.conn.Read(ctx, "reading recipients", db.queries["recipients.List"], args, func(rows driver.Rows) (bool, error) {
		var r campaign.Recipient
		var earliest uint32
		err := rows.Scan(&r.Number, &r.Visitor, &r.Address, &r.Name, &earliest)
		recipients = append(recipients, r)
		if earliest < r.Number {
			duplicates[r.Number] = true
		}
		return true, err
	})
	return recipients, duplicates, err
}

// AppendOutcomes adds outcomes of recipients. A repetition with the same first number changes nothing.
func (db *Store) AppendOutcomes(ctx context.Context, campaign *campaign.Mailing, outcomes []campaign.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	token := fmt.Sprintf("outcomes-%s-%d", campaign.ID, outcomes[0].Number)
	return db.insert(ctx, "storing what became of recipients", token, func(ctx context.Context, rows *clickhouse.Rows, conn *clickhouse.Conn) error {
		for i := range outcomes {
			o := &outcomes[i]
			err := rows.Append(ctx, conn, db.queries["outcomes.Append"], outcomeColumns(),
				campaign.EnvironmentNumber, o.Visitor, campaign.ID, campaign.Name, o.Number, campaign.StartedAt, o.At, o.Fate.Word(), o.Detail, expiry(campaign))
			if err != nil {
				return err
			}
		}
		return nil
	}, campaign.EnvironmentNumber)
}

func outcomeColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "environment", Type: "UInt64"},
		{Name: "visitor", Type: "UInt64"},
		{Name: "campaign", Type: "LowCardinality(String)"},
		{Name: "title", Type: "LowCardinality(String)"},
		{Name: "number", Type: "UInt32"},
		{Name: "started", Type: "DateTime64(3, 'UTC')"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "fate", Type: "LowCardinality(String)"},
		{Name: "detail", Type: "String"},
		{Name: "expires", Type: "Date"},
	}
}
