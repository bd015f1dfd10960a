package flags

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/flag"
)

// The flags actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the flags of the application, and their history
//	persists   entities flag, and flagChange for each version
//	woken by   calls only
//	limits     flag.MaxFlags flags; keptChanges versions of a flag, keptAll of all
//	stops      after ten minutes without a message
//
// Every change is published to the definitions of this node and announced to the others before it is answered.
const kindFlags = "flags"

// The kinds of its entities.
const (
	kindFlag   = "flag"
	kindChange = "flagChange"
)

// Limits of the history: the oldest versions are deleted first.
const (
	keptChanges = 100
	keptAll     = 10_000
)

type book struct {
	flags map[string]flag.Flag
	// changes holds the history of each flag, the oldest first.
	changes map[string][]flag.Change
	publish func(domain.Version, []flag.Flag)
}

type (
	putFlag struct {
		Key     string             `json:"key"`
		Spec    flag.Spec          `json:"spec"`
		IfMatch *uint64            `json:"ifMatch"`
		By      domain.LedgerActor `json:"by"`
	}
	archiveFlag struct {
		Key     string             `json:"key"`
		IfMatch *uint64            `json:"ifMatch"`
		By      domain.LedgerActor `json:"by"`
	}
	findFlag struct {
		Key string `json:"key"`
	}
	// changedFlag is a flag after a change, with the kind of the change.
	changedFlag struct {
		Flag   flag.Flag `json:"flag"`
		Action string    `json:"action"`
	}
)

var flagsKind = grain.NewKind[*book](kindFlags, 1, 10*time.Minute)

// The methods of the flags actor.
var (
	bookList    = grain.On(flagsKind, "list", (*book).onList, grain.Repeatable)
	bookGet     = grain.On(flagsKind, "get", (*book).onGet, grain.Repeatable)
	bookPut     = grain.On(flagsKind, "put", (*book).onPut)
	bookArchive = grain.On(flagsKind, "archive", (*book).onArchive)
	bookHistory = grain.On(flagsKind, "history", (*book).onHistory, grain.Repeatable)
)

// Kinds returns the kinds of this package for the actors of a node. They publish their changes to its definitions.
func Kinds(node *grain.Node, definitions *Definitions) []cluster.Kind {
	return []cluster.Kind{flagsKind.Row(node, func(identity string) *book {
		return &book{publish: func(version domain.Version, flags []flag.Flag) { definitions.Publish(version, refOf(identity), flags) }}
	})}
}

// refOf returns the application of an identity.
func refOf(identity string) domain.AppRef {
	org, app, _ := strings.Cut(identity, "/")
	return domain.AppRef{Org: org, App: app}
}

func (b *book) Restore(entities []domain.Entity) error {
	b.flags, b.changes = map[string]flag.Flag{}, map[string][]flag.Change{}
	for _, entity := range entities {
		switch entity.Kind {
		case kindFlag:
			flag, err := grain.Decode[flag.Flag](entity)
			if err != nil {
				return err
			}
			b.flags[flag.Key] = flag
		case kindChange:
			change, err := grain.Decode[flag.Change](entity)
			if err != nil {
				return err
			}
			key, _, _ := strings.Cut(entity.ID, "/")
			b.changes[key] = append(b.changes[key], change)
		}
	}
	for _, changes := range b.changes {
		slices.SortFunc(changes, func(a, c flag.Change) int { return cmp.Compare(a.Version, c.Version) })
	}
	return nil
}

func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]flag.Flag], error) {
	return grain.Answer(flag.SortFlags(b.flags)), nil
}

func (b *book) onGet(_ time.Time, m findFlag) (grain.Outcome[flag.Flag], error) {
	f, found := b.flags[m.Key]
	if !found {
		return grain.Outcome[flag.Flag]{}, domain.NotFound("flag")
	}
	return grain.Answer(f), nil
}

