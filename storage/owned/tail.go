package owned

import (
	"sync"

	"svc"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// tail holds what counts in the log and may not be in the tables yet: of each thing the last
// version.
type tail struct {
	mu         sync.Mutex
	partitions []partitionTail
	bytes      int
}

// partitionTail is the tail of one partition.
type partitionTail struct {
	// at is the place up to which the log is known, moved that up to which it is in the tables.
	at, moved log.Position
	// news says that there were items since the last mark.
	items map[string]*item
	// owners finds the entities of an owner by their keys.
	owners map[string]map[string]*item
}

// item is one thing of the tail.
type item struct {
	key     string
	offset  int64
	version uint64
	size    int
	record  *state.Record
}

// itemBytes is about what an item takes beside its key and value.
const itemBytes = 400

func newTail(partitions int) *tail {
	t := &tail{partitions: make([]partitionTail, partitions)}
	for p := range t.partitions {
		t.partitions[p] = partitionTail{items: map[string]*item{}, owners: map[string]map[string]*item{}}
	}
	return t
}

// owner returns the owner of the entity of an item, empty where it is none that actors load.
func (i *item) owner() string {
	if i.record.Ledger || len(i.record.Entities) == 0 {
		return ""
	}
	return i.record.Entities[0].Owner
}

// apply adds the entries of a partition before a position. It returns the entities among them
// and what was malformed.
func (t *tail) apply(partition int, entries []log.Entry, at log.Position) (entities []svc.Entity, broken []log.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.partitions[partition]
	for _, entry := range entries {
		if entry.Void || entry.Value == nil {
			continue
		}
		record, version, err := decode(entry.Record)
		if err != nil {
			broken = append(broken, entry)
			continue
		}
		if !record.Ledger {
			entities = append(entities, record.Entities...)
		}
		if entry.Offset >= p.moved.Offset {
			t.add(p, &item{key: entry.Key, offset: entry.Offset, version: version, size: itemBytes + 2*len(entry.Key) + len(entry.Value), record: record})
		}
	}
	p.at = at
	return entities, broken
}

// add adds an item, unless a later version is there.
func (t *tail) add(p *partitionTail, i *item) {
	if known := p.items[i.key]; known != nil {
		if known.version > i.version {
			return
		}
		t.remove(p, known)
	}
	p.items[i.key] = i
	t.bytes += i.size
	if owner := i.owner(); owner != "" {
		if p.owners[owner] == nil {
			p.owners[owner] = map[string]*item{}
		}
		p.owners[owner][i.key] = i
	}
}

func (t *tail) remove(p *partitionTail, i *item) {
	delete(p.items, i.key)
	t.bytes -= i.size
	if owner := i.owner(); owner != "" {
		if delete(p.owners[owner], i.key); len(p.owners[owner]) == 0 {
			delete(p.owners, owner)
		}
	}
}

// drop removes what is in the tables: all before a place.
func (t *tail) drop(p *partitionTail, before log.Position) {
	if before.Offset <= p.moved.Offset {
		return
	}
	p.moved = before
	for _, i := range p.items {
		if i.offset < before.Offset {
			t.remove(p, i)
		}
	}
}

// reset has a partition begin with the start of the log again. What it held stays.
func (t *tail) reset(partition int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.partitions[partition]
	p.at, p.moved = log.Position{}, log.Position{}
	for _, i := range p.items {
		i.offset = 0
	}
}

// waiting returns the entities of an owner in the tail of its partition.
func (t *tail) waiting(partition int, owner string) (entities []svc.Entity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range t.partitions[partition].owners[owner] {
		entities = append(entities, i.record.Entities...)
	}
	return entities
}

// collected is the content of the tail at one moment.
type collected struct {
	records []state.Record
	// before are the places up to which it holds the partitions; zero for those left out.
	before []log.Position
}

// collect returns what the tail holds of some partitions.
func (t *tail) collect(wanted func(partition int) bool) collected {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := collected{before: make([]log.Position, len(t.partitions))}
	for n := range t.partitions {
		p := &t.partitions[n]
		if !wanted(n) {
			continue
		}
		c.before[n] = p.at
		for _, i := range p.items {
			c.records = append(c.records, *i.record)
		}
	}
	return c
}

// moved notes that what was collected is in the tables.
func (t *tail) moved(c collected) { t.dropAll(c.before) }

// dropAll removes what is in the tables: all before some places, one for each partition.
func (t *tail) dropAll(before []log.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := range before {
		t.drop(&t.partitions[n], before[n])
	}
}

// movedTo returns the place up to which a partition is in the tables.
func (t *tail) movedTo(partition int) log.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.partitions[partition].moved
}

// isEmpty reports whether it holds nothing.
func (t *tail) isEmpty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes == 0
}

// size returns about how many bytes the tail takes.
func (t *tail) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}
