package clickhouse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"svc/domain"
)

// places lists the environments on another shard than the one of their number. All forms of a connection share it.
type places struct {
	// moved has the shards of the moved environments.
	moved atomic.Pointer[map[uint64]int]
	// noting is held while moved is replaced.
	noting sync.Mutex
	// rows is read-locked while rows of environments are written outside of blocks, and locked while an environment
	// changes its place.
	rows sync.RWMutex
	// changes is read-locked while stored rows are changed or removed, and locked while the rows of an environment are
	// copied.
	changes sync.RWMutex
}

// Place sets the shard of an environment, on this connection and all of its forms.
func (c *Conn) Place(environment uint64, shard int) {
	c.places.noting.Lock()
	defer c.places.noting.Unlock()
	moved := maps.Clone(c.places.all())
	if moved == nil {
		moved = map[uint64]int{}
	}
	moved[environment] = shard
	c.places.moved.Store(&moved)
}

// all returns the moved environments with their shards. The caller must not change the map.
func (p *places) all() map[uint64]int {
	if moved := p.moved.Load(); moved != nil {
		return *moved
	}
	return nil
}

// WriteOf writes rows of an environment, in one or several tables, on the connection of its shard. It waits while an
// environment changes its place.
func (c *Conn) WriteOf(environment uint64, write func(c *Conn) error) error {
	c.places.rows.RLock()
	defer c.places.rows.RUnlock()
	return c.Write(func() error { return write(c.Of(environment)) })
}

// SplitWrite is [Split] for writes. They wait while an environment changes its place.
func SplitWrite[T any](c *Conn, items []T, of func(T) uint64, write func(c *Conn, items []T) error) error {
	c.places.rows.RLock()
	defer c.places.rows.RUnlock()
	return Split(c, items, of, func(c *Conn, items []T) error {
		return c.Write(func() error { return write(c, items) })
	})
}

// Change runs a function that changes or removes stored rows, without a time limit. It waits while an environment is
// copied to another shard, so that the copied rows do not change.
func (c *Conn) Change(change func() error) error {
	c.places.changes.RLock()
	defer c.places.changes.RUnlock()
	return change()
}

// WithoutChanges runs a function while no stored row of any environment is changed. Rows may be added.
func (c *Conn) WithoutChanges(run func() error) error {
	c.places.changes.Lock()
	defer c.places.changes.Unlock()
	return run()
}

// WithoutRows runs a function while only blocks write rows of environments.
func (c *Conn) WithoutRows(run func() error) error {
	c.places.rows.Lock()
	defer c.places.rows.Unlock()
	return run()
}

// homeOf is the engine's expression for the shard of an environment's number; see [domain.ShardOf].
const homeOf = "if(environment % 2 = 1, 0, bitAnd(bitShiftRight(environment, 1), 63))"

// HomedOn returns the connections to the rows of the environments with numbers that select a shard, for reads of some
// tables. These are the connection to that shard, and the connections to the shards of the moved ones.
func (c *Conn) HomedOn(home int, tables ...string) []*Conn {
	if c.shards == nil {
		return []*Conn{c}
	}
	elsewhere := map[int][]string{}
	var away []string
	for environment, shard := range c.places.all() {
		if domain.ShardOf(environment) == home && shard != home {
			number := strconv.FormatUint(environment, 10)
			elsewhere[shard], away = append(elsewhere[shard], number), append(away, number)
		}
	}
	condition := fmt.Sprintf("%s = %d", homeOf, home)
	if len(away) > 0 {
		slices.Sort(away)
		condition += " AND environment NOT IN (" + strings.Join(away, ",") + ")"
	}
	conns := []*Conn{c.at(home).only(condition, tables)}
	for _, shard := range slices.Sorted(maps.Keys(elsewhere)) {
		slices.Sort(elsewhere[shard])
		conns = append(conns, c.at(shard).only("environment IN ("+strings.Join(elsewhere[shard], ",")+")", tables))
	}
	return conns
}

// only returns the connection for reads of some tables, limited to the rows that meet a condition.
func (c *Conn) only(condition string, tables []string) *Conn {
	limited := *c
	limited.limits = map[string]string{}
	for _, table := range tables {
		limited.limits[table] = condition
	}
	return &limited
}

// filters returns the conditions for readable rows, by table, as a map literal of the engine. It is empty without
// conditions.
func (c *Conn) filters() string {
	hidden := c.hidden.Load()
	if hidden == nil || c.all {
		hidden = &hiddenRows{}
	}
	if c.limits == nil {
		return hidden.text
	}
	conditions := maps.Clone(c.limits)
	for table, condition := range hidden.conditions {
		if limit, limited := conditions[table]; limited {
			condition = "(" + condition + ") AND (" + limit + ")"
		}
		conditions[table] = condition
	}
	return filterMap(conditions)
}

// hiddenRows has conditions for readable rows, by table and as a map literal of the engine.
type hiddenRows struct {
	conditions map[string]string
	text       string
}

// filterMap returns conditions by table as a map literal of the engine.
func filterMap(conditions map[string]string) string {
	var text strings.Builder
	for i, table := range slices.Sorted(maps.Keys(conditions)) {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "'%s': '%s'", table, strings.ReplaceAll(conditions[table], "'", "\\'"))
	}
	return "{" + text.String() + "}"
}
