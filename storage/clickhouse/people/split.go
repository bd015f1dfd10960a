package people

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// split is a decision of a member to remove an id from a person. If sinceMs is 0, the ties of the id up to atMs are
// undone. Otherwise the events of the id from sinceMs on belong to another number, late.
type split struct {
	atMs, sinceMs int64
	late          uint64
	devices       bool
}

// lateNumber returns the number that the events of an id have after a decision.
func lateNumber(visitor uint64, atMs int64) uint64 {
	var text [16]byte
	binary.LittleEndian.PutUint64(text[:8], visitor)
	binary.LittleEndian.PutUint64(text[8:], uint64(atMs))
	return city.CH64(text[:]) | 1
}

// holding returns the decisions about an id that no later decision undoes. They are in chronological order.
func holding(all []split) (undoneMs int64, holding []split) {
	for _, one := range all {
		if one.late == 0 {
			undoneMs, holding = one.atMs, nil
		} else {
			holding = append(holding, one)
		}
	}
	return undoneMs, holding
}

// nodeAt returns the number by which a tie at an instant names an id, and whether the tie holds.
func nodeAt(visitor uint64, all []split, ms int64) (node uint64, holds bool) {
	undoneMs, later := holding(all)
	node = visitor
	for _, one := range later {
		if one.atMs < ms {
			node = one.late
		}
	}
	return node, undoneMs == 0 || undoneMs < ms
}

// splitsOf returns the decisions about all or some ids of an environment, in chronological order.
func (db *Store) splitsOf(ctx context.Context, environment uint64, visitors ...uint64) (map[uint64][]split, error) {
	found := map[uint64][]split{}
	args := clickhouse.Args{"environment": environment, "only": append([]uint64{}, visitors...)}
	err := db.conn.Read(ctx, "reading which ids were removed from people", db.queries["splits.Of"], args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var one split
		var devices uint8
		err := rows.Scan(&visitor, &one.atMs, &one.sinceMs, &one.late, &devices)
		one.devices = devices == 1
		found[visitor] = append(found[visitor], one)
		return true, err
	})
	return found, err
}

// Tied reports whether an alias or a merge names an id. If so, the ids that were identified as this id stay with it
// when it is removed from a person.
func (db *Store) Tied(ctx context.Context, environment, visitor uint64) (bool, error) {
	all, err := db.splitsOf(ctx, environment, visitor)
	if err != nil {
		return false, err
	}
	nodes := nodesOf(visitor, all[visitor])
	aliases, err := db.aliases(ctx, environment)
	return slices.ContainsFunc(aliases, func(one person.Alias) bool {
		return slices.Contains(nodes, one.Low) || slices.Contains(nodes, one.High)
	}), err
}

// nodesOf returns the numbers by which ties name an id.
func nodesOf(visitor uint64, all []split) []uint64 {
	nodes := []uint64{visitor}
	for _, one := range all {
		if one.late != 0 {
			nodes = append(nodes, one.late)
		}
	}
	return nodes
}

// Split removes an id from its person. When Split returns, the change is durable and every later read shows it. Split
// may be repeated.
func (db *Store) Split(ctx context.Context, environment uint64, decided person.Split) error {
	return db.conn.Change(func() error { return db.split(ctx, environment, decided) })
}

func (db *Store) split(ctx context.Context, environment uint64, decided person.Split) error {
	before, err := db.splitsOf(ctx, environment, decided.Visitor)
	if err != nil {
		return err
	}
	one := split{atMs: decided.At.UnixMilli(), devices: decided.Devices}
	if decided.Since != nil {
		one.sinceMs = max(decided.Since.UnixMilli(), 1)
		one.late = lateNumber(decided.Visitor, one.atMs)
	}
	if err := db.noteSplit(ctx, environment, decided.Visitor, one); err != nil {
		return err
	}
	// Views of inserts that began earlier do not know the decision, so Split waits for their rows.
	_, err = clickhouse.Whole(ctx, db.conn.Of(environment), func(context.Context) (bool, error) { return true, nil })
	if err != nil {
		return err
	}
	nodes := nodesOf(decided.Visitor, before[decided.Visitor])
	args := clickhouse.Args{
		"environment": environment, "visitor": decided.Visitor, "late": one.late, "since": one.sinceMs, "at": one.atMs,
		"nodes": nodes, "devices": one.devices, "visitors": nodes,
	}
	queries := []string{"splits.Mark", "splits.LinksAgain", "splits.AliasesAgain"}
	if one.late == 0 {
		if err := db.undo(ctx, environment, args, one.devices); err != nil {
			return err
		}
		queries = queries[1:]
	}
	err = db.conn.WriteOf(environment, func(conn *clickhouse.Conn) (err error) {
		for _, query := range queries {
			err = errors.Join(err, conn.Exec(ctx, db.queries[query], args))
		}
		return err
	})
	if err != nil {
		return clickhouse.WriteError("removing an id from a person", err)
	}
	return db.Unite(ctx, environment)
}

