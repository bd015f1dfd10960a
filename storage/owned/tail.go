package owned

import (
	"slices"
	"sync"
	"time"

	"svc/domain"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// tail holds the last version of each thing that counts in the log and may not be in the tables yet.
type tail struct {
	tenantOf func(owner string) string

	mu         sync.Mutex
	partitions []partitionTail
	bytes      int
	tenants    map[string]int // bytes by tenant
}

// partitionTail is the tail of one partition.
type partitionTail struct {
	// at is the position up to which the log was read. moved is the position up to which its records are in the tables
	// and its entries in their ledgers.
	at, moved log.Position
	items     map[string]*item
	// left has the entries without a place in their ledgers, in the order of the log.
	left   []left
	owners map[string]*ownerTail
}

// ownerTail is the part of the tail that belongs to one owner.
type ownerTail struct {
	items map[string]*item // entities by key
	// whole means that items has all saves of the owner from the first one on, so that the tables have nothing more.
	whole bool
}

// item is one thing of the tail.
type item struct {
	key     string
	offset  int64
	version uint64
	size    int
	tenant  string
	record  *state.Record
}

// left is a pending ledger entry, and a position before it from which the log can be read.
type left struct {
	domain.LeftEntry
	from log.Position
	size int
}

// itemBytes is the approximate size of an item without its key and value.
const itemBytes = 400

func newTail(partitions int, tenantOf func(owner string) string) *tail {
	t := &tail{tenantOf: tenantOf, partitions: make([]partitionTail, partitions), tenants: map[string]int{}}
	for p := range t.partitions {
		t.partitions[p] = partitionTail{items: map[string]*item{}, owners: map[string]*ownerTail{}}
	}
	return t
}

// count adds bytes to a tenant's share.
func (t *tail) count(tenant string, bytes int) {
	t.bytes += bytes
	if t.tenants[tenant] += bytes; t.tenants[tenant] == 0 {
		delete(t.tenants, tenant)
	}
}

// tenant returns the tenant of a record.
func (t *tail) tenant(r *state.Record) string {
	switch {
	case len(r.Entities) > 0:
		return t.tenantOf(r.Entities[0].Owner)
	case len(r.Sealed) > 0:
		return t.tenantOf(r.Sealed[0].Owner)
	case len(r.Wakeups) > 0:
		return t.tenantOf(r.Wakeups[0].Kind + "/" + r.Wakeups[0].Identity)
	case r.Audit != nil:
		return r.Audit.Org
	}
	return ""
}

// owner returns the owner of an item's entity, or "" if the item has no entity.
func (i *item) owner() string {
	for _, entities := range [][]domain.Entity{i.record.Entities, i.record.Sealed} {
		if len(entities) > 0 {
			return entities[0].Owner
		}
	}
	return ""
}

// apply adds the entries of a partition before a position. It returns their entities and wake-ups, and the malformed
// entries.
func (t *tail) apply(partition int, entries []log.Entry, at log.Position) (entities []domain.Entity, wakeups []versionedWakeup, broken []log.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.partitions[partition]
	from := p.at
	for _, entry := range entries {
		if entry.Void || entry.Value == nil || isCopy(&entry.Record) {
			continue
		}
		record, version, err := decode(entry.Record)
		if err != nil {
			broken = append(broken, entry)
			continue
		}
		entities = append(entities, record.Entities...)
		for _, w := range record.Wakeups {
			wakeups = append(wakeups, versionedWakeup{w, version})
		}
		size := itemBytes + 2*len(entry.Key) + len(entry.Value)
		switch {
		case entry.Offset < p.moved.Offset:
		case len(record.Left) > 0:
			t.leave(p, left{domain.LeftEntry{Partition: partition, Offset: entry.Offset, Entry: record.Left[0]}, from, size})
		default:
			t.add(p, &item{key: entry.Key, offset: entry.Offset, version: version, size: size, tenant: t.tenant(record), record: record})
		}
	}
	p.at = at
	return entities, wakeups, broken
}

// wakeups returns the wake-ups in the tail of a partition.
func (t *tail) wakeups(partition int) (found []versionedWakeup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range t.partitions[partition].items {
		for _, w := range i.record.Wakeups {
			found = append(found, versionedWakeup{w, i.version})
		}
	}
	return found
}

// leave adds a pending ledger entry unless it is known, which happens after a gap.
func (t *tail) leave(p *partitionTail, one left) {
	for n := range p.left {
		if p.left[n].Entry.ID == one.Entry.ID {
			return
		}
	}
	p.left = append(p.left, one)
	t.count(one.Entry.Org, one.size)
}

// unsealed returns the pending ledger entries of some partitions by organization. They are sorted by time, as far as
// the order of each partition allows.
func (t *tail) unsealed(wanted func(partition int) bool) map[string][]domain.LeftEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string][]domain.LeftEntry{}
	for n := range t.partitions {
		if len(t.partitions[n].left) == 0 || !wanted(n) {
			continue
		}
		latest := map[string]time.Time{}
		for _, one := range t.partitions[n].left {
			// An entry counts as no earlier than its predecessor in the partition.
			org, entry := one.Entry.Org, one.LeftEntry
			if entry.Entry.At.Before(latest[org]) {
				entry.Entry.At = latest[org]
			}
			latest[org] = entry.Entry.At
			out[org] = append(out[org], entry)
		}
	}
	for _, entries := range out {
		slices.SortStableFunc(entries, func(a, b domain.LeftEntry) int { return a.Entry.At.Compare(b.Entry.At) })
	}
	return out
}

