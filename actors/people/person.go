package people

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/person"
)

// The person actor.
//
//	identity   environment/visitor: the numbers of the environment and of a visitor of the person
//	rank       2
//	owns       the decisions of members about the person: stage, tags, fields of the CRM; and the
//	           activities of the timeline
//	persists   entity person, and one entity activity for each activity
//	woken by   calls only
//	limits     person.MaxActivities activities, and all merges; the limits of person.State
//	stops      after half a minute without a message
//
// A person with several visitors may have several such actors. Each decision carries its time, and readers fold the
// states of all of them. The actor of the visitor that represents the person makes the changes. The profile of a person
// comes from stored rows and is not here.
const kindPerson = "person"

// personIdle is how long a person's actor stays activated: most are asked once.
const personIdle = 30 * time.Second

type personActor struct {
	visitor    uint64
	state      person.State
	activities map[string]person.Activity
}

// personRecord is the stored form of the state. The visitor's number is for queries.
type personRecord struct {
	person.State
	Visitor uint64 `json:"visitor"`
}

type (
	patchPerson struct {
		Patch person.Patch `json:"patch"`
		// State is the state of the whole person, as it was read before the call.
		State person.State `json:"state"`
		// Activity is the entry of the timeline for the change; its id is new.
		Activity person.Activity `json:"activity"`
	}
	personChanged struct {
		Before  person.State `json:"before"`
		After   person.State `json:"after"`
		Changed []string     `json:"changed"`
	}
	noteActivity struct {
		Activity person.Activity `json:"activity"`
	}
)

var personKind = grain.NewKind[*personActor](kindPerson, 2, personIdle)

// The methods of the person actor.
var (
	personPatch = grain.On(personKind, "patch", (*personActor).onPatch)
	personNote  = grain.On(personKind, "note", (*personActor).onNote)
	// personForget removes everything of the person.
	personForget = grain.On(personKind, "forget", (*personActor).onForget, grain.Repeatable)
)

// Kinds returns the kinds of actors of this package.
func Kinds(node *grain.Node) []cluster.Kind {
	return []cluster.Kind{personKind.Row(node, func(identity string) *personActor {
		_, visitor, _ := strings.Cut(identity, "/")
		number, _ := strconv.ParseUint(visitor, 10, 64) // identities are made by personIdentity
		return &personActor{visitor: number}
	}), segmentsRow(node), erasuresKind.Row(node, func(string) *erasures { return &erasures{} })}
}

func personIdentity(environment, visitor uint64) string {
	return strconv.FormatUint(environment, 10) + "/" + strconv.FormatUint(visitor, 10)
}

func (p *personActor) Restore(entities []domain.Entity) error {
	p.state, p.activities = person.State{}, map[string]person.Activity{}
	for _, entity := range entities {
		switch entity.Kind {
		case "person":
			record, err := grain.Decode[personRecord](entity)
			if err != nil {
				return err
			}
			p.state = record.State
		case "activity":
			activity, err := grain.Decode[person.Activity](entity)
			if err != nil {
				return err
			}
			p.activities[entity.ID] = activity
		}
	}
	return nil
}

// onPatch changes the state of the whole person. A change that was made before changes nothing.
func (p *personActor) onPatch(now time.Time, m patchPerson) (grain.Outcome[personChanged], error) {
	before := p.state.Join(m.State)
	after, changed, err := before.Apply(m.Patch, now)
	if err != nil {
		return grain.Outcome[personChanged]{}, err
	}
	answer := personChanged{Before: before, After: after, Changed: changed}
	if len(changed) == 0 {
		return grain.Answer(answer), nil
	}
	p.state = after
	m.Activity.Changed = changed
	writes := append(p.keep(m.Activity), grain.Put("person", "person", personRecord{after, p.visitor}))
	return grain.Answer(answer, writes...), nil
}

// onNote adds an activity to the timeline. A merge with the same person is added once.
func (p *personActor) onNote(_ time.Time, m noteActivity) (grain.Outcome[person.Activity], error) {
	if known, noted := p.noted(m.Activity); noted {
		return grain.Again(known), nil
	}
	return grain.Answer(m.Activity, p.keep(m.Activity)...), nil
}

// noted returns the existing activity that equals a new one.
func (p *personActor) noted(activity person.Activity) (person.Activity, bool) {
	if known, noted := p.activities[activity.ID]; noted || activity.Kind != person.ActivityMerge {
		return known, noted
	}
	for _, known := range p.activities {
		if known.Kind == person.ActivityMerge && known.Merged == activity.Merged {
			return known, true
		}
	}
	return person.Activity{}, false
}

// keep adds an activity and deletes the oldest ones beyond the limit. Merges and splits stay: they define which
// visitors are one person.
func (p *personActor) keep(activity person.Activity) []grain.Write {
	p.activities[activity.ID] = activity
	writes := []grain.Write{grain.Put("activity", activity.ID, activity)}
	surplus := len(p.activities) - person.MaxActivities
	if surplus <= 0 {
		return writes
	}
	for _, old := range slices.SortedFunc(maps.Values(p.activities), person.Activity.Compare) {
		if old.Kind == person.ActivityMerge || old.Kind == person.ActivitySplit {
			continue
		}
		delete(p.activities, old.ID)
		writes = append(writes, grain.Delete("activity", old.ID))
		if surplus--; surplus == 0 {
			break
		}
	}
	return writes
}

// onForget removes all decisions of members about the person.
func (p *personActor) onForget(time.Time, grain.None) (grain.Outcome[grain.None], error) {
	writes := []grain.Write{grain.Delete("person", "person")}
	for id := range p.activities {
		writes = append(writes, grain.Delete("activity", id))
	}
	p.state, p.activities = person.State{}, map[string]person.Activity{}
	return grain.Answer(grain.None{}, writes...), nil
}
