package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// Hide excludes the rows of erased visitors from all reads. It replaces the previous set.
func (db *Store) Hide(erasures []person.Erasure) {
	visitors := map[uint64][]string{}
	for _, erasure := range erasures {
		for _, visitor := range erasure.Visitors {
			visitors[erasure.EnvironmentNumber] = append(visitors[erasure.EnvironmentNumber], strconv.FormatUint(visitor, 10))
		}
	}
	conditions := map[string]string{}
	for table, columns := range erasedColumns() {
		var parts []string
		for _, environment := range slices.Sorted(maps.Keys(visitors)) {
			list := strings.Join(visitors[environment], ",")
			for _, column := range columns {
				parts = append(parts, fmt.Sprintf("NOT (environment = %d AND %s IN (%s))", environment, column, list))
			}
		}
		if len(parts) > 0 {
			conditions[table] = strings.Join(parts, " AND ")
		}
	}
	db.conn.Hide(conditions)
	db.keeper.hide(conditions)
}

// erasedColumns returns the columns that hold numbers of visitors, by table.
func erasedColumns() map[string][]string {
	tables := map[string][]string{"issue_users": {"user"}, "links": {"anonymous", "known"}, "aliases": {"low", "high"}}
	for _, table := range []string{"events", "occurrences", "visits", "names", "newcomers", "profiles", "arrivals", "entries", "traits", "roots", "activations", "flag_exposures", "deliveries", "campaign_recipients", "campaign_outcomes"} {
		tables[table] = []string{"visitor"}
	}
	return tables
}

// erasureArgs returns the parameters of the statements of an erasure.
func erasureArgs(erasure person.Erasure) clickhouse.Args {
	return clickhouse.Args{"environment": erasure.EnvironmentNumber, "visitors": erasure.Visitors}
}

// CountErased returns how many events and occurrences of the visitors of an erasure are stored.
func (db *Store) CountErased(ctx context.Context, erasure person.Erasure) (counts person.ErasureCounts, err error) {
	err = db.conn.All().Read(ctx, "counting what is erased", db.queries["erasures.Count"], erasureArgs(erasure), func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&counts.Events, &counts.Occurrences)
	})
	return counts, err
}

// ForgetLetters removes the dead letters that quote words of a person.
func (db *Store) ForgetLetters(ctx context.Context, environment uint64, words []string) error {
	if len(words) == 0 {
		return nil
	}
	letters := []string{}
	args := clickhouse.Args{"environment": environment, "words": words}
	err := db.conn.Home().Read(ctx, "finding dead letters that quote a person", db.queries["erasures.Letters"], args, func(rows driver.Rows) (bool, error) {
		var id string
		err := rows.Scan(&id)
		letters = append(letters, id)
		return true, err
	})
	if err != nil || len(letters) == 0 {
		return err
	}
	return mutate(ctx, db.conn.Home(), db.queries["erasures.RemoveLetters"], clickhouse.Args{"environment": environment, "letters": letters})
}

// ForgetIssues replaces the texts of issues by the texts of other people's occurrences, and removes issues that
// affected no other person. It does so once for each turn of an erasure. Remove subtracts the counts.
func (db *Store) ForgetIssues(ctx context.Context, erasure person.Erasure, turn string) error {
	empty, err := db.numbers(ctx, "finding issues of one person", db.conn.All(), db.queries["erasures.EmptyIssues"], erasureArgs(erasure))
	if err != nil {
		return err
	}
	if err := db.once(ctx, "erasures.SubtractIssues", erasure, turn, false); err != nil || len(empty) == 0 {
		return err
	}
	return mutate(ctx, db.conn, db.queries["erasures.RemoveIssues"], clickhouse.Args{"environment": erasure.EnvironmentNumber, "issues": empty})
}

// Remove removes the rows of the visitors of an erasure and subtracts them from the sums. It may be repeated, and must
// be repeated after a crash: each turn subtracts once.
func (db *Store) Remove(ctx context.Context, erasure person.Erasure, turn string) error {
	splits, err := db.splitsOf(ctx, erasure.EnvironmentNumber, erasure.Visitors...)
	if err != nil {
		return err
	}
	visitors := erasure.Visitors
	for _, visitor := range visitors {
		erasure.Visitors = append(slices.Clone(erasure.Visitors), nodesOf(visitor, splits[visitor])[1:]...)
	}
	for _, query := range []string{"erasures.Subtract", "erasures.SubtractIssues"} {
		if err := db.once(ctx, query, erasure, turn, true); err != nil {
			return err
		}
	}
	if err := mutate(ctx, db.conn.Home(), db.queries["erasures.RemoveDeliveries"], erasureArgs(erasure)); err != nil {
		return err
	}
	if err := mutate(ctx, db.conn, db.queries["erasures.Remove"], erasureArgs(erasure)); err != nil {
		return err
	}
	// Without the roots, other visitors of the same groups lose their ties until Unite finds them again, although
	// aliases still join them. So this comes last.
	if err := db.removeRoots(ctx, erasure); err != nil {
		return err
	}
	for _, query := range []string{"erasures.Untie", "splits.Forget"} {
		if err := mutate(ctx, db.conn, db.queries[query], erasureArgs(erasure)); err != nil {
			return err
		}
	}
	if err := db.Unite(ctx, erasure.EnvironmentNumber); err != nil {
		return err
	}
	return db.removeCounts(ctx, erasure.EnvironmentNumber)
}