// onPut replaces a flag, or makes it. With ifMatch, the flag must have that version; zero means that it must not exist.
func (b *book) onPut(now time.Time, m putFlag) (grain.Outcome[changedFlag], error) {
	var present *flag.Flag
	if flag, found := b.flags[m.Key]; found {
		present = &flag
	}
	if err := b.match(m.Key, m.IfMatch); err != nil {
		return grain.Outcome[changedFlag]{}, err
	}
	if present == nil && len(b.flags) >= flag.MaxFlags {
		return grain.Outcome[changedFlag]{}, domain.Invalid(domain.FieldError{
			Field: "key", Code: "too_many", Message: fmt.Sprintf("The application has %d flags, archived ones included; it cannot have more.", flag.MaxFlags),
		})
	}
	if problems := flag.CheckPrerequisites(b.flags, m.Key, &m.Spec); len(problems) > 0 {
		return grain.Outcome[changedFlag]{}, domain.Invalid(problems...)
	}
	m.Spec.Normalise() // removes the spare capacity that decoding has left in its lists
	return b.changed(flag.ReplaceFlag(present, m.Key, &m.Spec, m.By, now)), nil
}

// match fails if a flag does not have the version that the caller requires.
func (b *book) match(key string, wanted *uint64) error {
	if wanted != nil && b.flags[key].Version != *wanted {
		return domain.Errorf(domain.CodePrecondition, "The flag has changed since; read it again.")
	}
	return nil
}

func (b *book) onArchive(now time.Time, m archiveFlag) (grain.Outcome[changedFlag], error) {
	present, found := b.flags[m.Key]
	if !found {
		return grain.Outcome[changedFlag]{}, domain.NotFound("flag")
	}
	if err := b.match(m.Key, m.IfMatch); err != nil {
		return grain.Outcome[changedFlag]{}, err
	}
	flag, change, err := flag.ArchiveFlag(&present, m.By, now)
	if err != nil {
		return grain.Outcome[changedFlag]{}, err
	}
	return b.changed(flag, change), nil
}

// changed stores a new version of a flag with its history entry, and publishes all flags once both are durable.
func (b *book) changed(f flag.Flag, change flag.Change) grain.Outcome[changedFlag] {
	b.flags[f.Key] = f
	b.changes[f.Key] = append(b.changes[f.Key], change)
	writes := []grain.Write{grain.Put(kindFlag, f.Key, f), grain.Put(kindChange, changeID(f.Key, change.Version), change)}
	return grain.Outcome[changedFlag]{
		Answer: changedFlag{f, change.Action},
		Effects: grain.Effects{Writes: append(writes, b.forget(f.Key)...), After: func(version domain.Version) {
			b.publish(version, flag.SortFlags(b.flags))
		}},
	}
}

func changeID(key string, version uint64) string {
	return key + "/" + strconv.FormatUint(version, 10)
}

// forget removes the oldest versions beyond the limits of the history.
func (b *book) forget(key string) (writes []grain.Write) {
	drop := func(key string) {
		writes = append(writes, grain.Delete(kindChange, changeID(key, b.changes[key][0].Version)))
		b.changes[key] = b.changes[key][1:]
	}
	if len(b.changes[key]) > keptChanges {
		drop(key)
	}
	all := 0
	for _, changes := range b.changes {
		all += len(changes)
	}
	if all > keptAll {
		drop(slices.MaxFunc(slices.Sorted(maps.Keys(b.changes)), func(x, y string) int { return cmp.Compare(len(b.changes[x]), len(b.changes[y])) }))
	}
	return writes
}

// onHistory returns the versions of a flag, the newest first.
func (b *book) onHistory(_ time.Time, m findFlag) (grain.Outcome[[]flag.Change], error) {
	if _, found := b.flags[m.Key]; !found {
		return grain.Outcome[[]flag.Change]{}, domain.NotFound("flag")
	}
	changes := slices.Clone(b.changes[m.Key])
	slices.Reverse(changes)
	return grain.Answer(changes), nil
}
