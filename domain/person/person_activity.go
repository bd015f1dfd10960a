package person

import (
	"cmp"
	"time"

	"svc/domain"
)

// ActivityKind is the kind of an activity of a timeline.
type ActivityKind string

// The kinds of activities.
const (
	ActivityNote   ActivityKind = "note"
	ActivityUpdate ActivityKind = "update"
	ActivityMerge  ActivityKind = "merge"
	ActivitySplit  ActivityKind = "split"
	// ActivityCampaign is a campaign that was sent to the person.
	ActivityCampaign ActivityKind = "campaign"
)

// Values lists the kinds.
func (ActivityKind) Values() []ActivityKind {
	return []ActivityKind{ActivityNote, ActivityUpdate, ActivityMerge, ActivitySplit, ActivityCampaign}
}

// Activity is an action of a member of the organization on a person, or a campaign, as an entry of the person's
// timeline.
type Activity struct {
	ID   string       `json:"id"`
	Kind ActivityKind `json:"kind"`
	At   time.Time    `json:"at"`
	// By is the member.
	By domain.LedgerActor `json:"by"`
	// Text is the text of a note.
	Text string `json:"text,omitempty"`
	// Changed names the changed parts of an update, Patch the new values.
	Changed []string `json:"changed,omitempty"`
	Patch   *Patch   `json:"patch,omitempty"`
	// Merged is the id of the person that became part of this one.
	Merged string `json:"merged,omitempty"`
	// Split is the person id of the id that was removed from this person, from Since on or, if that is nil, entirely.
	// Devices says that the ids that were identified as it stayed with it.
	Split   string     `json:"split,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Devices bool       `json:"devices,omitempty"`
	// Campaign is the id of a campaign, with its name in Text; Fate is the outcome of its message.
	Campaign string `json:"campaign,omitempty"`
	Fate     string `json:"fate,omitempty"`
}

// Split removes an id from its person.
type Split struct {
	// Visitor is the number of the id.
	Visitor uint64
	At      time.Time
	// Since is the instant from which the events of the id are its own; nil undoes all links of the id.
	Since *time.Time
	// Devices says that ids that were identified as this one stay with it.
	Devices bool
}

// Splits returns the id that the activity removed from the person, if it removed one.
func (a *Activity) Splits() (Split, bool) {
	visitor, is := ParsePersonID(a.Split)
	return Split{Visitor: visitor, At: a.At, Since: a.Since, Devices: a.Devices}, is && a.Kind == ActivitySplit
}

// Limits of activities.
const (
	MaxActivities = 1000
	MaxNoteBytes  = 8 << 10
)

// Compare orders activities by their times.
func (a Activity) Compare(b Activity) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}

// Change requests a change of the decisions about a person.
type Change struct {
	// Environment and Visitor are the numbers of the environment and of a visitor of the person.
	Environment, Visitor uint64
	Patch                Patch
	// State is the state of the person as it was read.
	State    State
	Activity Activity
}

// Changed is the result of a Change.
type Changed struct {
	Before, After State
	// Changed lists stage, tags and crm if they changed.
	Changed []string
}
