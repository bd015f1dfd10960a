package analytics

import (
	"context"
	"encoding/json"
	"strconv"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

// Events reads the event feed.
type Events interface {
	// List returns a page of the feed, newest first, and whether more follow.
	List(ctx context.Context, query svc.EventQuery) (page []svc.Event, more bool, err error)
	// Names returns a page of the catalogue of names, the most frequent first. An event that
	// matches a goal is a conversion.
	Names(ctx context.Context, query svc.EventNamesQuery, goals []svc.Matcher) (svc.EventNames, error)
	// Properties returns a page of the properties of events, the most frequent first.
	Properties(ctx context.Context, query svc.EventPropertiesQuery) (svc.EventProperties, error)
}

// events serves the routes of the event feed.
type events struct {
	events   Events
	segments Segments
}

func eventRoutes(ports Ports) []route.Route {
	events := events{events: ports.Events, segments: ports.Segments}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events", Operation: "events.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermEventsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Raw event feed, newest first", Handler: route.Typed(events.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events/names", Operation: "events.names", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermEventsRead, AppPart: svc.AppGoals, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Event names seen in a range, with counts", Handler: route.Typed(marked(ports.Sampling, events.names)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events/properties", Operation: "events.properties", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermEventsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Keys, types and frequent values of the properties of events", Handler: route.Typed(marked(ports.Sampling, events.properties)),
		},
	}
}

// event is one row of the feed (contract 41).
type event struct {
	ID             string          `json:"id"`
	Ts             route.Time      `json:"ts"`
	ReceivedAt     route.Time      `json:"receivedAt"`
	Name           string          `json:"name"`
	URL            *string         `json:"url"`
	Path           *string         `json:"path"`
	Title          *string         `json:"title"`
	Referrer       *string         `json:"referrer"`
	ReferrerDomain *string         `json:"referrerDomain"`
	DistinctID     *string         `json:"distinctId"`
	AnonymousID    *string         `json:"anonymousId"`
	PersonID       *string         `json:"personId"`
	SessionID      *string         `json:"sessionId"`
	Source         *string         `json:"source"`
	Medium         *string         `json:"medium"`
	UTMSource      *string         `json:"utmSource"`
	UTMMedium      *string         `json:"utmMedium"`
	UTMCampaign    *string         `json:"utmCampaign"`
	UTMTerm        *string         `json:"utmTerm"`
	UTMContent     *string         `json:"utmContent"`
	ClickIDs       svc.ClickIDs    `json:"clickIds"`
	Country        *string         `json:"country"`
	Region         *string         `json:"region"`
	City           *string         `json:"city"`
	Device         *string         `json:"device"`
	Browser        *string         `json:"browser"`
	BrowserVersion *string         `json:"browserVersion"`
	OS             *string         `json:"os"`
	OSVersion      *string         `json:"osVersion"`
	Screen         *string         `json:"screen"`
	Locale         *string         `json:"locale"`
	Value          *float64        `json:"value"`
	Currency       *string         `json:"currency"`
	Properties     json.RawMessage `json:"properties"`
	Release        *string         `json:"release"`
	Library        *string         `json:"library"`
	IsBot          bool            `json:"isBot"`
	Environment    string          `json:"environment"`

	key svc.EventKey
}

func eventOf(e *svc.Event) event {
	row := event{
		ID: e.ID, Ts: route.Time(e.Ts), ReceivedAt: route.Time(e.ReceivedAt), Name: e.Name, URL: api.OrNull(e.URL), Path: api.OrNull(e.Path),
		Title: api.OrNull(e.Title), Referrer: api.OrNull(e.Referrer), ReferrerDomain: api.OrNull(e.ReferrerDomain),
		DistinctID: api.OrNull(e.DistinctID), AnonymousID: api.OrNull(e.AnonymousID), PersonID: api.OrNull(e.PersonID), SessionID: api.OrNull(e.SessionID),
		Source: api.OrNull(e.Source), Medium: api.OrNull(e.Medium), UTMSource: api.OrNull(e.UTMSource), UTMMedium: api.OrNull(e.UTMMedium),
		UTMCampaign: api.OrNull(e.UTMCampaign), UTMTerm: api.OrNull(e.UTMTerm), UTMContent: api.OrNull(e.UTMContent), ClickIDs: e.ClickIDs,
		Country: api.OrNull(e.Country), Region: api.OrNull(e.Region), City: api.OrNull(e.City), Device: api.OrNull(e.Device),
		Browser: api.OrNull(e.Browser), BrowserVersion: api.OrNull(e.BrowserVersion), OS: api.OrNull(e.OS), OSVersion: api.OrNull(e.OSVersion),
		Screen: api.OrNull(e.Screen), Locale: api.OrNull(e.Locale), Value: e.Value, Currency: api.OrNull(e.Currency),
		Properties: e.Properties, Release: api.OrNull(e.Release), Library: api.OrNull(e.Library), IsBot: e.IsBot, Environment: e.Environment,
		key: e.Key(),
	}
	if row.Value != nil && *row.Value != finite(*row.Value) {
		row.Value = nil
	}
	if len(row.Properties) == 0 {
		row.Properties = json.RawMessage("{}")
	}
	return row
}

