package clickhouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

const (
	// settleTime is how long what was written last stays in the journal alone, when
	// nobody asks for its tables.
	settleTime = time.Second
	// settledAtOnce bounds the records that go to their tables in one insert.
	settledAtOnce = 2000
	// mergedAtOnce bounds the records that a load reads beside its table; where there are
	// more, it settles them.
	mergedAtOnce = 200
	// compactedAfter is the number of removed records behind which the journal is
	// rewritten, since a scan passes by all that were removed.
	compactedAfter = 20_000
)

// record is what one caller wrote, in full.
type record struct {
	key string // 32 hexadecimal digits from chance
	// encoded is the record in the journal, where it was read from there.
	encoded []byte
	// holds says whether its writer still owns what it wrote; nil for one that is settled.
	holds func() bool

	Entities []svc.Entity `json:",omitempty"`
	Wakeups  []svc.Wakeup `json:",omitempty"`
	// Ledger says that the entities are entries of ledgers.
	Ledger bool          `json:",omitempty"`
	Audit  *svc.AuditRow `json:",omitempty"`
}

// errLost is why a write is not sent.
var errLost = errors.New("the writer has lost what it owns")

// held fails where the writer of a record may have lost what it owns. It is asked right before
// the records are sent: behind the time that a node stood still, its successor has read the
// state without the write.
func held(records []record) error {
	for i := range records {
		if holds := records[i].holds; holds != nil && !holds() {
			return errLost
		}
	}
	return nil
}

// newKey returns the key of a record.
func newKey() string {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

// journal keeps what callers write one by one until it goes to its tables together. A
// record is one row of an engine that appends to a file, where an insert into a table
// makes a part of a dozen files. It is durable, as an insert is, when append returns.
//
// Where writes are forced to disk, so is the file of the journal, if it can be reached; else
// writes go to their tables, and the journal holds what other nodes write.
//
// Whoever reads the tables of the journal settles it before: what was appended then is in
// the tables. A load of few entities looks into the journal instead. Settling may be done by several nodes at once, and again after a crash in
// the middle, for all of these tables keep the row of the highest version.
type journal struct {
	db      *DB
	appends *committer[record]
	moves   *committer[struct{}]
	// alone says that nobody else writes the journal, so that its counts tell whether
	// there is anything to settle.
	alone bool
	// open says that this process appends.
	open bool
	// file is what is forced behind an append; nil where nothing is.
	file *forcedFile
	// appended counts the inserts that ended, settled how many of them are in their tables
	// for certain. It begins behind, for what an earlier process left.
	appended, settled atomic.Int64
	removed           int // since the last compaction; owned by the one who moves
	wrote             chan struct{}
	stop              context.CancelFunc
	stopped           chan struct{}
}

// openJournal makes the journal and begins to settle it. There is none where the store
// lacks the engine for it.
func (db *DB) openJournal(ctx context.Context, cfg *Config) error {
	var engines uint64
	err := db.readFirst(ctx, "looking for the journal's engine", db.queries["journal.Engines"], nil, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&engines)
	})
	if err != nil || engines == 0 {
		return err
	}
	if err := db.conn.Exec(ctx, db.queries["journal.Create"]); err != nil {
		return writeError("making the journal", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	j := &journal{db: db, alone: cfg.Alone, open: !cfg.Durable || cfg.TableDir != nil, wrote: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{})}
	if cfg.Durable && j.open {
		uuid, err := db.journalID(ctx)
		if err != nil {
			stop()
			return err
		}
		j.file = &forcedFile{dir: cfg.TableDir(uuid)}
	}
	j.appended.Store(1)
	j.appends, j.moves = newCommitter(j.insert), newCommitter(j.move)
	db.journal = j
	go j.run(running)
	return nil
}

// append keeps a record; it is durable when append returns nil. After an error it may be
// kept.
func (j *journal) append(ctx context.Context, r record) error {
	return j.appends.commit(ctx, r)
}

