package analytics

import (
	"context"
	"encoding/json"
	"strconv"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Events reads the event feed.
type Events interface {
	// List returns a page of the feed, newest first, and whether more follow.
	List(ctx context.Context, query analytics.EventQuery) (page []event.Event, more bool, err error)
	// Names returns a page of the catalogue of names, the most frequent first. An event that
	// matches a goal is a conversion.
	Names(ctx context.Context, query analytics.EventNamesQuery, goals []goal.Matcher) (analytics.EventNames, error)
	// Properties returns a page of the properties of events, the most frequent first.
	Properties(ctx context.Context, query analytics.EventPropertiesQuery) (analytics.EventProperties, error)
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
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events", Operation: "events.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermEventsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Raw event feed, newest first", Handler: route.Typed(events.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events/names", Operation: "events.names", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermEventsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Event names seen in a range, with counts", Handler: route.Typed(marked(ports.Sampling, events.names)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events/properties", Operation: "events.properties", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermEventsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Keys, types and frequent values of the properties of events", Handler: route.Typed(marked(ports.Sampling, events.properties)),
		},
	}
}

// eventJSON is one row of the feed (contract 41).
type eventJSON struct {
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
	ClickIDs       event.ClickIDs  `json:"clickIds"`
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

	key event.Key
}

func eventOf(e *event.Event) eventJSON {
	row := eventJSON{
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
	domain.Page[eventJSON]
	Environment string `json:"environment"`
}

func (e events) list(ctx context.Context, call *route.Call, in listEvents) (eventPage, error) {
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	query := analytics.EventQuery{
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
	page := route.PageOf(call, api.Convert(rows, func(row *event.Event) eventJSON {
		if !seesPersons {
			row.Mask()
		}
		return eventOf(row)
	}), more, func(last eventJSON) []string {
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
	domain.Page[eventName]
	Capped      bool   `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Environment string `json:"environment"`
	sampling
}

func (e events) names(ctx context.Context, call *route.Call, in listNames) (namePage, error) {
	scope, err := in.scope(ctx, call, e.segments)
	if err != nil {
		return namePage{}, err
	}
	query := analytics.EventNamesQuery{Scope: scope, Masked: !call.Grant.May(domain.PermPeoplePIIRead), Limit: int(in.Limit)}
	query.Filters = query.Filters.Without(filter.DimEvent)
	after, err := countedKey(call, in.Cursor)
	if err != nil {
		return namePage{}, err
	}
	if after != nil {
		query.After = &analytics.EventNameKey{Count: after.count, Name: after.word}
	}
	names, err := e.events.Names(ctx, query, goal.Matchers(call.Parts.Goals))
	if err != nil {
		return namePage{}, err
	}
	rows := api.Convert(names.Rows, func(n *analytics.EventName) eventName {
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
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &countedWord{count: count, word: keyset[1]}, nil
}
