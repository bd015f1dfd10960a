package person

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/revenue"
	"svc/domain/segment"
)

// Person is one person of an environment: the fold of the visitors that identify, alias and merge have joined.
type Person struct {
	// Number is the person's number in keys; it changes if people are merged.
	Number uint64
	// ID is the id of the oldest known visitor of the person, else of the oldest one. The id of any of the visitors
	// finds the person.
	ID          string
	DistinctID  string
	DistinctIDs []string
	// Members are the numbers of the visitors, ascending.
	Members     []uint64
	Email       string
	Name        string
	Company     string
	Traits      map[string]json.RawMessage
	First, Last Touch
	Place       Place
	FirstSeenAt time.Time
	LastSeenAt  time.Time
	Sessions    uint64
	Events      uint64
	Pageviews   uint64
	// Revenue is nil if nothing is billed.
	Revenue *revenue.PersonRevenue
	// Reached is the stage of the person by the lifecycle rules.
	Reached segment.LifecycleStage
	State   State
}

// Touch is one visit of a person: its origin and its beginning.
type Touch struct {
	Source, Medium, Campaign, Referrer, URL string
	// AtMs is when the visit began, in milliseconds since the epoch; 0 without a visit. Tie decides between visits that began at
	// one instant.
	AtMs int64
	Tie  uint64
}

// Place is the location and the device of a person in the last visit.
type Place struct {
	Country, Region, City, Device, Browser, OS string
	AtMs                                       int64
	Tie                                        uint64
}

const personPrefix = "per_"

// ID returns the id of the person with a visitor, by the visitor's number.
func ID(visitor uint64) string { return domain.NumberID(personPrefix, visitor) }

// ParsePersonID is the inverse of ID.
func ParsePersonID(id string) (visitor uint64, ok bool) {
	return domain.ParseNumberID(personPrefix, id)
}

// Stage returns the person's stage: the one that a member set, else the one of the rules. source is "manual" or "auto"
// accordingly.
func (p *Person) Stage() (stage segment.LifecycleStage, source string) {
	if p.State.Stage != "" {
		return p.State.Stage, "manual"
	}
	return p.Reached, "auto"
}

// Visitor is one visitor of a person, or the person's part of a shared visitor, as folded from the stored rows.
type Visitor struct {
	Person, Visitor uint64
	// Away says that the visitor's id finds another person.
	Away bool
	// ID is the text of the visitor; empty if unknown.
	ID                string
	FirstMs, LastMs   int64
	Events, Pageviews uint64
	Sessions          uint64
	First, Last       Touch
	Place             Place
	Identified        bool
	SignedUp          bool
	Mailed            bool
	Activated         bool
	Email, Name       StampedText
	Company           StampedText
	Traits, Once      map[string]StampedText
}

// Told reports whether any data of the visitor is known: an identify, an e-mail address, a name, a company or a trait.
func (v *Visitor) Told() bool {
	return v.Identified || v.Mailed || v.Email != "" || v.Name != "" || v.Company != "" || len(v.Traits)+len(v.Once) > 0
}

// StampedText is a text prefixed with the digits of its event's milliseconds, so that the greatest of several is the
// latest.
type StampedText string

// stampDigits is the number of digits in the prefix.
const stampDigits = 14

// Text returns the text without the digits.
func (s StampedText) Text() string { return string(s[min(len(s), stampDigits):]) }

