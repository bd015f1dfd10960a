package analytics

import (
	"context"
	"strconv"

	"svc/domain"
	"svc/domain/analytics"
	"svc/http/api"
	"svc/http/route"
)

type listProperties struct {
	api.AppPath
	covered
	Name   string `query:"name" doc:"Events of this name only."`
	Search string `query:"search" doc:"Keys that contain this text."`
	api.Paging
}

// eventProperty is one key of the properties of events.
type eventProperty struct {
	Key            string                   `json:"key"`
	Count          uint64                   `json:"count" doc:"Events that carry the key."`
	Types          []analytics.PropertyType `json:"types" doc:"The JSON types of its values."`
	DistinctValues uint64                   `json:"distinctValues" doc:"Within 1 % where there are many."`
	Values         []eventPropertyValue     `json:"values" doc:"The ten most frequent texts, numbers and booleans, as text of 200 characters at most."`
}

// eventPropertyValue is one value of a property.
type eventPropertyValue struct {
	Value string `json:"value"`
	Count uint64 `json:"count"`
}

// propertyPage is the answer of …/events/properties.
type propertyPage struct {
	domain.Page[eventProperty]
	Events      uint64 `json:"events" doc:"The number of events that were looked at."`
	Capped      bool   `json:"capped" doc:"The numbers describe the newest 200000 events of the last 90 days of the range."`
	Environment string `json:"environment"`
	sampling
}

func (e events) properties(ctx context.Context, call *route.Call, in listProperties) (propertyPage, error) {
	scope, err := in.scope(ctx, call, e.segments)
	if err != nil {
		return propertyPage{}, err
	}
	query := analytics.EventPropertiesQuery{
		Scope: scope, Name: in.Name, Search: in.Search, Masked: !call.Grant.May(domain.PermPeoplePIIRead), Fields: call.App.Personal(), Limit: int(in.Limit),
	}
	after, err := countedKey(call, in.Cursor)
	if err != nil {
		return propertyPage{}, err
	}
	if after != nil {
		query.After = &analytics.EventPropertyKey{Count: after.count, Key: after.word}
	}
	found, err := e.events.Properties(ctx, query)
	if err != nil {
		return propertyPage{}, err
	}
	rows := api.Convert(found.Rows, func(p *analytics.EventProperty) eventProperty {
		return eventProperty{
			Key: p.Key, Count: p.Count, Types: p.Types, DistinctValues: p.DistinctValues,
			Values: api.Convert(p.Values, func(v *analytics.EventPropertyValue) eventPropertyValue { return eventPropertyValue(*v) }),
		}
	})
	page := route.PageOf(call, rows, found.More, func(last eventProperty) []string {
		return []string{strconv.FormatUint(last.Count, 10), last.Key}
	})
	return propertyPage{Page: page, Events: found.Events, Capped: found.Capped, Environment: in.Env.Slug}, nil
}
