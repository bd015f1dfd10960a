package issues

import (
	"context"
	"encoding/json"
	"maps"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/http/api"
	"svc/http/route"
)

// Occurrences reads the occurrences of issues.
type Occurrences interface {
	// Occurrences returns a page of summaries, newest first, and whether more follow.
	Occurrences(ctx context.Context, query issue.OccurrenceQuery) (page []occurrence.Occurrence, more bool, err error)
	// Occurrence returns one occurrence in full; it fails with not_found if the issue of the environment has no
	// occurrence with the id.
	Occurrence(ctx context.Context, environment domain.Environment, issue uint64, id string) (occurrence.Occurrence, error)
}

// occurrenceSummary is one row of …/events (contract 80).
type occurrenceSummary struct {
	ID         string           `json:"id"`
	IssueID    string           `json:"issueId"`
	Ts         route.Time       `json:"ts"`
	Level      occurrence.Level `json:"level"`
	Name       string           `json:"name"`
	Message    *string          `json:"message"`
	Culprit    *string          `json:"culprit"`
	Handled    bool             `json:"handled"`
	Release    *string          `json:"release"`
	URL        *string          `json:"url"`
	PersonID   *string          `json:"personId"`
	DistinctID *string          `json:"distinctId"`
	SessionID  *string          `json:"sessionId"`
	Browser    *string          `json:"browser"`
	OS         *string          `json:"os"`
	Country    *string          `json:"country"`
}

func summaryOf(o *occurrence.Occurrence) occurrenceSummary {
	return occurrenceSummary{
		ID: o.ID, IssueID: o.IssueID, Ts: route.Time(o.Ts), Level: o.Level, Name: o.Name, Message: api.OrNull(o.Message), Culprit: api.OrNull(o.Culprit),
		Handled: o.Handled, Release: api.OrNull(o.Release), URL: api.OrNull(o.URL), PersonID: api.OrNull(o.PersonID), DistinctID: api.OrNull(o.DistinctID),
		SessionID: api.OrNull(o.SessionID), Browser: api.OrNull(o.Browser), OS: api.OrNull(o.OS), Country: api.OrNull(o.Country),
	}
}

// occurrenceJSON is one occurrence in full.
type occurrenceJSON struct {
	occurrenceSummary
	ReceivedAt     route.Time              `json:"receivedAt"`
	Mechanism      *string                 `json:"mechanism"`
	Stack          *string                 `json:"stack"`
	Frames         []occurrence.Frame      `json:"frames" doc:"The calls, the throwing one first."`
	Breadcrumbs    []occurrence.Breadcrumb `json:"breadcrumbs" doc:"What happened before, the oldest first."`
	Tags           map[string]string       `json:"tags"`
	Extra          json.RawMessage         `json:"extra"`
	Request        occurrenceRequest       `json:"request"`
	Path           *string                 `json:"path"`
	Referrer       *string                 `json:"referrer"`
	AnonymousID    *string                 `json:"anonymousId"`
	BrowserVersion *string                 `json:"browserVersion"`
	Device         *string                 `json:"device"`
	Region         *string                 `json:"region"`
	City           *string                 `json:"city"`
	Locale         *string                 `json:"locale"`
	AppVersion     *string                 `json:"appVersion"`
	Environment    string                  `json:"environment"`
	User           map[string]string       `json:"user" doc:"What the client says of who used the application."`
	// ProcessingErrors is never absent: an empty list means that the whole report was stored.
	ProcessingErrors []occurrence.ProcessingError `json:"processingErrors" doc:"Parts of the report that were left out or replaced, so that the rest could be kept."`
}

// occurrenceRequest is the HTTP request during which an error happened.
type occurrenceRequest struct {
	Method *string `json:"method"`
	URL    *string `json:"url"`
	Status *int    `json:"status"`
	Query  *string `json:"query"`
	// Headers and Data are as the client sent them, except for scrubbed values.
	Headers map[string]string `json:"headers"`
	Data    sentData          `json:"data"`
}

// sentData is the body of a request as it was sent: any JSON, null if there was none.
type sentData json.RawMessage

// Schema describes the body.
func (sentData) Schema() route.Schema {
	return route.Schema{"anyOf": []route.Schema{{}, {"type": "null"}}, "description": "Any JSON; null if nothing was sent."}
}