type listEvents struct {
	api.AppPath
	Env       api.Env   `query:"env" doc:"The environment's slug."`
	ID        string    `query:"id" doc:"A page of this one event, or of none."`
	Name      string    `query:"name" doc:""`
	PersonID  string    `query:"personId" doc:"Events of the person: any id that the person ever had."`
	SessionID string    `query:"sessionId" doc:""`
	Search    string    `query:"search" doc:"Matches name, path, url, distinct id and serialized properties."`
	Limit     feedLimit `query:"limit" doc:"Rows of a page; more than 500 means 500."`
	Cursor    string    `query:"cursor" doc:"The nextCursor of the page before."`
}

// eventPage is the answer of …/events.
type eventPage struct {
	svc.Page[event]
	Environment string `json:"environment"`
}

func (e events) list(ctx context.Context, call *route.Call, in listEvents) (eventPage, error) {
	seesPersons := call.Grant.May(svc.PermPeoplePIIRead)
	query := svc.EventQuery{
		Environment: in.Env.Environment, ID: in.ID, Name: in.Name, PersonID: in.PersonID, SessionID: in.SessionID,
		Search: in.Search, SearchMasked: !seesPersons, Fields: call.App.Personal(), Limit: int(in.Limit),
	}
	var err error
	if query.Before, err = api.FeedKey(call, in.Cursor); err != nil {
		return eventPage{}, err
	}
	rows, more, err := e.events.List(ctx, query)
	if err != nil {
		return eventPage{}, err
	}
	page := route.PageOf(call, api.Convert(rows, func(row *svc.Event) event {
		if !seesPersons {
			row.Mask()
		}
		return eventOf(row)
	}), more, func(last event) []string {
		return api.FeedKeyset(last.key)
	})
	return eventPage{Page: page, Environment: in.Env.Slug}, nil
}

type listNames struct {
	api.AppPath
	covered
	api.Paging
}

// eventName is one row of the catalogue.
type eventName struct {
	Name        string      `json:"name"`
	Count       uint64      `json:"count"`
	Users       uint64      `json:"users"`
	Conversions uint64      `json:"conversions"`
	LastSeenAt  *route.Time `json:"lastSeenAt"`
}

// namePage is the answer of …/events/names.
type namePage struct {
	svc.Page[eventName]
	Capped      bool   `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Environment string `json:"environment"`
	sampling
}

func (e events) names(ctx context.Context, call *route.Call, in listNames) (namePage, error) {
	scope, err := in.scope(ctx, call, e.segments)
	if err != nil {
		return namePage{}, err
	}
	query := svc.EventNamesQuery{AnalyticsScope: scope, Masked: !call.Grant.May(svc.PermPeoplePIIRead), Limit: int(in.Limit)}
	query.Filters = query.Filters.Without(svc.DimEvent)
	after, err := countedKey(call, in.Cursor)
	if err != nil {
		return namePage{}, err
	}
	if after != nil {
		query.After = &svc.EventNameKey{Count: after.count, Name: after.word}
	}
	names, err := e.events.Names(ctx, query, svc.Matchers(call.Parts.Goals))
	if err != nil {
		return namePage{}, err
	}
	rows := api.Convert(names.Rows, func(n *svc.EventName) eventName {
		return eventName{Name: n.Name, Count: n.Count, Users: n.Users, Conversions: n.Conversions, LastSeenAt: route.TimeOf(n.LastSeenAt)}
	})
	page := route.PageOf(call, rows, names.More, func(last eventName) []string {
		return []string{strconv.FormatUint(last.Count, 10), last.Name}
	})
	return namePage{Page: page, Capped: names.Capped, Environment: in.Env.Slug}, nil
}

// countedWord is a position in a list of words by their counts, the highest first.
type countedWord struct {
	count uint64
	word  string
}

// countedKey reads the position of a cursor; nil is the beginning.
func countedKey(call *route.Call, cursor string) (*countedWord, error) {
	keyset, err := call.Keyset(cursor, 2)
	if keyset == nil || err != nil {
		return nil, err
	}
	count, err := strconv.ParseUint(keyset[0], 10, 64)
	if err != nil {
		return nil, svc.Errorf(svc.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &countedWord{count: count, word: keyset[1]}, nil
}