// noteSplit stores a decision.
func (db *Store) noteSplit(ctx context.Context, environment, visitor uint64, one split) error {
	columns := []clickhouse.Column{
		{Name: "environment", Type: "UInt64"},
		{Name: "visitor", Type: "UInt64"},
		{Name: "at", Type: "Int64"},
		{Name: "since", Type: "Int64"},
		{Name: "late", Type: "UInt64"},
		{Name: "devices", Type: "UInt8"},
	}
	devices := uint8(0)
	if one.devices {
		devices = 1
	}
	return clickhouse.WriteError("noting that an id was removed from a person", db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error {
		var rows clickhouse.Rows
		if err := rows.Append(ctx, conn, db.queries["splits.Append"], columns, environment, visitor, one.atMs, one.sinceMs, one.late, devices); err != nil {
			return err
		}
		return rows.Send()
	}))
}

// undo removes the ties of the numbers of an id.
func (db *Store) undo(ctx context.Context, environment uint64, args clickhouse.Args, devices bool) error {
	if devices {
		err := db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error { return conn.Exec(ctx, db.queries["splits.Devices"], args) })
		if err != nil {
			return clickhouse.WriteError("keeping the devices of an id", err)
		}
	}
	roots, err := db.numbers(ctx, "finding whom an id stood for", db.conn.Of(environment), db.queries["erasures.Roots"], args)
	if err != nil {
		return err
	}
	if err := mutate(ctx, db.conn.Of(environment), db.queries["splits.Undo"], args); err != nil || len(roots) == 0 {
		return err
	}
	return mutate(ctx, db.conn.Of(environment), db.queries["erasures.RemoveRoots"], args.With(clickhouse.Args{"roots": roots}))
}

// splitDecided applies the decisions of members that have no rows yet. Their calls were interrupted. If the tables were
// refilled from the log, it applies all decisions.
func (db *Store) splitDecided(ctx context.Context) error {
	decided := map[uint64][]person.Split{}
	err := db.conn.ReadFirst(ctx, "reading which ids members removed from people", db.queries["splits.Decided"], nil, func(rows driver.Rows) (bool, error) {
		var environment uint64
		var payload string
		if err := rows.Scan(&environment, &payload); err != nil {
			return false, err
		}
		var activity person.Activity
		if err := json.Unmarshal([]byte(payload), &activity); err != nil {
			db.conn.Skipped(domain.Entity{Kind: "activity"}, err)
			return true, nil // one bad entity must not hide the others
		}
		if one, is := activity.Splits(); is {
			decided[environment] = append(decided[environment], one)
		}
		return true, nil
	})
	for environment, all := range decided {
		there, failed := db.splitsOf(ctx, environment)
		err = errors.Join(err, failed)
		slices.SortFunc(all, func(a, b person.Split) int { return a.At.Compare(b.At) })
		for _, one := range all {
			known := slices.ContainsFunc(there[one.Visitor], func(s split) bool { return s.atMs == one.At.UnixMilli() })
			if failed == nil && !known {
				err = errors.Join(err, db.Split(ctx, environment, one))
			}
		}
	}
	return err
}

// nodes returns the numbers by which a tie at an instant names two ids. It also returns whether the tie holds.
func nodes(all map[uint64][]split, one, other uint64, at time.Time) (alias person.Alias, holds bool) {
	a, first := nodeAt(one, all[one], at.UnixMilli())
	b, second := nodeAt(other, all[other], at.UnixMilli())
	return person.Alias{Low: min(a, b), High: max(a, b)}, first && second && a != b
}
