package issues

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/actors/pipeline"
	"svc/domain/event"
	"svc/domain/person"
	"svc/protos"
)

// The world of exactlyonce_test.go also has people. Devices identify themselves. Aliases tie ids, with events that go
// through any partition, and members merge people through any node. The store is the identity graph: links and aliases
// are views of the stored rows. Nodes note the roots: they read the aliases, find the connected ids, and write.
// Anything may happen between these three steps.

// worldID is one id of an environment.
type worldID struct {
	environment uint64
	number      uint64
}

// worldAlias is two ids of an environment that are one person.
type worldAlias struct {
	environment uint64
	person.Alias
}

// worldLink ties an anonymous id to a known one.
type worldLink struct {
	environment      uint64
	anonymous, known string
}

// worldPeople is the part of a world that concerns people.
type worldPeople struct {
	// told holds the sent ties; linked holds the links with their first instants.
	told   map[worldAlias]bool
	linked map[worldLink]time.Time
	// merges holds the ties that members' merges stored, and asked holds all requested ones. sure holds the ties that a
	// member received as durable.
	merges      map[worldAlias]bool
	asked, sure map[worldAlias]bool
	// roots holds the roots that nodes noted. promised holds the ties that some node found completely noted.
	roots    map[worldID]person.Root
	promised map[worldAlias]bool
	// undone lists the promises that a write broke; united counts the searches for roots.
	undone []string
	united int
}

func newWorldPeople() worldPeople {
	return worldPeople{
		told: map[worldAlias]bool{}, linked: map[worldLink]time.Time{}, merges: map[worldAlias]bool{}, asked: map[worldAlias]bool{}, sure: map[worldAlias]bool{},
		roots: map[worldID]person.Root{}, promised: map[worldAlias]bool{},
	}
}

// worldIDs is the number of ids of each kind in an environment.
const worldIDs = 14

// idNumber is the number of an id in the store.
func idNumber(id string) uint64 { return protos.VisitorHash(1, id) }

func aliasOf(environment uint64, one, other string) worldAlias {
	a, b := idNumber(one), idNumber(other)
	return worldAlias{environment, person.Alias{Low: min(a, b), High: max(a, b)}}
}

// produceIdentity appends an identify or an alias; it happened at any time before.
func (w *world) produceIdentity(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	environment := uint64(1)
	if w.shards > 1 && w.rng.IntN(2) == 0 {
		environment = shardEnvironment
	}
	known, other := fmt.Sprintf("known-%d", w.rng.IntN(worldIDs)), fmt.Sprintf("known-%d", w.rng.IntN(worldIDs))
	id, at := fmt.Sprintf("tie-%d", len(w.sent)), now.Add(-time.Duration(w.rng.IntN(40*24*3600*1000))*time.Millisecond).Truncate(time.Millisecond)
	e := &protos.Event{Environment: environment, Id: id, DistinctId: known, AnonymousId: other, Name: event.AliasEvent, TsMs: at.UnixMilli(), ReceivedMs: now.UnixMilli()}
	switch {
	case w.rng.IntN(3) > 0:
		e.Name, e.AnonymousId = event.IdentifyEvent, fmt.Sprintf("device-%d", w.rng.IntN(worldIDs))
		link := worldLink{environment, e.AnonymousId, known}
		if first, linked := w.people.linked[link]; !linked || at.Before(first) {
			w.people.linked[link] = at
		}
	case known != other:
		w.people.told[aliasOf(environment, known, other)] = true
	}
	w.sent[known+" "+id]++
	value, _ := protos.AppendRecord(nil, e)
	partition := w.shape().Of(environment, protos.PartitionOfThread(protos.Thread(environment, "", e.AnonymousId, known), w.partitions))
	w.log[partition] = append(w.log[partition], event.LogRecord{Partition: partition, Offset: int64(len(w.log[partition])), Time: now, Value: value})
}