// MarshalJSON writes the body as it was sent.
func (d sentData) MarshalJSON() ([]byte, error) { return json.RawMessage(d).MarshalJSON() }

func occurrenceOf(o *occurrence.Occurrence) occurrenceJSON {
	row := occurrenceJSON{
		occurrenceSummary: summaryOf(o), ReceivedAt: route.Time(o.ReceivedAt), Mechanism: api.OrNull(o.Mechanism), Stack: api.OrNull(o.Stack),
		Frames: append([]occurrence.Frame{}, o.Frames...), Breadcrumbs: append([]occurrence.Breadcrumb{}, o.Breadcrumbs...), Tags: orEmpty(o.Tags), Extra: o.Extra,
		Request: occurrenceRequest{Method: api.OrNull(o.Request.Method), URL: api.OrNull(o.Request.URL)},
		Path:    api.OrNull(o.Path), Referrer: api.OrNull(o.Referrer), AnonymousID: api.OrNull(o.AnonymousID), BrowserVersion: api.OrNull(o.BrowserVersion),
		Device: api.OrNull(o.Device), Region: api.OrNull(o.Region), City: api.OrNull(o.City), Locale: api.OrNull(o.Locale), AppVersion: api.OrNull(o.AppVersion),
		Environment: o.Environment, User: orEmpty(o.Details.User), ProcessingErrors: append([]occurrence.ProcessingError{}, o.Details.Problems...),
	}
	row.Request.Query, row.Request.Headers, row.Request.Data = api.OrNull(o.Details.Query), orEmpty(o.Details.Headers), sentData(o.Details.Data)
	if o.Request.Status != 0 {
		row.Request.Status = &o.Request.Status
	}
	if len(row.Extra) == 0 {
		row.Extra = json.RawMessage("{}")
	}
	return row
}

// orEmpty returns the pairs, an empty object if there are no pairs.
func orEmpty(pairs map[string]string) map[string]string {
	if pairs == nil {
		return map[string]string{}
	}
	return maps.Clone(pairs)
}

type listOccurrences struct {
	issuePath
	api.Paging
}

// occurrencePage is the answer of …/errors/{issueId}/events.
type occurrencePage struct {
	domain.Page[occurrenceSummary]
	Environment string `json:"environment"`
}

func (e tracking) events(ctx context.Context, call *route.Call, in listOccurrences) (occurrencePage, error) {
	env, found, err := e.find(ctx, call, in.issuePath)
	if err != nil {
		return occurrencePage{}, err
	}
	query := issue.OccurrenceQuery{Environment: env, Issue: found.Key.Number, Limit: int(in.Limit)}
	if query.Before, err = api.FeedKey(call, in.Cursor); err != nil {
		return occurrencePage{}, err
	}
	rows, more, err := e.occurrences.Occurrences(ctx, query)
	if err != nil {
		return occurrencePage{}, err
	}
	var last occurrence.Occurrence
	if len(rows) > 0 {
		last = rows[len(rows)-1]
	}
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	page := route.PageOf(call, api.Convert(rows, func(o *occurrence.Occurrence) occurrenceSummary {
		if !seesPersons {
			o.Mask()
		}
		return summaryOf(o)
	}), more, func(occurrenceSummary) []string {
		return api.FeedKeyset(last.Key())
	})
	return occurrencePage{Page: page, Environment: env.Slug}, nil
}

type getOccurrence struct {
	api.AppPath
	IssueID string  `path:"issueId" doc:"The issue's id."`
	EventID string  `path:"eventId" doc:"The occurrence's id."`
	Env     api.Env `query:"env" doc:"The environment's slug."`
}

// event returns one occurrence. An occurrence of another issue, application or environment is answered as not found.
func (e tracking) event(ctx context.Context, call *route.Call, in getOccurrence) (occurrenceJSON, error) {
	number, ok := occurrence.ParseIssueID(in.IssueID)
	if !ok {
		return occurrenceJSON{}, domain.NotFound("occurrence")
	}
	found, err := e.occurrences.Occurrence(ctx, in.Env.Environment, number, in.EventID)
	if err != nil {
		return occurrenceJSON{}, err
	}
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		found.Mask()
	}
	return occurrenceOf(&found), nil
}
