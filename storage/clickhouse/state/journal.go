package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
	"svc/storage/groupcommit"
)

const (
	// flushAfter is how long the newest records stay in the journal when nobody reads their
	// tables.
	flushAfter = time.Second
	// movedAtOnce bounds the records that go to their tables in one insert.
	movedAtOnce = 2000
	// mergedAtOnce bounds the records that a load reads beside its table; where there are
	// more, it flushes the journal.
	mergedAtOnce = 200
	// compactedAfter is the number of removed records after which the journal is rewritten,
	// because a scan still passes those that were removed.
	compactedAfter = 20_000
)

// record is one write of one caller.
type record struct {
	key string // 32 random hexadecimal digits
	// encoded is the record as the journal holds it, where it was read from there.
	encoded []byte
	// holds reports whether the writer still owns what it wrote; nil in a record that was read
	// from the journal.
	holds func() bool

	Entities []svc.Entity `json:",omitempty"`
	Wakeups  []svc.Wakeup `json:",omitempty"`
	// Ledger says that the entities are entries of ledgers.
	Ledger bool          `json:",omitempty"`
	Audit  *svc.AuditRow `json:",omitempty"`
}

// errLost is why a write is not sent.
var errLost = errors.New("the writer has lost what it owns")

// holds returns a check that fails where the writer of a record may have lost what it owns. It
// is made right before the records are sent: after a pause of this node, a successor may have
// read the state without the write.
func holds(records []record) func() error {
	return func() error {
		for i := range records {
			if holds := records[i].holds; holds != nil && !holds() {
				return errLost
			}
		}
		return nil
	}
}

// newKey returns the key of a record.
func newKey() string {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

// journal holds what callers write one by one until it moves to its tables together. A record
// is one row of an engine that appends to a file, where an insert into a table would make a
// part of a dozen files. It is durable, as an insert is, when append returns.
//
// Where writes are forced to disk, so is the file of the journal, if it can be reached; else
// writes go to their tables, and the journal holds what other nodes write.
//
// A read of the journal's tables flushes it first, so that the read finds what was appended
// before; a load of few entities looks into the journal instead. Several nodes may flush at the
// same time, and again after a crash in the middle, because all of these tables keep the row of
// the highest version.
type journal struct {
	tables  *tables
	appends *groupcommit.Committer[record]
	moves   *groupcommit.Committer[struct{}]
	// alone says that no other process writes the journal, so that its counts tell whether
	// it holds anything.
	alone bool
	// open says that this process appends.
	open bool
	// file is forced after an append; nil where nothing is forced.
	file *forcedFile
	// appended counts the inserts that ended, moved how many of them are in their tables for
	// certain. appended begins at one, for what an earlier process may have left.
	appended, moved atomic.Int64
	removed         int // since the last compaction; owned by the running move
	wrote           chan struct{}
	stop            context.CancelFunc
	stopped         chan struct{}
}

// openJournal creates the journal and begins to flush it. It returns nil where the store lacks
// the engine for it.
func openJournal(ctx context.Context, t *tables, cfg Config) (*journal, error) {
	var engines uint64
	err := t.conn.ReadFirst(ctx, "looking for the journal's engine", t.queries["journal.Engines"], nil, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&engines)
	})
	if err != nil || engines == 0 {
		return nil, err
	}
	if err := t.conn.Exec(ctx, t.queries["journal.Create"], nil); err != nil {
		return nil, clickhouse.WriteError("making the journal", err)
	}
	durable := t.conn.Durable()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	j := &journal{tables: t, alone: cfg.Alone, open: !durable || cfg.TableDir != nil, wrote: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{})}
	if durable && j.open {
		uuid, err := t.journalID(ctx)
		if err != nil {
			stop()
			return nil, err
		}
		j.file = &forcedFile{dir: cfg.TableDir(uuid)}
	}
	j.appended.Store(1)
	j.appends, j.moves = groupcommit.New(j.insert), groupcommit.New(j.move)
	go j.run(running)
	return j, nil
}

// append keeps a record; it is durable when append returns nil. After an error it may be
// kept.
func (j *journal) append(ctx context.Context, r record) error {
	return j.appends.Commit(ctx, r)
}

// insert keeps the records of several callers.
func (j *journal) insert(ctx context.Context, records []record) error {
	return j.tables.conn.Write(func() error { return j.insertAll(ctx, records) })
}

func (j *journal) insertAll(ctx context.Context, records []record) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	defer func() { // also after an error: what was sent may be there
		j.appended.Add(1)
		select {
		case j.wrote <- struct{}{}:
		default:
		}
	}()
	var rows clickhouse.Rows
	for i := range records {
		encoded, err := json.Marshal(&records[i])
		if err != nil {
			return errors.Join(fmt.Errorf("encoding a record of the journal: %w", err), rows.Abort())
		}
		if err := rows.Append(ctx, j.tables.conn, j.tables.queries["journal.Append"], journalColumns(), records[i].key, encoded); err != nil {
			return clickhouse.WriteError("writing the journal", err)
		}
	}
	if err := rows.Send(holds(records)); err != nil {
		return clickhouse.WriteError("writing the journal", err)
	}
	return clickhouse.WriteError("forcing the journal to disk", j.file.force())
}

