package people

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/http/api"
	"svc/http/route"
)

// Timelines reads the timelines of people.
type Timelines interface {
	// Timeline returns a page of a timeline, the newest first, and whether more follow.
	Timeline(ctx context.Context, query person.TimelineQuery) (entries []person.TimelineEntry, more bool, err error)
}

// timelineKinds is the parameter kind; the default is all kinds.
type timelineKinds []person.TimelineKind

// Parse reads the kinds.
func (k *timelineKinds) Parse(_ *route.Call, words []string) (problems []domain.FieldError) {
	allowed := api.Words(person.TimelineKinds())
	for _, word := range words {
		if !slices.Contains(allowed, word) {
			problems = append(problems, api.UnknownWord("kind", "kind", word, allowed))
		}
		*k = append(*k, person.TimelineKind(word))
	}
	if len(words) == 0 {
		*k = person.TimelineKinds()
	}
	return problems
}

// Schema describes the parameter.
func (timelineKinds) Schema() route.Schema {
	return route.Schema{"type": "array", "items": route.Schema{"type": "string", "enum": api.Words(person.TimelineKinds())}}
}

// instantParam is a parameter that is a time; nil if the request names none.
type instantParam struct{ at *time.Time }

// Parse reads the time.
func (p *instantParam) Parse(_ *route.Call, words []string) []domain.FieldError {
	if len(words) == 0 {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, words[0])
	if err != nil {
		return []domain.FieldError{{Field: "before", Code: "invalid_value", Message: "before is no ISO 8601 timestamp."}}
	}
	p.at = &at
	return nil
}

// Schema describes the parameter.
func (instantParam) Schema() route.Schema {
	return route.Schema{"type": "string", "format": "date-time"}
}

type listTimeline struct {
	personPath
	api.Paging
	Before instantParam  `query:"before" doc:"Entries before the time; now where it is absent. The cursor says it more precisely."`
	Kind   timelineKinds `query:"kind" doc:"Entries of the kinds; all where it is absent."`
}

// timelineEntry is one entry of a timeline (contract 54).
type timelineEntry struct {
	ID      string              `json:"id"`
	Kind    person.TimelineKind `json:"kind"`
	Ts      route.Time          `json:"ts"`
	Title   string              `json:"title"`
	Summary *string             `json:"summary"`
	Data    json.RawMessage     `json:"data" doc:"What the entry tells, by its kind."`

	key person.TimelineKey
}

// timelinePage is the answer of …/people/{id}/timeline.
type timelinePage struct {
	domain.Page[timelineEntry]
	NextBefore  *timelineMark `json:"nextBefore" doc:"The value of before for the next page, where more follow. It is as sent: its nanoseconds count the entries of one millisecond. null if there are too many; use nextCursor then."`
	Environment string        `json:"environment"`
}

func (d dossiers) timeline(ctx context.Context, call *route.Call, in listTimeline) (timelinePage, error) {
	visitor, words, err := d.whose(ctx, call, in.personPath)
	if err != nil {
		return timelinePage{}, err
	}
	query := person.TimelineQuery{Environment: in.Env.Environment, Visitor: visitor, Kinds: in.Kind, Before: person.TimelineStart(call.Now.Add(event.FutureTolerance)), Limit: int(in.Limit)}
	if in.Before.at != nil {
		query.From(*in.Before.at)
	}
	if err := timelineKey(call, in.Cursor, &query); err != nil {
		return timelinePage{}, err
	}
	entries, more, err := d.timelines.Timeline(ctx, query)
	if err != nil {
		return timelinePage{}, err
	}
	var last int64
	var passed int
	if more {
		last, passed = entries[len(entries)-1].TsMs, query.Passed(entries)
	}
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	page := route.PageOf(call, api.Convert(entries, func(e *person.TimelineEntry) timelineEntry {
		if seesPersons {
			return entryOf(e)
		}
		e.Mask()
		entry := entryOf(e)
		entry.hide(words)
		return entry
	}), more, func(last timelineEntry) []string {
		return []string{strconv.FormatInt(last.key.TsMs, 10), string(last.key.Kind), last.key.ID}
	})
	out := timelinePage{Page: page, Environment: in.Env.Slug}
	if at, ok := person.TimelineMark(last, passed); more && ok {
		out.NextBefore = (*timelineMark)(&at)
	}
	return out, nil
}

// timelineMark is an instant at which a timeline continues.
type timelineMark time.Time

// MarshalJSON writes the instant with its nanoseconds.
func (m timelineMark) MarshalJSON() ([]byte, error) {
	return []byte(time.Time(m).Format(`"2006-01-02T15:04:05.000000000Z"`)), nil
}

// Schema describes the instant.
func (timelineMark) Schema() route.Schema {
	return route.Schema{"type": "string", "format": "date-time"}
}

// whose returns a visitor of the person of a path. If the caller may not see personal data, it also returns the
// person's personal words.
func (d dossiers) whose(ctx context.Context, call *route.Call, in personPath) (visitor uint64, words []string, err error) {
	sees := call.Grant.May(domain.PermPeoplePIIRead)
	if visitor, ok := person.ParsePersonID(in.ID); ok && sees {
		return visitor, nil, nil
	}
	found, err := d.find(ctx, call, in)
	if !sees {
		words = found.PersonalWords()
	}
	return found.Number, words, err
}