// aliases returns the stored aliases of an environment; the caller holds the lock.
func (w *world) aliases(environment uint64) map[worldAlias]bool {
	found := map[worldAlias]bool{}
	for _, row := range w.view {
		if row.Name == event.AliasEvent && row.EnvironmentNumber == environment && row.AnonymousID != row.DistinctID {
			found[aliasOf(environment, row.DistinctID, row.AnonymousID)] = true
		}
	}
	for alias := range w.people.merges {
		if alias.environment == environment {
			found[alias] = true
		}
	}
	return found
}

// uniter is a node's access to the store of people.
type uniter struct{ *process }

// absent reports whether the store of an environment does not answer; the caller holds the lock.
func (u uniter) absent(environment uint64) bool {
	shard := 0
	if u.w.shards > 1 && environment == shardEnvironment {
		shard = 1
	}
	return u.w.missing(shard)
}

// Unite reads the aliases of an environment and the noted roots, and notes the roots that are made of more aliases, as
// the store does.
func (u uniter) Unite(_ context.Context, environment uint64) error {
	if err := u.step(); err != nil {
		return err
	}
	w := u.w
	if u.absent(environment) {
		w.mu.Unlock()
		return errStoreAway
	}
	stored := w.aliases(environment)
	w.mu.Unlock()
	if err := u.step(); err != nil {
		return err
	}
	noted := map[uint64]person.Root{}
	for id, root := range w.people.roots {
		if id.environment == environment {
			noted[id.number] = root
		}
	}
	w.mu.Unlock()
	list := []person.Alias{}
	for alias := range stored {
		list = append(list, alias.Alias)
	}
	roots := slices.DeleteFunc(person.Roots(list), func(root person.Root) bool { return noted[root.Visitor].Edges >= root.Edges })
	if err := u.step(); err != nil {
		return err
	}
	if u.absent(environment) {
		w.mu.Unlock()
		return errStoreAway
	}
	w.noteRoots(environment, roots)
	w.mu.Unlock()
	if err := u.done(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people.united++
	for alias := range stored {
		w.people.promised[alias] = true
	}
	w.checkPromises()
	return nil
}

// noteRoots stores for each id the root that is made of the most aliases, and the latest of equal ones. The caller
// holds the lock.
func (w *world) noteRoots(environment uint64, roots []person.Root) {
	for _, root := range roots {
		if id := (worldID{environment, root.Visitor}); root.Edges >= w.people.roots[id].Edges {
			w.people.roots[id] = root
		}
	}
	w.checkPromises()
}

// checkPromises checks that all ties hold that a node found noted; the caller holds the lock.
func (w *world) checkPromises() {
	for alias := range w.people.promised {
		low, high := w.people.roots[worldID{alias.environment, alias.Low}], w.people.roots[worldID{alias.environment, alias.High}]
		if low.Root == 0 || low.Root != high.Root {
			w.people.undone = append(w.people.undone, fmt.Sprintf("%v: %v and %v", alias, low, high))
		}
	}
}

// tieListener checks, when a block is committed, that the ties of its aliases are noted.
type tieListener struct {
	pipeline.NopListener
	w *world
}

type tieBlock struct {
	pipeline.NopBlockListener
	w *world
}

func (l *tieListener) Open() pipeline.BlockListener { return &tieBlock{w: l.w} }

func (b *tieBlock) Committed(block uint64) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	for _, row := range b.w.view {
		if row.block == block && row.Name == event.AliasEvent && row.AnonymousID != row.DistinctID {
			b.w.people.promised[aliasOf(row.EnvironmentNumber, row.DistinctID, row.AnonymousID)] = true
		}
	}
	b.w.checkPromises()
}

// UniteAll calls Unite for every environment of a shard that has aliases.
func (u uniter) UniteAll(ctx context.Context, shard int) error {
	if err := u.step(); err != nil {
		return err
	}
	environments := []uint64{1}
	if u.w.shards > 1 && shard == 1 {
		environments = []uint64{shardEnvironment}
	}
	environments = slices.DeleteFunc(environments, func(environment uint64) bool { return len(u.w.aliases(environment)) == 0 })
	u.w.mu.Unlock()
	for _, environment := range environments {
		if err := u.Unite(ctx, environment); err != nil {
			return err
		}
	}
	return nil
}

