package person

import (
	"cmp"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// TimelineKind is the source of an entry of a timeline.
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

// Values lists the kinds.
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

// TimelineEntry is one entry in the history of a person: exactly one of Event, Activity and Error is set.
type TimelineEntry struct {
	TimelineKey
	Event    *event.Event
	Activity *Activity
	Error    *TimelineFailure
}

// TimelineFailure is an occurrence of an error that affected a person.
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

// Compare orders entries: the newest first, within an instant by kind and then by id.
func (k TimelineKey) Compare(other TimelineKey) int {
	return cmp.Or(cmp.Compare(other.TsMs, k.TsMs), cmp.Compare(k.Kind.rank(), other.Kind.rank()), cmp.Compare(other.ID, k.ID))
}

// Bound returns the bound for entries of a kind after the place: they have a time and an id before the returned ones.
func (k TimelineKey) Bound(kind TimelineKind) (tsMs int64, id string) {
	switch {
	case kind.rank() < k.Kind.rank():
		return k.TsMs, ""
	case kind.rank() > k.Kind.rank():
		return k.TsMs + 1, ""
	}
	return k.TsMs, k.ID
}

// TimelineQuery selects a page of the timeline of a person.
type TimelineQuery struct {
	Environment domain.Environment
	// Visitor is any of the person's visitors.
	Visitor uint64
	Kinds   []TimelineKind
	// Before is the place after which the page begins.
	Before TimelineKey
	// Skip is the number of entries, of the millisecond before Before, that come before the page.
	Skip  int
	Limit int
}

// TimelineStart is the place before everything that happened before an instant; it excludes the entries of the
// instant's own millisecond.
func TimelineStart(before time.Time) TimelineKey {
	return TimelineKey{TsMs: before.UnixMilli(), Kind: TimelineError}
}

// maxTimelineSkip is the greatest number of entries of one millisecond that an instant can encode.
const maxTimelineSkip = 999

// TimelineMark returns the instant after which a timeline continues: the millisecond of the last entry, with the number
// of preceding entries of that millisecond in its nanoseconds. ok is false if there are too many.
func TimelineMark(tsMs int64, skip int) (at time.Time, ok bool) {
	return time.UnixMilli(tsMs).UTC().Add(time.Duration(skip)), skip > 0 && skip <= maxTimelineSkip
}

// From makes the page begin after an instant, which may be a mark. Any other instant selects the entries before it.
func (q *TimelineQuery) From(before time.Time) {
	q.Before, q.Skip = TimelineStart(before), 0
	part := before.Nanosecond() % int(time.Millisecond)
	if part > 0 {
		q.Before = TimelineStart(before.Add(time.Millisecond))
	}
	if part <= maxTimelineSkip {
		q.Skip = part
	}
}

// Page returns the page of the entries that the store found. The entries are in order, and one more than the page if
// more follow.
func (q *TimelineQuery) Page(entries []TimelineEntry) (page []TimelineEntry, more bool) {
	skipped := 0
	for skipped < min(q.Skip, len(entries)) && entries[skipped].TsMs == q.Before.TsMs-1 {
		skipped++
	}
	entries = entries[skipped:]
	return entries[:min(len(entries), q.Limit)], len(entries) > q.Limit
}

// Passed returns the number of entries of the last millisecond that the reader has seen after the page. It returns 0 if
// that is unknown, because the page begins at a key within the same millisecond.
func (q *TimelineQuery) Passed(page []TimelineEntry) (passed int) {
	last := page[len(page)-1].TsMs
	for i := len(page) - 1; i >= 0 && page[i].TsMs == last; i-- {
		passed++
	}
	switch {
	case passed < len(page):
	case last == q.Before.TsMs:
		return 0
	case last == q.Before.TsMs-1:
		passed += q.Skip
	}
	return passed
}

// Rows is the number of entries of each kind that a page needs.
func (q *TimelineQuery) Rows() int { return q.Skip + q.Limit + 1 }

// Mask hides an entry's data of people from callers without people.pii.read.
func (e *TimelineEntry) Mask() {
	if e.Event != nil {
		e.Event.Mask()
	}
	if failure := e.Error; failure != nil {
		for _, word := range []*string{&failure.Name, &failure.Message, &failure.Culprit, &failure.URL} {
			*word = domain.MaskShapes(*word)
		}
	}
	if activity := e.Activity; activity != nil {
		activity.Text = domain.MaskShapes(activity.Text)
		if activity.Patch != nil {
			activity.Patch = activity.Patch.masked()
		}
	}
}

// masked returns the patch without personal values.
func (p *Patch) masked() *Patch {
	patch := *p
	patch.CRM = nil
	if p.Tags != nil {
		tags := make([]string, len(*p.Tags))
		for i, tag := range *p.Tags {
			tags[i] = domain.MaskShapes(tag)
		}
		patch.Tags = &tags
	}
	for name, value := range p.CRM {
		if patch.CRM == nil {
			patch.CRM = map[string]json.RawMessage{}
		}
		patch.CRM[name] = domain.MaskTrait(name, value)
	}
	return &patch
}