// insert keeps the records of several callers.
func (j *journal) insert(ctx context.Context, records []record) error {
	j.db.writes.RLock()
	defer j.db.writes.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	defer func() { // also after an error: what was sent may be there
		j.appended.Add(1)
		select {
		case j.wrote <- struct{}{}:
		default:
		}
	}()
	batch, err := j.db.batch(ctx, "journal.Append", journalColumns())
	if err != nil {
		return writeError("writing the journal", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for i := range records {
		encoded, err := json.Marshal(&records[i])
		if err != nil {
			return fmt.Errorf("encoding a record of the journal: %w", err)
		}
		if err := batch.Append(records[i].key, encoded); err != nil {
			return writeError("writing the journal", err)
		}
	}
	if err := held(records); err != nil {
		return writeError("writing the journal", err)
	}
	if err := batch.Send(); err != nil {
		return writeError("writing the journal", err)
	}
	return writeError("forcing the journal to disk", j.file.force())
}

// journalID returns the uuid of the journal's table.
func (db *DB) journalID(ctx context.Context) (uuid string, err error) {
	err = db.readFirst(ctx, "finding the journal", db.queries["journal.ID"], nil, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&uuid)
	})
	if err == nil && uuid == "" {
		err = errors.New("finding the journal: it has no uuid")
	}
	return uuid, err
}

// empty says that there is nothing to settle, for certain.
func (j *journal) empty() bool {
	return j == nil || j.alone && j.settled.Load() == j.appended.Load()
}

// settle returns once everything that was appended before is in its tables.
func (j *journal) settle(ctx context.Context) error {
	if j.empty() {
		return nil
	}
	return j.moves.commit(ctx, struct{}{})
}

// waiting returns the entities that may not be in their table yet, by their owners. It
// settles them where they are many.
func (j *journal) waiting(ctx context.Context) (map[string][]svc.Entity, error) {
	if j.empty() {
		return nil, nil
	}
	records, refused, err := j.read(ctx, mergedAtOnce)
	if err != nil {
		return nil, err
	}
	if len(records)+len(refused) == mergedAtOnce {
		return nil, j.settle(ctx)
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

// move brings the records of the journal to their tables and removes them.
func (j *journal) move(ctx context.Context, _ []struct{}) error {
	j.db.writes.RLock()
	defer j.db.writes.RUnlock()
	return j.moveAll(ctx)
}

// moveAll is move for who holds the writes of the process.
func (j *journal) moveAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	appended := j.appended.Load()
	for more := true; more; {
		records, refused, err := j.read(ctx, settledAtOnce)
		if err != nil {
			return err
		}
		keys := keysOf(records, refused)
		if more = len(keys) == settledAtOnce; len(keys) == 0 {
			break
		}
		some, err := j.settleRecords(ctx, records)
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
	j.settled.Store(appended)
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

// read returns records, at most limit, and apart those that cannot be decoded.
func (j *journal) read(ctx context.Context, limit int) (records []record, refused []refusal, err error) {
	args := arguments{"limit": limit}
	err = j.db.readFirst(ctx, "reading the journal", j.db.queries["journal.Read"], args, func(rows driver.Rows) (bool, error) {
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
	if err := j.db.conn.Exec(ctx, j.db.queries["journal.Remove"], clickhouse.Named("keys", keys)); err != nil {
		return writeError("removing records of the journal", err)
	}
	if j.removed += len(keys); j.removed < compactedAfter {
		return nil
	}
	j.removed = 0
	return writeError("compacting the journal", j.db.conn.Exec(ctx, j.db.queries["journal.Compact"]))
}

// run settles what was appended a while ago, until ctx ends.
func (j *journal) run(ctx context.Context) {
	defer close(j.stopped)
	for {
		select {
		case <-j.wrote:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return
		}
		if err := j.moves.commit(ctx, struct{}{}); err != nil {
			// Readers meet the same error and are told; it is tried again.
			select {
			case j.wrote <- struct{}{}:
			default:
			}
		}
	}
}

// close ends the settling, the last time with nothing left.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.stop()
	<-j.stopped
	return j.settle(context.Background())
}

// readsJournal says whether a query reads a table whose rows come through the journal.
func readsJournal(query string) bool {
	before := ""
	for word := range strings.FieldsSeq(query) {
		if before == "FROM" {
			switch word {
			case "entities", "wakeups", "ledger", "audit_rows":
				return true
			}
		}
		before = word
	}
	return false
}

func journalColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{{Name: "key", Type: "String"}, {Name: "record", Type: "String"}}
}