// FoldPerson makes a person from its visitors and the decisions of members of the organization about each of them. The
// order of both does not matter. If no visitor was seen, there is no person.
func FoldPerson(visitors []Visitor, states []State) (Person, bool) {
	seen := slices.DeleteFunc(slices.Clone(visitors), func(v Visitor) bool { return v.Events == 0 })
	if len(seen) == 0 {
		return Person{}, false
	}
	slices.SortFunc(seen, comparePersonVisitors)
	oldest := &seen[0]
	p := Person{Number: oldest.Person, ID: ID(oldest.Visitor), DistinctID: oldest.ID, DistinctIDs: []string{}, Traits: map[string]json.RawMessage{}}
	var email, name, company StampedText
	traits, once := map[string]StampedText{}, map[string]StampedText{}
	first, last := int64(0), int64(0)
	for i := range seen {
		v := &seen[i]
		p.Members = append(p.Members, v.Visitor)
		if v.ID != "" {
			p.DistinctIDs = append(p.DistinctIDs, v.ID)
		}
		if first == 0 || v.FirstMs < first {
			first = v.FirstMs
		}
		last = max(last, v.LastMs)
		p.Sessions, p.Events, p.Pageviews = p.Sessions+v.Sessions, p.Events+v.Events, p.Pageviews+v.Pageviews
		email, name, company = max(email, v.Email), max(name, v.Name), max(company, v.Company)
		p.First, p.Last, p.Place = earlierTouch(p.First, v.First), laterTouch(p.Last, v.Last), laterPlace(p.Place, v.Place)
		p.Reached = laterStage(p.Reached, v.reached())
		foldTraits(traits, v.Traits, func(old, other StampedText) bool { return other > old })
		foldTraits(once, v.Once, func(old, other StampedText) bool { return other < old })
	}
	p.FirstSeenAt, p.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	p.Email, p.Name, p.Company = email.Text(), name.Text(), company.Text()
	for _, state := range states {
		p.State = p.State.Join(state)
	}
	p.fillTraits(traits, once)
	slices.Sort(p.Members)
	p.Members = slices.Compact(p.Members)
	slices.Sort(p.DistinctIDs)
	p.DistinctIDs = slices.Compact(p.DistinctIDs)
	return p, true
}

// MaxTraits limits the shown traits of a person.
const MaxTraits = 64

// fillTraits sets the traits: set-once traits apply if no other value was sent; null removes a trait.
func (p *Person) fillTraits(traits, once map[string]StampedText) {
	for name, value := range once {
		if _, told := traits[name]; !told {
			traits[name] = value
		}
	}
	names := make([]string, 0, len(traits))
	for name, value := range traits {
		if value.Text() != "null" && json.Valid([]byte(value.Text())) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), MaxTraits)] {
		p.Traits[name] = json.RawMessage(traits[name].Text())
	}
}

// comparePersonVisitors orders the visitors of a person: first the visitors with ids that resolve to the person, then
// known ones, then the oldest.
func comparePersonVisitors(a, b Visitor) int {
	known := func(v *Visitor) int {
		if v.Identified {
			return 0
		}
		return 1
	}
	away := func(v *Visitor) int {
		if v.Away {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(away(&a), away(&b)), cmp.Compare(known(&a), known(&b)), cmp.Compare(a.FirstMs, b.FirstMs), cmp.Compare(a.Visitor, b.Visitor))
}

// reached returns the stage of a visitor by the lifecycle rules. A person has the latest of its visitors' stages, so no
// person moves back when visitors are joined.
func (v *Visitor) reached() segment.LifecycleStage {
	switch {
	case v.Activated:
		return segment.StageActivated
	case v.SignedUp || v.Identified:
		return segment.StageSignup
	case v.Mailed:
		return segment.StageLead
	}
	return segment.StageVisitor
}

func laterStage(a, b segment.LifecycleStage) segment.LifecycleStage {
	stages := segment.LifecycleStages()
	if slices.Index(stages, b) > slices.Index(stages, a) {
		return b
	}
	return a
}

func earlierTouch(a, b Touch) Touch {
	if b.AtMs != 0 && (a.AtMs == 0 || b.AtMs < a.AtMs || b.AtMs == a.AtMs && b.Tie < a.Tie) {
		return b
	}
	return a
}

func laterTouch(a, b Touch) Touch {
	if b.AtMs > a.AtMs || b.AtMs == a.AtMs && b.Tie > a.Tie {
		return b
	}
	return a
}

func laterPlace(a, b Place) Place {
	if b.AtMs > a.AtMs || b.AtMs == a.AtMs && b.Tie > a.Tie {
		return b
	}
	return a
}

func foldTraits(into, more map[string]StampedText, wins func(old, other StampedText) bool) {
	for name, value := range more {
		if old, told := into[name]; !told || wins(old, value) {
			into[name] = value
		}
	}
}
