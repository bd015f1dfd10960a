package svc

import (
	"cmp"
	"encoding/json"
	"time"
)

// TimelineKind says where an entry of a timeline comes from.
type TimelineKind string

// The kinds of entries, in the order in which entries of one instant are shown.
const (
	TimelineEvent    TimelineKind = "event"
	TimelineActivity TimelineKind = "activity"
	TimelineError    TimelineKind = "error"
)

// TimelineKinds lists the kinds of entries.
func TimelineKinds() []TimelineKind {
	return []TimelineKind{TimelineEvent, TimelineActivity, TimelineError}
}

// Values returns the kinds, for descriptions.
func (TimelineKind) Values() []TimelineKind { return TimelineKinds() }

// rank orders the kinds within an instant.
func (k TimelineKind) rank() int {
	switch k {
	case TimelineActivity:
		return 1
	case TimelineError:
		return 2
	case TimelineEvent:
	}
	return 0
}

// TimelineEntry is one thing that happened with a person: exactly one of Event, Activity and Error is set.
type TimelineEntry struct {
	TimelineKey
	Event    *Event
	Activity *Activity
	Error    *TimelineFailure
}

// TimelineFailure is an occurrence of an error that a person met.
type TimelineFailure struct {
	IssueID, Level, Name, Message, Culprit, URL, Release string
	Handled                                              bool
}

// TimelineKey is the place of an entry.
type TimelineKey struct {
	TsMs int64
	Kind TimelineKind
	ID   string
}

// Compare orders entries: the newest first, of one instant by kind and then by id.
func (k TimelineKey) Compare(other TimelineKey) int {
	return cmp.Or(cmp.Compare(other.TsMs, k.TsMs), cmp.Compare(k.Kind.rank(), other.Kind.rank()), cmp.Compare(other.ID, k.ID))
}

// Bound returns what entries of a kind come after the place: those with a time and an id before the
// returned ones.
func (k TimelineKey) Bound(kind TimelineKind) (tsMs int64, id string) {
	switch {
	case kind.rank() < k.Kind.rank():
		return k.TsMs, ""
	case kind.rank() > k.Kind.rank():
		return k.TsMs + 1, ""
	}
	return k.TsMs, k.ID
}

// TimelineQuery asks for a page of the timeline of a person.
type TimelineQuery struct {
	Environment Environment
	// Visitor is any of the person's visitors.
	Visitor uint64
	Kinds   []TimelineKind
	// Before is the place after which the page begins.
	Before TimelineKey
	Limit  int
}

// TimelineStart is the place before everything that happened before an instant.
func TimelineStart(before time.Time) TimelineKey {
	return TimelineKey{TsMs: before.UnixMilli(), Kind: TimelineEvent}
}

// Mask hides what an entry tells of people from callers without people.pii.read.
func (e *TimelineEntry) Mask() {
	if e.Event != nil {
		e.Event.Mask()
	}
	if failure := e.Error; failure != nil {
		for _, word := range []*string{&failure.Name, &failure.Message, &failure.Culprit, &failure.URL} {
			*word = MaskEmails(*word)
		}
	}
	if activity := e.Activity; activity != nil {
		activity.Text = MaskEmails(activity.Text)
		if activity.Patch != nil {
			activity.Patch = activity.Patch.masked()
		}
	}
}

// masked returns the patch without personal values.
func (p *PersonPatch) masked() *PersonPatch {
	patch := *p
	patch.CRM = nil
	if p.Tags != nil {
		tags := make([]string, len(*p.Tags))
		for i, tag := range *p.Tags {
			tags[i] = MaskEmails(tag)
		}
		patch.Tags = &tags
	}
	for name, value := range p.CRM {
		if patch.CRM == nil {
			patch.CRM = map[string]json.RawMessage{}
		}
		patch.CRM[name] = maskTrait(name, value)
	}
	return &patch
}
