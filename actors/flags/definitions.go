package flags

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/flag"
)

// shards is the number of maps into which the applications are divided: a change copies one of them.
const shards = 256

// Definitions is this node's snapshot of the flags of all applications, compiled. It is read without a lock. The flags
// actors replace its entries when their flags change.
type Definitions struct {
	now    func() time.Time
	seed   maphash.Seed
	shards [shards]atomic.Pointer[map[domain.AppRef]*Compiled]

	mu sync.Mutex
	// retired holds replaced entries with counts that are still to be taken.
	retired []retiredEntry
}

type retiredEntry struct {
	ref   domain.AppRef
	env   string
	entry *flag.Entry
	// taken is set when the counts were taken once; an evaluation that began before the change may still count.
	taken bool
}

// Compiled holds the flags of one application at one revision. It never changes, except that it is superseded.
type Compiled struct {
	Revision uint64

	ref     domain.AppRef
	version domain.Version
	names   *flag.Names
	// flags are all flags by key, including archived ones.
	flags []definedFlag
	sets  map[string]*flag.Set
	// superseded is closed when a later revision is published.
	superseded chan struct{}
	since      time.Time
}

// definedFlag is a flag that is ready for evaluation, with its definition as JSON. A decoded definition takes three
// times as much memory, and only servers that evaluate by themselves ask for it.
type definedFlag struct {
	*flag.CompiledFlag

	text []byte
}

// flag returns the flag of a key, or nil.
func (c *Compiled) flag(key string) *definedFlag {
	if n, found := slices.BinarySearchFunc(c.flags, key, func(f definedFlag, key string) int { return strings.Compare(f.Key, key) }); found {
		return &c.flags[n]
	}
	return nil
}

// NewDefinitions returns an empty snapshot.
func NewDefinitions(now func() time.Time) *Definitions {
	d := &Definitions{now: now, seed: maphash.MakeSeed()}
	for n := range d.shards {
		d.shards[n].Store(&map[domain.AppRef]*Compiled{})
	}
	return d
}

func (d *Definitions) shard(ref domain.AppRef) *atomic.Pointer[map[domain.AppRef]*Compiled] {
	return &d.shards[maphash.Comparable(d.seed, ref)%shards]
}

// Find returns the flags of an application, or nil if it never had any.
func (d *Definitions) Find(ref domain.AppRef) *Compiled { return (*d.shard(ref).Load())[ref] }

