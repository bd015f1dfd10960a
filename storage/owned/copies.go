package owned

import (
	"slices"
	"sync"

	"svc/domain"
	"svc/storage/lru"
)

// copyBytes limits the memory of the copies of a node, in bytes.
const copyBytes = 64 << 20

// entityBytes is the approximate size of a cached entity without its texts.
const entityBytes = 200

// copies caches recently loaded entities and applies later changes from the log to them. An actor that was in memory
// before can then be loaded again without the store.
type copies struct {
	kept *lru.Cache[string, *copied]

	mu sync.Mutex
	// loading has the loads under way, by owner; guarded by mu.
	loading map[string]*load
}

// copied is the last version of every entity of an owner, except entities of the kinds in without.
type copied struct {
	without  []string
	entities map[[2]string]domain.Entity // by kind and id; guarded by the mutex of the copies
	bytes    int
}

// load is a load under way.
type load struct {
	callers int
	// changed means that an entity of the owner changed since the load began, so that the load may lack the change.
	changed bool
}

func newCopies(limit int) *copies {
	return &copies{kept: lru.New[string, *copied](limit), loading: map[string]*load{}}
}

// get returns the copy of an owner. Without a copy it records that a load begins; the caller must end the load with
// put.
func (c *copies) get(owner string, without []string) (entities []domain.Entity, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one, kept := c.kept.Get(owner); kept && slices.Equal(one.without, without) {
		for _, entity := range one.entities {
			entities = append(entities, entity)
		}
		return entities, true
	}
	if c.loading[owner] == nil {
		c.loading[owner] = &load{}
	}
	c.loading[owner].callers++
	return nil, false
}

// put ends a load. It caches the result unless the load failed or found nothing, or the owner changed meanwhile.
func (c *copies) put(owner string, without []string, found []domain.Entity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	under := c.loading[owner]
	if under.callers--; under.callers == 0 {
		delete(c.loading, owner)
	}
	if under.changed || len(found) == 0 {
		return
	}
	one := &copied{without: without, entities: make(map[[2]string]domain.Entity, len(found))}
	for n := range found {
		one.set(&found[n])
	}
	c.kept.Put(owner, one, one.bytes)
}

// note applies changed entities to the copies of their owners.
func (c *copies) note(entities []domain.Entity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range entities {
		e := &entities[n]
		if under := c.loading[e.Owner]; under != nil {
			under.changed = true
		}
		if one, kept := c.kept.Get(e.Owner); kept && !slices.Contains(one.without, e.Kind) && one.set(e) {
			c.kept.Put(e.Owner, one, one.bytes)
		}
	}
}

// forget drops the copies of the owners that named selects. Loads under way will not be cached.
func (c *copies) forget(named func(owner string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, under := range c.loading {
		under.changed = true
	}
	c.kept.Drop(named)
}

// set stores an entity unless a later version is stored. It reports whether it did.
func (c *copied) set(e *domain.Entity) bool {
	key := [2]string{e.Kind, e.ID}
	known, there := c.entities[key]
	if there {
		if known.Version.Number() > e.Version.Number() {
			return false
		}
		c.bytes -= bytesOf(&known)
	}
	c.entities[key] = *e
	c.bytes += bytesOf(e)
	return true
}

func bytesOf(e *domain.Entity) int {
	return entityBytes + len(e.Owner) + len(e.Kind) + len(e.ID) + len(e.Payload)
}