// journalID returns the uuid of the journal's table.
func (t *tables) journalID(ctx context.Context) (uuid string, err error) {
	err = t.conn.ReadFirst(ctx, "finding the journal", t.queries["journal.ID"], nil, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&uuid)
	})
	if err == nil && uuid == "" {
		err = errors.New("finding the journal: it has no uuid")
	}
	return uuid, err
}

// empty reports whether there is nothing to flush, for certain.
func (j *journal) empty() bool {
	return j == nil || j.alone && j.moved.Load() == j.appended.Load()
}

// flush returns once everything that was appended before is in its tables. Callers share it.
func (j *journal) flush(ctx context.Context) error {
	if j.empty() {
		return nil
	}
	return clickhouse.SharedError(j.moves.Commit(ctx, struct{}{}))
}

// waiting returns the entities that may not be in their table yet, by their owners. It
// flushes them where they are many.
func (j *journal) waiting(ctx context.Context) (map[string][]svc.Entity, error) {
	if j.empty() {
		return nil, nil
	}
	records, refused, err := j.read(ctx, mergedAtOnce)
	if err != nil {
		return nil, err
	}
	if len(records)+len(refused) == mergedAtOnce {
		return nil, j.flush(ctx)
	}
	owned := map[string][]svc.Entity{}
	for i := range records {
		if records[i].Ledger {
			continue
		}
		for _, entity := range records[i].Entities {
			owned[entity.Owner] = append(owned[entity.Owner], entity)
		}
	}
	return owned, nil
}

// move moves the records of the journal to their tables.
func (j *journal) move(ctx context.Context, _ []struct{}) error {
	return j.tables.conn.Write(func() error { return j.moveAll(ctx) })
}

// moveAll is move for a caller that keeps other writes, or snapshots, away.
func (j *journal) moveAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	appended := j.appended.Load()
	for more := true; more; {
		records, refused, err := j.read(ctx, movedAtOnce)
		if err != nil {
			return err
		}
		keys := keysOf(records, refused)
		if more = len(keys) == movedAtOnce; len(keys) == 0 {
			break
		}
		some, err := j.moveRecords(ctx, records)
		if err != nil {
			return err
		}
		if err := j.refuse(ctx, append(refused, some...)); err != nil {
			return err
		}
		if err := j.remove(ctx, keys); err != nil {
			return err
		}
	}
	j.moved.Store(appended)
	return nil
}

// keysOf returns the keys of what read returned.
func keysOf(records []record, refused []refusal) []string {
	keys := make([]string, 0, len(records)+len(refused))
	for i := range records {
		keys = append(keys, records[i].key)
	}
	for i := range refused {
		keys = append(keys, refused[i].key)
	}
	return keys
}

// read returns at most limit records, those that cannot be decoded apart.
func (j *journal) read(ctx context.Context, limit int) (records []record, refused []refusal, err error) {
	args := clickhouse.Args{"limit": limit}
	err = j.tables.conn.ReadFirst(ctx, "reading the journal", j.tables.queries["journal.Read"], args, func(rows driver.Rows) (bool, error) {
		var r record
		if err := rows.Scan(&r.key, &r.encoded); err != nil {
			return false, err
		}
		if err := json.Unmarshal(r.encoded, &r); err != nil {
			refused = append(refused, refusal{r.key, r.encoded, fmt.Errorf("decoding a record of the journal: %w", err)})
			return true, nil
		}
		records = append(records, r)
		return true, nil
	})
	return records, refused, err
}

// remove takes records out of the journal.
func (j *journal) remove(ctx context.Context, keys []string) error {
	if err := j.tables.conn.Exec(ctx, j.tables.queries["journal.Remove"], clickhouse.Args{"keys": keys}); err != nil {
		return clickhouse.WriteError("removing records of the journal", err)
	}
	if j.removed += len(keys); j.removed < compactedAfter {
		return nil
	}
	j.removed = 0
	return clickhouse.WriteError("compacting the journal", j.tables.conn.Exec(ctx, j.tables.queries["journal.Compact"], nil))
}

// run flushes the journal some time after each append, until ctx ends.
func (j *journal) run(ctx context.Context) {
	defer close(j.stopped)
	for {
		select {
		case <-j.wrote:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(flushAfter):
		case <-ctx.Done():
			return
		}
		if err := j.moves.Commit(ctx, struct{}{}); err != nil {
			// Readers get the same error; the next round tries again.
			select {
			case j.wrote <- struct{}{}:
			default:
			}
		}
	}
}

// close ends the background flushing and flushes what is left.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.stop()
	<-j.stopped
	return j.flush(context.Background())
}

func journalColumns() []clickhouse.Column {
	return []clickhouse.Column{{Name: "key", Type: "String"}, {Name: "record", Type: "String"}}
}