// find returns the flags of an application. If it never had any, the result is an empty set.
func (d *Definitions) find(ref domain.AppRef) *Compiled {
	if found := d.Find(ref); found != nil {
		return found
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.Find(ref); found != nil {
		return found
	}
	return d.store(d.compile(domain.Version{}, ref, nil, nil, nil))
}

// Set returns the flags of an application in an environment.
func (d *Definitions) Set(ref domain.AppRef, environment string) *flag.Set {
	return d.find(ref).set(environment)
}

// Watch returns the same set as Set, a channel that is closed once the set is superseded, and the time of its
// publication.
func (d *Definitions) Watch(ref domain.AppRef, environment string) (set *flag.Set, superseded <-chan struct{}, since time.Time) {
	found := d.find(ref)
	return found.set(environment), found.superseded, found.since
}

// All returns the flags of an application by key, including archived ones, and their revision.
func (d *Definitions) All(ref domain.AppRef) (flags []flag.Flag, revision uint64) {
	found := d.find(ref)
	flags = make([]flag.Flag, len(found.flags))
	for n := range flags {
		_ = json.Unmarshal(found.flags[n].text, &flags[n]) // a text that was decoded before, or encoded here
		flags[n].Normalise()
	}
	return flags, found.Revision
}

func (c *Compiled) set(environment string) *flag.Set {
	if set := c.sets[environment]; set != nil {
		return set
	}
	return c.sets[""]
}

// Publish replaces the flags of an application, unless a later version is known. Unchanged flags retain their compiled
// form and their counts.
func (d *Definitions) Publish(version domain.Version, ref domain.AppRef, flags []flag.Flag) {
	d.publish(version, ref, flags, nil)
}

// publish implements Publish. texts holds the definitions as JSON by their keys; missing ones are encoded.
func (d *Definitions) publish(version domain.Version, ref domain.AppRef, flags []flag.Flag, texts map[string][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.Find(ref)
	if known != nil && (version.Number() < known.version.Number() || version == known.version && flag.Revision(flags) <= known.Revision) {
		return
	}
	next := d.compile(version, ref, flags, texts, known)
	d.store(next)
	if known != nil {
		close(known.superseded)
	}
}

// store puts a compiled application in its shard; the caller holds the lock.
func (d *Definitions) store(next *Compiled) *Compiled {
	shard := d.shard(next.ref)
	apps := maps.Clone(*shard.Load())
	apps[next.ref] = next
	shard.Store(&apps)
	return next
}

// compile compiles the flags of an application; the caller holds the lock.
func (d *Definitions) compile(version domain.Version, ref domain.AppRef, flags []flag.Flag, texts map[string][]byte, known *Compiled) *Compiled {
	next := &Compiled{
		Revision: flag.Revision(flags), ref: ref, version: version, flags: make([]definedFlag, len(flags)),
		sets: map[string]*flag.Set{}, superseded: make(chan struct{}), since: d.now(),
	}
	if known == nil {
		known = &Compiled{}
	}
	next.names = known.names.Grown(flags)
	for n := range flags {
		f, text := &flags[n], texts[flags[n].Key]
		stayed := known.flag(f.Key)
		if stayed != nil && stayed.Version != f.Version {
			stayed = nil
		}
		switch {
		case text != nil:
		case stayed != nil:
			text = stayed.text
		default:
			text, _ = json.Marshal(f) // plain data always encodes
		}
		if stayed != nil && next.names.Serve(stayed.CompiledFlag) {
			next.flags[n] = definedFlag{stayed.CompiledFlag, text}
			continue
		}
		next.flags[n] = definedFlag{flag.CompileFlag(f, next.names), text}
	}
	for _, environment := range environmentsOf(flags) {
		next.sets[environment] = d.compileSet(next, flags, known.sets[environment], environment)
	}
	return next
}

// environmentsOf returns the slugs of the environments that flags name, and the empty slug, in which all are disabled.
func environmentsOf(flags []flag.Flag) []string {
	slugs := map[string]bool{"": true}
	for n := range flags {
		for slug := range flags[n].Environments {
			slugs[slug] = true
		}
	}
	all := make([]string, 0, len(slugs))
	for slug := range slugs {
		all = append(all, slug)
	}
	return all
}

// compileSet makes the set of an environment. It reuses the entries of unchanged flags from the previous set; the other
// entries of that set retire.
func (d *Definitions) compileSet(next *Compiled, flags []flag.Flag, before *flag.Set, environment string) *flag.Set {
	entries := make([]*flag.Entry, 0, len(flags))
	for n := range flags {
		f := next.flags[n].CompiledFlag
		var entry *flag.Entry
		if before != nil {
			entry = before.Entry(f.Key)
		}
		if entry == nil || entry.Flag != f {
			if entry != nil && environment != "" {
				d.retired = append(d.retired, retiredEntry{ref: next.ref, env: environment, entry: entry})
			}
			entry = flag.NewFlagEntry(f, flags[n].SwitchOf(environment))
		}
		entries = append(entries, entry)
	}
	return flag.NewFlagSet(environment, next.Revision, entries, next.names, before)
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (d *Definitions) EntityKinds() []string { return []string{kindFlag} }

// PublishEntities publishes the flags among the entities of one owner. A flag that cannot be decoded is skipped.
func (d *Definitions) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	identity, version, stored, ours := grain.DecodeOwned[flag.Flag](entities, kindFlags, kindFlag, skipped)
	if !ours {
		return
	}
	flags, shared, texts := map[string]flag.Flag{}, flag.Texts{}, map[string][]byte{}
	for i := range stored {
		stored[i].Normalise()
		stored[i].Share(shared)
		flags[stored[i].Key] = stored[i]
	}
	for i := range entities {
		if entities[i].Kind == kindFlag {
			texts[entities[i].ID] = entities[i].Payload
		}
	}
	d.publish(version, refOf(identity), flag.SortFlags(flags), texts)
}

// Tally is the number of times that a flag served a variant since the last count. The empty variant is a multivariate
// flag that was off.
type Tally struct {
	App         domain.AppRef
	Environment string
	Flag        string
	Variant     string
	Count       uint64
}

// Take returns the evaluations of this node since the last call.
func (d *Definitions) Take() (tallies []Tally) {
	collect := func(ref domain.AppRef, environment string, entry *flag.Entry) {
		entry.Take(func(variant string, count uint64) {
			tallies = append(tallies, Tally{ref, environment, entry.Flag.Key, variant, count})
		})
	}
	d.mu.Lock()
	retired := d.retired
	d.retired = nil
	for _, old := range retired {
		collect(old.ref, old.env, old.entry)
		if !old.taken {
			old.taken = true
			d.retired = append(d.retired, old)
		}
	}
	d.mu.Unlock()
	for n := range d.shards {
		for ref, compiled := range *d.shards[n].Load() {
			for environment, set := range compiled.sets {
				for _, entry := range set.Entries {
					collect(ref, environment, entry)
				}
			}
		}
	}
	return tallies
}