// merge merges two ids into one person as a member does, through this node.
func (p *process) merge() {
	w := p.w
	w.mu.Lock()
	one, other := w.rng.IntN(worldIDs), w.rng.IntN(worldIDs)
	alias := aliasOf(1, fmt.Sprintf("known-%d", one), fmt.Sprintf("known-%d", other))
	if one != other {
		w.people.asked[alias] = true
	}
	w.mu.Unlock()
	if one == other || p.step() != nil {
		return
	}
	if w.missing(0) {
		w.mu.Unlock()
		return
	}
	w.people.merges[alias] = true
	w.mu.Unlock()
	if (uniter{p}).Unite(context.Background(), 1) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people.sure[alias] = true
}

// tied follows ties from an id and returns the least number that it meets.
func tied(number uint64, ties map[uint64][]uint64) uint64 {
	seen, least := map[uint64]bool{number: true}, number
	for open := []uint64{number}; len(open) > 0; open = open[1:] {
		least = min(least, open[0])
		for _, next := range ties[open[0]] {
			if !seen[next] {
				seen[next], open = true, append(open, next)
			}
		}
	}
	return least
}

// checkPeople compares links and roots with the sent and requested ties, in any order of their arrival.
func (w *world) checkPeople(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.people.undone) > 0 {
		t.Errorf("%d times a tie did not hold that a node had found noted, or whose block was committed: %s", len(w.people.undone), w.people.undone[0])
	}
	if w.people.united == 0 {
		t.Error("nobody ever looked at aliases")
	}
	links := map[worldLink]time.Time{}
	for _, row := range w.view {
		if row.Name != event.IdentifyEvent || row.AnonymousID == "" {
			continue
		}
		link := worldLink{row.EnvironmentNumber, row.AnonymousID, row.DistinctID}
		if first, linked := links[link]; !linked || row.Ts.Before(first) {
			links[link] = row.Ts
		}
	}
	for link, first := range w.people.linked {
		if !links[link].Equal(first) {
			t.Errorf("the link %v began %v, stored is %v", link, first, links[link])
		}
	}
	if len(links) != len(w.people.linked) {
		t.Errorf("%d links are stored, %d were sent", len(links), len(w.people.linked))
	}
	for _, environment := range []uint64{1, shardEnvironment} {
		w.checkTies(t, environment)
	}
}

// checkTies compares the roots of an environment with the aliases; the caller holds the lock.
func (w *world) checkTies(t *testing.T, environment uint64) {
	t.Helper()
	ties, every := map[uint64][]uint64{}, w.aliases(environment)
	for alias := range every {
		ties[alias.Low], ties[alias.High] = append(ties[alias.Low], alias.High), append(ties[alias.High], alias.Low)
		if !w.people.told[alias] && !w.people.asked[alias] {
			t.Errorf("nobody tied %v", alias)
		}
	}
	for alias := range w.people.told {
		if alias.environment == environment && !every[alias] {
			t.Errorf("the alias %v is lost", alias)
		}
	}
	for alias := range w.people.sure {
		if alias.environment == environment && !every[alias] {
			t.Errorf("the merge %v is lost", alias)
		}
	}
	for number := range ties {
		if got, want := w.people.roots[worldID{environment, number}].Root, tied(number, ties); got != want {
			t.Errorf("in environment %d the root of %d is %d, want %d", environment, number, got, want)
		}
	}
}

// TestATieThatIsUndoneIsFound lets a node overwrite the root that another one noted from more aliases.
func TestATieThatIsUndoneIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 1, 1)
	alias := aliasOf(1, "one", "other")
	w.noteRoots(1, person.Roots([]person.Alias{alias.Alias}))
	w.people.promised[alias] = true
	w.noteRoots(1, []person.Root{{Visitor: alias.High, Root: alias.High, Edges: 1}})
	if len(w.people.undone) != 1 {
		t.Errorf("found %q", w.people.undone)
	}
}