// timelineKey reads the position of a cursor in the timeline, if there is a cursor.
func timelineKey(call *route.Call, cursor string, into *person.TimelineQuery) error {
	keyset, err := call.Keyset(cursor, 3)
	if keyset == nil || err != nil {
		return err
	}
	ms, bad := strconv.ParseInt(keyset[0], 10, 64)
	if bad != nil {
		return domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	into.Skip, into.Before = 0, person.TimelineKey{TsMs: ms, Kind: person.TimelineKind(keyset[1]), ID: keyset[2]}
	return nil
}

// The data of the entries of each kind.
type (
	eventData struct {
		Name       string          `json:"name"`
		URL        *string         `json:"url"`
		Path       *string         `json:"path"`
		Referrer   *string         `json:"referrer"`
		SessionID  *string         `json:"sessionId"`
		DistinctID *string         `json:"distinctId"`
		Source     *string         `json:"source"`
		Country    *string         `json:"country"`
		Device     *string         `json:"device"`
		Value      *float64        `json:"value"`
		Currency   *string         `json:"currency"`
		Properties json.RawMessage `json:"properties"`
	}
	activityData struct {
		Kind     person.ActivityKind     `json:"kind"`
		By       *personAuthor           `json:"by"`
		Text     *string                 `json:"text"`
		Changed  []string                `json:"changed"`
		Stage    *segment.LifecycleStage `json:"stage"`
		Tags     *[]string               `json:"tags"`
		CRM      map[string]value        `json:"crm"`
		Merged   *string                 `json:"merged"`
		Split    *string                 `json:"split,omitempty"`
		Since    *route.Time             `json:"since,omitempty"`
		Campaign *string                 `json:"campaign,omitempty"`
		Fate     *string                 `json:"fate,omitempty"`
	}
	personAuthor struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	errorData struct {
		IssueID string  `json:"issueId"`
		Level   string  `json:"level"`
		Name    string  `json:"name"`
		Message string  `json:"message"`
		Culprit *string `json:"culprit"`
		URL     *string `json:"url"`
		Release *string `json:"release"`
		Handled bool    `json:"handled"`
	}
)

func entryOf(e *person.TimelineEntry) timelineEntry {
	out := timelineEntry{ID: e.ID, Kind: e.Kind, Ts: route.Time(time.UnixMilli(e.TsMs)), key: e.TimelineKey}
	var data any
	switch {
	case e.Event != nil:
		out.Title, out.Summary, data = e.Event.Name, api.OrNull(e.Event.Path), eventDataOf(e.Event)
	case e.Activity != nil:
		out.Title, out.Summary, data = string(e.Activity.Kind), api.OrNull(summaryOf(e.Activity)), activityDataOf(e.Activity)
	case e.Error != nil:
		f := e.Error
		out.Title, out.Summary = f.Name, api.OrNull(f.Message)
		data = errorData{f.IssueID, f.Level, f.Name, f.Message, api.OrNull(f.Culprit), api.OrNull(f.URL), api.OrNull(f.Release), f.Handled}
	}
	out.Data, _ = json.Marshal(data) // Marshalling texts, numbers and valid JSON never fails.
	return out
}

// hide masks the person's personal words in the texts of members and clients.
func (e *timelineEntry) hide(words []string) {
	e.Title, e.Data = domain.MaskWords(e.Title, words), domain.MaskWordsIn(e.Data, words)
	if e.Summary != nil {
		e.Summary = new(domain.MaskWords(*e.Summary, words))
	}
}

func eventDataOf(e *event.Event) eventData {
	properties := e.Properties
	if len(properties) == 0 {
		properties = json.RawMessage("{}")
	}
	return eventData{
		Name: e.Name, URL: api.OrNull(e.URL), Path: api.OrNull(e.Path), Referrer: api.OrNull(e.Referrer), SessionID: api.OrNull(e.SessionID),
		DistinctID: api.OrNull(e.Visitor()), Source: api.OrNull(e.Source), Country: api.OrNull(e.Country), Device: api.OrNull(e.Device),
		Value: e.Value, Currency: api.OrNull(e.Currency), Properties: properties,
	}
}

func activityDataOf(a *person.Activity) activityData {
	data := activityData{Kind: a.Kind, Text: api.OrNull(a.Text), Changed: append([]string{}, a.Changed...), Merged: api.OrNull(a.Merged), Campaign: api.OrNull(a.Campaign), Fate: api.OrNull(a.Fate)}
	if a.Kind == person.ActivitySplit {
		data.Split, data.Since = new(a.Split), (*route.Time)(a.Since)
	}
	if a.By.ID != "" {
		data.By = &personAuthor{a.By.ID, a.By.Name}
	}
	if a.Patch != nil {
		data.Stage, data.Tags = a.Patch.Stage, a.Patch.Tags
		if a.Patch.CRM != nil {
			data.CRM = valuesOf(a.Patch.CRM)
		}
	}
	return data
}

// summaryOf describes an activity in one line.
func summaryOf(a *person.Activity) string {
	switch a.Kind {
	case person.ActivityNote:
		return a.Text
	case person.ActivityMerge:
		return "merged with " + a.Merged
	case person.ActivitySplit:
		return splitSummary(a)
	case person.ActivityCampaign:
		return a.Text + ": " + a.Fate
	case person.ActivityUpdate:
	}
	return "changed " + strings.Join(a.Changed, ", ")
}