// removeRoots removes the roots of all visitors that aliases join to the visitors of an erasure. The roots were
// computed from aliases that the erasure removes (docs/decisions/0027-tie-and-split-ids-by-durable-decisions.md).
func (db *Store) removeRoots(ctx context.Context, erasure person.Erasure) error {
	roots, err := db.numbers(ctx, "finding whom erased visitors stood for", db.conn.All(), db.queries["erasures.Roots"], erasureArgs(erasure))
	if err != nil || len(roots) == 0 {
		return err
	}
	return mutate(ctx, db.conn, db.queries["erasures.RemoveRoots"], clickhouse.Args{"environment": erasure.EnvironmentNumber, "roots": roots})
}

// numbers reads a column of numbers.
func (db *Store) numbers(ctx context.Context, what string, conn *clickhouse.Conn, query string, args clickhouse.Args) (numbers []uint64, err error) {
	err = conn.Read(ctx, what, query, args, func(rows driver.Rows) (bool, error) {
		var number uint64
		err := rows.Scan(&number)
		numbers = append(numbers, number)
		return true, err
	})
	return numbers, err
}

// removeCounts removes the counts of zero of an environment. Their names and paths may identify a person.
func (db *Store) removeCounts(ctx context.Context, environment uint64) error {
	args := clickhouse.Args{"environment": environment}
	digests, err := db.numbers(ctx, "finding counts of nobody", db.conn.All(), db.queries["erasures.Uncounted"], args)
	for some := range slices.Chunk(digests, countsAtOnce) {
		if err == nil {
			err = mutate(ctx, db.conn, db.queries["erasures.RemoveCounts"], args.With(clickhouse.Args{"digests": some}))
		}
	}
	return err
}

// countsAtOnce bounds the names and paths in one statement.
const countsAtOnce = 1000

// ForgetCustomers replaces the customer ids of an erasure in billing items, which retain their amounts. ids are the
// numbers of the ids; the number of a visitor differs from it if the id came back after an erasure. It may be repeated.
func (db *Store) ForgetCustomers(ctx context.Context, erasure person.Erasure, ids []uint64) error {
	args := clickhouse.Args{"environment": erasure.EnvironmentNumber, "ids": ids, "life": erasure.Life, "at": erasure.At.UTC()}
	return mutate(ctx, db.conn, db.queries["erasures.Customers"], args)
}

// Billed reports whether billing names a customer in any item that arrived after an instant.
func (db *Store) Billed(ctx context.Context, environment uint64, customer string, after time.Time) (billed bool, err error) {
	args := clickhouse.Args{"environment": environment, "customer": customer, "at": after.UTC()}
	err = db.conn.Read(ctx, "looking for a customer", db.queries["billing.Names"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&billed)
	})
	return billed, err
}

// once runs the inserts of a query with deduplication tokens of an erasure's turn.
func (db *Store) once(ctx context.Context, query string, erasure person.Erasure, turn string, counted bool) error {
	args := erasureArgs(erasure).With(clickhouse.Args{"counted": counted})
	for i, statement := range strings.Split(db.queries[query], ";\n") {
		token := fmt.Sprintf("%s-%s-%s-%d", erasure.ID, turn, query, i)
		settings := clickhouse.Settings{"insert_deduplication_token": token, "max_partitions_per_insert_block": 0, "max_execution_time": 600}
		err := db.conn.Write(func() error {
			return db.conn.Exec(clickhouse.WithSettings(ctx, settings), statement, args)
		})
		if err != nil {
			return clickhouse.WriteError("subtracting what is erased", err)
		}
	}
	return nil
}

// mutate runs the statements of a query and waits for each.
func mutate(ctx context.Context, conn *clickhouse.Conn, query string, args clickhouse.Args) error {
	for _, statement := range strings.Split(query, ";\n") {
		err := conn.Exec(clickhouse.WithSettings(ctx, clickhouse.Settings{"mutations_sync": 1, "max_execution_time": 3600}), statement, args)
		if err != nil {
			return clickhouse.WriteError("removing what is erased", err)
		}
	}
	return nil
}

// Quoting returns the identities of the conversations and inboxes of an application that quote any of the words.
func (db *Store) Quoting(ctx context.Context, app domain.AppRef, words []string) (conversations, inboxes []string, err error) {
	if len(words) == 0 {
		return nil, nil, nil
	}
	args := clickhouse.Args{"conversations": "conversation/" + app.String() + "/", "inboxes": "desk/" + app.String() + "/", "words": words}
	err = db.conn.Read(ctx, "finding conversations that quote a person", db.queries["erasures.Quoting"], args, func(rows driver.Rows) (bool, error) {
		var owner string
		err := rows.Scan(&owner)
		if identity, ok := strings.CutPrefix(owner, "conversation/"); ok {
			conversations = append(conversations, identity)
		} else if identity, ok := strings.CutPrefix(owner, "desk/"); ok {
			inboxes = append(inboxes, identity)
		}
		return true, err
	})
	return conversations, inboxes, err
}

// QuotingAlerts returns the entities of an application's alert rules that quote any of the words, including incidents.
func (db *Store) QuotingAlerts(ctx context.Context, app domain.AppRef, words []string) (entities []domain.Entity, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	args := clickhouse.Args{"owner": "alerting/" + app.String(), "words": words}
	err = db.conn.Read(ctx, "finding incidents that quote a person", db.queries["erasures.QuotingAlerts"], args, func(rows driver.Rows) (bool, error) {
		entity := domain.Entity{Owner: "alerting/" + app.String()}
		var payload string
		err := rows.Scan(&entity.Kind, &entity.ID, &payload)
		entity.Payload = []byte(payload)
		entities = append(entities, entity)
		return true, err
	})
	return entities, err
}