// sealed removes entries that now have their places in their ledgers.
func (t *tail) sealed(some []domain.LeftEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := make(map[string]bool, len(some))
	for n := range some {
		gone[some[n].Entry.ID] = true
	}
	for n := range t.partitions {
		if len(t.partitions[n].left) > 0 {
			t.forget(&t.partitions[n], func(one *left) bool { return gone[one.Entry.ID] })
		}
	}
}

// forget removes pending ledger entries.
func (t *tail) forget(p *partitionTail, gone func(one *left) bool) {
	p.left = slices.DeleteFunc(p.left, func(one left) bool {
		if gone(&one) {
			t.count(one.Entry.Org, -one.size)
			return true
		}
		return false
	})
}

// add adds an item unless the tail has a later version.
func (t *tail) add(p *partitionTail, i *item) {
	owner, whole := i.owner(), false
	if known := p.owners[owner]; known != nil {
		whole = known.whole
	} else if len(i.record.Entities) > 0 {
		whole = i.record.Entities[0].Version.Sequence == 1
	}
	if known := p.items[i.key]; known != nil {
		if known.version > i.version {
			return
		}
		t.remove(p, known)
	}
	p.items[i.key] = i
	t.count(i.tenant, i.size)
	if owner == "" {
		return
	}
	if p.owners[owner] == nil {
		p.owners[owner] = &ownerTail{items: map[string]*item{}, whole: whole}
	}
	p.owners[owner].items[i.key] = i
}

// remove removes an item. The rest of its owner's items is then no longer whole.
func (t *tail) remove(p *partitionTail, i *item) {
	delete(p.items, i.key)
	t.count(i.tenant, -i.size)
	if of := p.owners[i.owner()]; of != nil {
		of.whole = false
		if delete(of.items, i.key); len(of.items) == 0 {
			delete(p.owners, i.owner())
		}
	}
}

// drop removes the items that are in the tables, which are all items before a position. It then advances moved, but not
// past a pending ledger entry.
func (t *tail) drop(p *partitionTail, before log.Position) {
	for _, i := range p.items {
		if i.offset < before.Offset {
			t.remove(p, i)
		}
	}
	if len(p.left) > 0 && p.left[0].from.Offset < before.Offset {
		before = p.left[0].from
	}
	if before.Offset > p.moved.Offset {
		p.moved = before
	}
}

// reset makes a partition begin at the start of the log again. Its items stay.
func (t *tail) reset(partition int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.partitions[partition]
	p.at, p.moved = log.Position{}, log.Position{}
	for _, i := range p.items {
		i.offset = 0
	}
}

// waiting is the part of the tail that belongs to an owner.
type waiting struct {
	entities, sealed []domain.Entity
	// whole means that the entities are everything that the owner ever saved.
	whole bool
}

// waiting returns the items of an owner in the tail of a partition.
func (t *tail) waiting(partition int, owner string) (w waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.partitions[partition].owners[owner]
	if of == nil {
		return w
	}
	w.whole = of.whole
	for _, i := range of.items {
		w.entities, w.sealed = append(w.entities, i.record.Entities...), append(w.sealed, i.record.Sealed...)
	}
	return w
}

// collected is the content of the tail at one moment.
type collected struct {
	records []state.Record
	// before has the position of each collected partition, and zero for the others.
	before []log.Position
}

// collect returns the content of the tail of some partitions.
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

// moved drops the collected content, which is now in the tables.
func (t *tail) moved(c collected) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := range c.before {
		t.drop(&t.partitions[n], c.before[n])
	}
}

// dropAll drops the content that owners have marked as moved: everything before the marks, one for each partition.
func (t *tail) dropAll(marks []log.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, mark := range marks {
		p := &t.partitions[n]
		t.forget(p, func(one *left) bool { return one.Offset < mark.Offset })
		t.drop(p, mark)
	}
}

// movedTo returns the position up to which a partition is in the tables.
func (t *tail) movedTo(partition int) log.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.partitions[partition].moved
}

// isEmpty reports whether the tail is empty.
func (t *tail) isEmpty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes == 0
}

// sizes returns the approximate size of the tail in bytes, and the largest share of some tenants.
func (t *tail) sizes(tenants []string) (all, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tenant := range tenants {
		most = max(most, t.tenants[tenant])
	}
	return t.bytes, most
}

// size returns the approximate size of the tail in bytes.
func (t *tail) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}
